#include "server_session.h"

namespace petstore::ctl {

// Runs `use` and rethrows connection errors as LostConnection.
template <typename Use>
decltype(auto) ServerSession::use(Use&& use)
{
    try {
        return use();
    } catch (const redis::NotSent& error) {
        throw LostConnection(where_ + ": " + error.what(), false);
    } catch (const redis::ConnectionError& error) {
        throw LostConnection(where_ + ": " + error.what(), true);
    }
}

void ServerSession::flush()
{
    use([this] { connection_.flush(); });
}

const redis::Reply& ServerSession::receive_any()
{
    return use([this]() -> const redis::Reply& { return connection_.get(); });
}

}  // namespace petstore::ctl
