#include "version_load.h"

#include "failure.h"

namespace petstore::store {

void Reader::VersionLoad::on_reply(const resp::Reply& reply) noexcept
{
    const std::unique_ptr<VersionLoad> self(this);
    if (reply.is_error()) {
        return waiter_.on_read(failure_of(reply, false));
    }
    if (reply.size() != 2) {
        return waiter_.on_read(failure_of(Loss::unknown, false));
    }
    owner_.serve(key_, Version::parse(reply[0], reply[1]), waiter_);
}

void Reader::VersionLoad::on_loss(Loss loss) noexcept
{
    const std::unique_ptr<VersionLoad> self(this);
    waiter_.on_read(failure_of(loss, false));
}

}  // namespace petstore::store
