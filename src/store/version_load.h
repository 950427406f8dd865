#pragma once

#include "reader.h"

namespace petstore::store {

// Asks for the catalogue's version, for a request that the limiter's reply has
// told none. Deletes itself once it was answered.
class Reader::VersionLoad final : public ReplyHandler {
public:
    VersionLoad(Reader& owner, const ReadKey& key, ReadWaiter& waiter) noexcept
        : owner_(owner), key_(key), waiter_(waiter)
    {}

    void on_reply(const resp::Reply& reply) noexcept override;
    void on_loss(Loss loss) noexcept override;

private:
    Reader& owner_;
    const ReadKey key_;
    ReadWaiter& waiter_;
};

}  // namespace petstore::store
