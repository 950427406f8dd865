#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "link.h"

namespace petstore::store {

// The commands of one connection that have no reply yet, first in, first out:
// their bytes until they are written, and who waits for the replies. Knows
// nothing of sockets and clocks; its memory is used again.
class Pipeline {
public:
    // Over either bound nothing should be added.
    static constexpr std::size_t kMaxPending = 4096;
    static constexpr std::size_t kMaxUnsentBytes = 1024 * 1024;

    Pipeline() = default;
    Pipeline(Pipeline&&) noexcept = default;
    Pipeline& operator=(Pipeline&&) noexcept = default;

    bool empty() const noexcept { return size_ == 0; }
    bool full() const noexcept
    {
        return size_ >= kMaxPending || unsent().size() >= kMaxUnsentBytes;
    }

    // False for want of memory; nothing was added then. `handler` is borrowed
    // until pop() or fail(), and may be nullptr.
    bool add(const resp::Command& command, ReplyHandler* handler,
             std::uint64_t deadline) noexcept;

    std::string_view unsent() const noexcept
    {
        return std::string_view(bytes_).substr(sent_);
    }
    // That many bytes of unsent() were written.
    void sent(std::size_t bytes) noexcept;

    // Of the oldest command. Not for an empty pipeline.
    std::uint64_t deadline() const noexcept { return slots_[head_].deadline; }

    // Whether the oldest command was written, at least in part: nothing else
    // can be answered.
    bool expects_reply() const noexcept
    {
        return !empty() && slots_[head_].start < written_;
    }
    // The oldest command has its reply. Who waits for that.
    ReplyHandler* pop() noexcept;

    // The connection is gone: empties the pipeline, then calls on_loss() of
    // all handlers, which may add commands for the next connection.
    void fail() noexcept;

private:
    struct Pending {
        ReplyHandler* handler;
        std::uint64_t deadline;
        std::size_t start;  // offset of its first byte in the stream
    };

    void push(const Pending& pending);

    std::string bytes_;  // those before sent_ were written
    std::size_t sent_ = 0;
    std::size_t written_ = 0;  // offset in the stream of bytes_[sent_]
    std::size_t end_ = 0;      // offset in the stream of the end of bytes_

    std::vector<Pending> slots_;  // a ring
    std::size_t head_ = 0;
    std::size_t size_ = 0;
};

}  // namespace petstore::store
