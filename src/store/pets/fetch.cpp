#include "fetch.h"

#include <utility>

#include "../failure.h"

namespace petstore::store {

void Fetch::begin() noexcept
{
    sending_ = true;
    try {
        send_commands();
    } catch (...) {
        fail(read_not_sent());
    }
    sending_ = false;
    end_if_complete();
}

void Fetch::send(const redis::Command& command) noexcept
{
    ++sent_;
    link_.send(command, *this);
}

void Fetch::call(redis::Command script) noexcept
{
    ++sent_;
    script_.start(link_, std::move(script));
}

void Fetch::fail(api::Error error) noexcept
{
    if (!error_) {
        error_ = std::move(error);
    }
}

void Fetch::on_reply(const redis::Reply& reply) noexcept
{
    const std::size_t index = done_++;
    try {
        if (!error_) {
            take(index, reply);
        }
    } catch (...) {
        fail(read_not_sent());
    }
    end_if_complete();
}

void Fetch::on_no_reply(redis::NoReply cause) noexcept
{
    ++done_;
    fail(failure_of(cause, false));
    end_if_complete();
}

void Fetch::end_if_complete() noexcept
{
    if (!sending_ && done_ == sent_) {
        end();
    }
}

}  // namespace petstore::store
