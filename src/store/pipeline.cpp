#include "pipeline.h"

#include <algorithm>
#include <utility>

namespace petstore::store {

bool Pipeline::add(const resp::Command& command, ReplyHandler* handler,
                   std::uint64_t deadline) noexcept
{
    const std::size_t before = bytes_.size();
    try {
        command.append_to(bytes_);
        push({handler, deadline, end_});
    } catch (...) {
        bytes_.resize(before);
        return false;
    }
    end_ += bytes_.size() - before;
    return true;
}

void Pipeline::push(const Pending& pending)
{
    if (size_ == slots_.size()) {
        std::vector<Pending> larger(std::max<std::size_t>(64, size_ * 2));
        for (std::size_t i = 0; i < size_; ++i) {
            larger[i] = slots_[(head_ + i) % slots_.size()];
        }
        slots_.swap(larger);
        head_ = 0;
    }
    slots_[(head_ + size_) % slots_.size()] = pending;
    ++size_;
}

void Pipeline::sent(std::size_t bytes) noexcept
{
    sent_ += bytes;
    written_ += bytes;
    if (sent_ == bytes_.size()) {
        bytes_.clear();
        sent_ = 0;
    } else if (sent_ > bytes_.size() / 2) {
        // A server that reads, but never catches up, must not make this grow.
        bytes_.erase(0, sent_);
        sent_ = 0;
    }
}

ReplyHandler* Pipeline::pop() noexcept
{
    ReplyHandler* const handler = slots_[head_].handler;
    head_ = (head_ + 1) % slots_.size();
    --size_;
    return handler;
}

void Pipeline::fail() noexcept
{
    Pipeline lost = std::exchange(*this, Pipeline{});
    while (!lost.empty()) {
        const bool written = lost.expects_reply();
        ReplyHandler* const handler = lost.pop();
        if (handler != nullptr) {
            handler->on_loss(written ? Loss::unknown : Loss::not_sent);
        }
    }
}

}  // namespace petstore::store
