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
        fail(unavailable());
    }
    sending_ = false;
    end_if_complete();
}

void Fetch::send(const redis::Command& command) noexcept
{
    link_.send(command, parts_[sent_++]);
}

void Fetch::call(redis::Command script) noexcept
{
    ++sent_;
    script_.start(link_, std::move(script));
}

void Fetch::fail(Failure failure) noexcept
{
    if (!failure_) {
        failure_ = std::move(failure);
    }
}

void Fetch::on_reply(std::size_t index, const redis::Reply& reply) noexcept
{
    ++done_;
    const bool sending = std::exchange(sending_, true);
    try {
        if (index == taken_) {
            take_next(reply);
        } else if (!failure_) {
            parts_[index].early.emplace(reply);
        }
    } catch (...) {
        fail(unavailable());
    }
    sending_ = sending;
    end_if_complete();
}

// Takes the reply, then those that arrived early and are next.
void Fetch::take_next(const redis::Reply& reply)
{
    const redis::Reply* next = &reply;
    while (next != nullptr && !failure_) {
        take(taken_++, *next);
        next = taken_ < parts_.size() && parts_[taken_].early
                   ? &parts_[taken_].early->get()
                   : nullptr;
    }
}

void Fetch::on_no_reply(redis::NoReply cause) noexcept
{
    ++done_;
    fail(failure_of(cause, Purpose::read));
    end_if_complete();
}

void Fetch::end_if_complete() noexcept
{
    if (!sending_ && done_ == sent_) {
        on_done();
    }
}

}  // namespace petstore::store
