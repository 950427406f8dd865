#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "../ngx_base/ngx.h"
#include "../redis/endpoint.h"
#include "../redis/handshake.h"
#include "../redis/rotation.h"
#include "address_source.h"
#include "connection.h"

namespace petstore::ngx_redis {

// Connects to the first server that answers: looks up the addresses of one
// after the other, and tries each. After a failure, the user logs it and calls
// next(). Every lookup of a server starts with another of its addresses; see
// prefer_current_address().
class Dialer final : private AddressSource::User {
public:
    class User {
    public:
        // An address is being tried: the connection is open.
        virtual void on_trying() noexcept = 0;

        // The server has no address. `reason` is as of AddressSource.
        virtual void on_no_address(const char* reason) noexcept = 0;

        // No server is left: next() was called without has_next().
        virtual void on_none_left() noexcept {}

        // Another server has replaced the one that was found.
        virtual void on_moved() noexcept {}

    protected:
        ~User() = default;
    };

    struct Server {
        std::unique_ptr<AddressSource> source;
        const redis::Endpoint* login;  // borrowed
        std::string name;              // for the log, while it has no address
        std::size_t next_address = 0;  // index
    };

    // What may take as long as the timeout.
    enum class TimeoutFor {
        server,   // the lookup of its addresses and all of these together
        address,  // the lookup, and then each address
    };

    // Borrows `connection`, whose failures the user must handle.
    Dialer(Connection& connection, User& user, ngx_msec_t timeout,
           TimeoutFor timeout_for) noexcept
        : connection_(connection), user_(user), timeout_(timeout),
          timeout_for_(timeout_for)
    {}
    Dialer(const Dialer&) = delete;

    // Call before the first start(). Throws std::bad_alloc.
    void add(Server server);

    // Keeps the first `count` servers. Call only while closed.
    void remove_servers_after(std::size_t count) noexcept;
    const std::vector<Server>& servers() const noexcept { return servers_; }

    // Call only while closed. Begins a round with the server after the last
    // one, or with that at this index.
    void start(const redis::HandshakeCommands& commands) noexcept;
    void start(const redis::HandshakeCommands& commands,
               std::size_t first) noexcept;

    // Whether this round has another address or server to try.
    bool has_next() const noexcept;

    // Tries it. The connection must be closed.
    void next() noexcept;

    // Cancels the lookup and closes the connection.
    void close() noexcept;

    // The next time this server is tried, the address of the open connection is
    // the first again.
    void prefer_current_address() noexcept;

    // Likewise, and the next start() begins with this server.
    void prefer_current_server() noexcept;

    bool is_finding() const noexcept { return finding_; }
    bool is_busy() const noexcept { return finding_ || connection_.is_open(); }

    // The address that was tried last; nullptr if there was none.
    const PeerAddress* address() const noexcept
    {
        return addresses_ != nullptr ? &(*addresses_)[address_] : nullptr;
    }

    // For the log: that, or the name of its server; nullptr if it has none.
    const char* address_text() const noexcept;

    bool has_several_addresses() const noexcept
    {
        return addresses_ != nullptr && addresses_->size() > 1;
    }

private:
    Server& server() noexcept { return servers_[rotation_.current()]; }
    void next_server() noexcept;
    void next_address() noexcept;

    void on_addresses(const Addresses& addresses) noexcept override;
    void on_no_address(const char* reason) noexcept override;
    void on_moved() noexcept override { user_.on_moved(); }

    Connection& connection_;
    User& user_;
    const ngx_msec_t timeout_;
    const TimeoutFor timeout_for_;
    redis::HandshakeCommands commands_;
    std::vector<Server> servers_;
    redis::Rotation rotation_{1};

    bool finding_ = false;     // the source has not answered yet
    ngx_msec_t end_ = 0;       // of the time for all addresses of the server
    Addresses addresses_;      // of the server; before the answer, of the last
    std::size_t address_ = 0;  // index of the current one
    std::size_t untried_ = 0;
};

}  // namespace petstore::ngx_redis
