#pragma once

#include <vector>

#include "reader.h"

namespace petstore::store {

// A whole bucket on its way into memory. Lives until its reply came, then tells
// its waiters. Its version is the newest one that was told before it was sent:
// what Redis answers is at least as new.
class Reader::BucketLoad final : public ReplyHandler {
public:
    BucketLoad(Reader& owner, std::int64_t number, const Version& version);

    // Sends the command; false if the load failed and is gone.
    bool begin() noexcept;

    // Whether what it brings will do at `now`. Short of the newest pets it may
    // be still.
    bool serves(const Version& now) const noexcept;

    // Later ones come later.
    std::uint64_t serial() const noexcept { return serial_; }

    // All else that `key` takes is in memory or comes before this load.
    void add(const ReadKey& key, const Version& now, ReadWaiter& waiter);

    void on_reply(const resp::Reply& reply) noexcept override;
    void on_loss(Loss loss) noexcept override;

private:
    struct Waiting {
        ReadKey key;
        Version now;
        ReadWaiter* waiter;
    };

    void keep(const resp::Reply& reply) noexcept;
    void end() noexcept;
    void answer(const Waiting& waiting) noexcept;

    Reader& owner_;
    const std::int64_t number_;
    const Version version_;
    const std::uint64_t serial_;
    const std::uint64_t memory_;
    std::vector<Waiting> waiters_;
    std::optional<api::Error> error_;
    bool ended_ = false;
    // The command can be lost before send() returns: not the time to go.
    bool sending_ = false;
};

}  // namespace petstore::store
