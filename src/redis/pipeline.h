#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "link.h"
#include "replication.h"

namespace petstore::redis {

// The commands of one connection that have no reply yet, oldest first: their
// unsent bytes, deadlines and handlers. Independent of sockets and clocks.
class Pipeline {
public:
    // Callers must not add commands beyond either limit.
    static constexpr std::size_t kMaxPending = 4096;
    static constexpr std::size_t kMaxUnsentBytes = 1024 * 1024;

    Pipeline() noexcept { replication_id_.fill('?'); }
    Pipeline(const Pipeline&) = delete;
    Pipeline& operator=(const Pipeline&) = delete;

    bool empty() const noexcept { return size() == 0; }
    bool full() const noexcept
    {
        return size() >= kMaxPending || left() >= kMaxUnsentBytes;
    }

    // False if out of memory; nothing was added then. `handler` is borrowed
    // until pop() or fail(), and may be nullptr. `now` is for added(). Of many
    // commands that the server answers with NOSCRIPT, one carries the text when
    // they are sent again.
    bool add(const Command& command, ReplyHandler* handler,
             std::uint64_t deadline, std::uint64_t now = 0) noexcept;

    // What Command::replication_id() stands for, in the commands that are not
    // written yet and in later ones.
    void set_replication_id(std::string_view id) noexcept;

    // Without the bytes that are held back.
    std::string_view unsent() const noexcept
    {
        return {bytes_.data() + sent_, left() - held_};
    }

    // Holds back the commands added from now on, until release() or the end of
    // the connection.
    void hold() noexcept { holds_ = true; }
    void release() noexcept
    {
        holds_ = false;
        held_ = 0;
    }

    // The first `bytes` bytes of unsent() were written.
    void sent(std::size_t bytes) noexcept;

    // The deadline of the oldest command. The pipeline must not be empty.
    std::uint64_t deadline() const noexcept
    {
        return pending_[failing_].deadline;
    }

    // When the oldest command was added. The pipeline must not be empty.
    std::uint64_t added() const noexcept { return pending_[failing_].added; }

    // Whether the oldest command was written, at least in part. If not, no
    // reply can be due.
    bool expects_reply() const noexcept
    {
        return !empty() && pending_[failing_].start < written_;
    }

    // Whether Redis may execute a command that has a handler.
    bool in_doubt() const noexcept;

    // Removes the oldest command, which has its reply, and returns its handler.
    // Must not be called while commands fail.
    ReplyHandler* pop() noexcept;

    // After the connection was lost, removes all commands and calls
    // on_no_reply() of their handlers. These may add commands for the next
    // connection, and may even make that fail too. Nothing may be written until
    // this returns.
    void fail() noexcept;

    // The same for the commands that were written, at least in part, and for
    // those without a handler ahead of the others, which concern the connection
    // only. The others wait for the next connection.
    void fail_written() noexcept;

private:
    struct Pending {
        ReplyHandler* handler;
        std::uint64_t deadline;
        std::size_t start;  // offset of its first byte in the stream
        std::uint64_t added;
        bool has_replication_id;
    };

    // The latest command with a script's text.
    struct SentText {
        const Script* script;
        std::size_t end;  // offset of its end in the stream
    };

    // Throws std::bad_alloc.
    SentText& sent_text(const Script& script);
    bool is_pending(const SentText& text) const noexcept
    {
        return !empty() && text.end > pending_[failing_].start;
    }

    std::size_t size() const noexcept { return pending_.size() - failing_; }
    std::size_t left() const noexcept { return bytes_.size() - sent_; }

    // Of the command that ends at this offset in the stream.
    void write_replication_id(std::size_t end) noexcept;

    // Requires that bytes_ contains only the other commands.
    void fail_first(std::size_t count) noexcept;

    std::string bytes_;  // written up to sent_
    std::size_t sent_ = 0;
    bool holds_ = false;
    std::size_t held_ = 0;  // bytes at the end of bytes_

    // Offsets in the stream of all bytes ever added.
    std::size_t written_ = 0;  // of bytes_[sent_]
    std::size_t end_ = 0;      // of the end of bytes_

    std::array<char, Replication::kIdSize> replication_id_;

    std::vector<SentText> texts_;  // one for each script

    std::deque<Pending> pending_;
    std::size_t failing_ = 0;  // left for fail_first() to remove
};

}  // namespace petstore::redis
