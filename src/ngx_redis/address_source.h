#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../ngx_base/ngx.h"
#include "../redis/server_id.h"

namespace petstore::ngx_redis {

// A server's address, in the forms that sockets and the log need.
struct PeerAddress {
    std::vector<u_char> sockaddr;
    std::string text;
    std::string host;  // as configured or as named by a Sentinel; for TLS
};

// At least one, tried in turn. Shared, so that a list in use stays valid after
// a newer one has replaced it.
using Addresses = std::shared_ptr<const std::vector<PeerAddress>>;

// Provides the addresses of a node's server. Has one user.
class AddressSource {
public:
    class User {
    public:
        virtual void on_addresses(const Addresses& addresses) noexcept = 0;

        // `reason` is valid during the call; nullptr if the source has logged
        // the failure.
        virtual void on_no_address(const char* reason) noexcept = 0;

        // Another server has replaced this one; the next find() returns its
        // address. Not called while find() is pending, nor from a function of
        // the source.
        virtual void on_moved() noexcept = 0;

    protected:
        ~User() = default;
    };

    AddressSource() = default;
    AddressSource(const AddressSource&) = delete;
    AddressSource& operator=(const AddressSource&) = delete;
    virtual ~AddressSource() = default;

    // Calls on_addresses() or on_no_address() of `user` within `timeout`
    // milliseconds, possibly before it returns. Must not be pending already.
    virtual void find(User& user, ngx_msec_t timeout) noexcept = 0;

    // Cancels a pending find().
    virtual void cancel() noexcept = 0;

    // Which server is meant to be at the addresses that find() returned last;
    // empty if unknown.
    virtual redis::ServerId meant() const noexcept { return {}; }
};

// Addresses that do not change.
class FixedAddresses final : public AddressSource {
public:
    explicit FixedAddresses(Addresses addresses) noexcept
        : addresses_(std::move(addresses))
    {}

    void find(User& user, ngx_msec_t) noexcept override
    {
        user.on_addresses(addresses_);
    }
    void cancel() noexcept override {}

private:
    const Addresses addresses_;
};

}  // namespace petstore::ngx_redis
