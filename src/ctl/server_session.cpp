#include "server_session.h"

namespace petstore::ctl {

const redis::Reply& ServerSession::receive_any()
{
    try {
        return connection_.get();
    } catch (const redis::NotSent& error) {
        throw LostConnection(where_ + ": " + error.what(), false);
    } catch (const redis::ConnectionError& error) {
        throw LostConnection(where_ + ": " + error.what(), true);
    }
}

}  // namespace petstore::ctl
