#pragma once

#include <string>
#include <vector>

#include "reader.h"

namespace petstore::store {

// One read on its way, of nothing but what the answer takes. Lives until its
// last reply came, then tells its waiters.
class Reader::Load final : public ReplyHandler {
public:
    Load(Reader& owner, const ReadKey& key);

    // Sends the commands; false if the load failed and is gone.
    bool begin() noexcept;

    void confirm(const Version& version) { version_ = version; }
    const std::optional<Version>& version() const noexcept { return version_; }
    // Called once the load has ended.
    void add(ReadWaiter& waiter) { waiters_.push_back(&waiter); }

    void on_reply(const resp::Reply& reply) noexcept override;
    void on_loss(Loss loss) noexcept override;

private:
    void send_commands();
    void send(const resp::Command& command);
    void take(std::size_t index, const resp::Reply& reply);
    void take_error(std::size_t index, const resp::Reply& error);
    api::Error damaged(std::int64_t bucket);
    api::PetId missing() const noexcept;
    bool end_if_complete() noexcept;
    void end() noexcept;
    ReadResult finish();

    Reader& owner_;
    const ReadKey key_;
    const std::uint64_t memory_;
    std::optional<Version> version_;
    std::vector<ReadWaiter*> waiters_;
    std::optional<api::Error> error_;
    std::string record_;
    bool absent_ = false;  // there is no such record
    std::optional<PageReader> page_;
    std::size_t sent_ = 0;
    std::size_t seen_ = 0;
    bool eval_ = false;
    // A command can be lost before send() returns: not the time to go.
    bool sending_ = false;
};

}  // namespace petstore::store
