#include "pipeline.h"

#include <algorithm>

namespace petstore::redis {

bool Pipeline::add(const Command& command, ReplyHandler* handler,
                   std::uint64_t deadline, std::uint64_t now) noexcept
{
    const std::size_t before = bytes_.size();
    SentText* text = nullptr;
    try {
        if (const Script* const script = command.carried_script()) {
            text = &sent_text(*script);
        }
        if (text != nullptr && command.may_follow_text() && is_pending(*text)) {
            text = nullptr;
            command.append_digest_to(bytes_);
        } else {
            command.append_to(bytes_);
        }
        pending_.push_back(
            {handler, deadline, end_, now, command.has_replication_id()});
    } catch (...) {
        bytes_.resize(before);
        return false;
    }
    const std::size_t size = bytes_.size() - before;
    end_ += size;
    held_ += holds_ ? size : 0;
    if (text != nullptr) {
        text->end = end_;
    }
    if (command.has_replication_id()) {
        write_replication_id(end_);
    }
    return true;
}

Pipeline::SentText& Pipeline::sent_text(const Script& script)
{
    const auto known =
        std::find_if(texts_.begin(), texts_.end(), [&](const SentText& text) {
            return text.script == &script;
        });
    return known != texts_.end() ? *known
                                 : texts_.emplace_back(SentText{&script, 0});
}

void Pipeline::set_replication_id(std::string_view id) noexcept
{
    if (id
        == std::string_view(replication_id_.data(), replication_id_.size())) {
        return;
    }
    std::copy_n(id.data(), replication_id_.size(), replication_id_.data());
    std::size_t end = end_;
    for (std::size_t i = pending_.size();
         i > failing_ && pending_[i - 1].start >= written_; --i) {
        if (pending_[i - 1].has_replication_id) {
            write_replication_id(end);
        }
        end = pending_[i - 1].start;
    }
}

void Pipeline::write_replication_id(std::size_t end) noexcept
{
    constexpr std::size_t kLineEnd = 2;
    const std::size_t after = end_ - end + kLineEnd + replication_id_.size();
    std::copy(replication_id_.begin(), replication_id_.end(),
              bytes_.end() - static_cast<std::ptrdiff_t>(after));
}

void Pipeline::sent(std::size_t bytes) noexcept
{
    sent_ += bytes;
    written_ += bytes;
    if (sent_ == bytes_.size()) {
        bytes_.clear();
        sent_ = 0;
    } else if (sent_ > bytes_.size() / 2) {
        // Otherwise a server that reads but never catches up would make this
        // grow.
        bytes_.erase(0, sent_);
        sent_ = 0;
    }
}

bool Pipeline::in_doubt() const noexcept
{
    for (std::size_t i = failing_;
         i < pending_.size() && pending_[i].start < written_; ++i) {
        if (pending_[i].handler != nullptr) {
            return true;
        }
    }
    return false;
}

ReplyHandler* Pipeline::pop() noexcept
{
    ReplyHandler* const handler = pending_.front().handler;
    pending_.pop_front();
    return handler;
}

void Pipeline::fail() noexcept
{
    release();
    bytes_.clear();
    sent_ = 0;
    fail_first(pending_.size());
}

void Pipeline::fail_written() noexcept
{
    release();
    std::size_t written = 0;
    while (written < pending_.size()
           && (pending_[written].start < written_
               || pending_[written].handler == nullptr)) {
        ++written;
    }
    // The rest of a command that was written in part is dropped.
    const std::size_t kept =
        written < pending_.size() ? end_ - pending_[written].start : 0;
    sent_ = bytes_.size() - kept;
    fail_first(written);
}

// Works in place, because a second deque would need memory. If a handler makes
// the next connection fail, the inner call removes the rest.
void Pipeline::fail_first(std::size_t count) noexcept
{
    failing_ = count;
    while (failing_ > 0) {
        const Pending lost = pending_.front();
        pending_.pop_front();
        --failing_;
        if (lost.handler != nullptr) {
            lost.handler->on_no_reply(
                lost.start < written_ ? NoReply::in_doubt : NoReply::not_sent);
        }
    }
    // Bytes that were never written leave no gap in the stream.
    written_ = end_ - left();
}

}  // namespace petstore::redis
