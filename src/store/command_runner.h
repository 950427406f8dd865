#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "../redis/command.h"
#include "../redis/reply.h"

namespace petstore::store {

// Administration failed. what() is for the operator.
class AdministrationError : public std::runtime_error {
public:
    enum class Kind {
        failed,
        not_found,          // no such key or pet
        redis_unavailable,  // Redis is away, or refuses commands
        not_in_effect,      // see NotInEffect
    };

    explicit AdministrationError(const std::string& what,
                                 Kind kind = Kind::failed)
        : std::runtime_error(what), kind_(kind)
    {}

    Kind kind() const noexcept { return kind_; }

private:
    Kind kind_;
};

// The connection to Redis broke or timed out.
class LostConnection : public AdministrationError {
public:
    LostConnection(const std::string& what, bool sent)
        : AdministrationError(what, Kind::redis_unavailable), sent_(sent)
    {}

    // Whether Redis may have received and executed a command that it has not
    // replied to.
    bool sent() const noexcept { return sent_; }

private:
    bool sent_;
};

// A change may be stored, but workers may not know of it yet. Repeating the
// operation is safe and completes the change.
class NotInEffect : public AdministrationError {
public:
    explicit NotInEffect(const std::string& what)
        : AdministrationError(what, Kind::not_in_effect)
    {}
};

// Runs commands for administration and waits for their replies. A reply is
// valid until the next call. Error replies are thrown as AdministrationError, a
// broken connection as LostConnection.
class CommandRunner {
public:
    // Pipelining: any number of send(), then as many receive().
    virtual void send(const redis::Command& command) = 0;
    virtual const redis::Reply& receive() = 0;

    const redis::Reply& call(const redis::Command& command)
    {
        send(command);
        return receive();
    }

    // Like call(), but sends a script's text if Redis does not know its digest,
    // and the error for a key of another type names the key.
    virtual const redis::Reply& run(redis::Command command) = 0;

    // Calls `visit` once for each server that has a part of the data, for
    // commands that name no key: all primaries of a Cluster, else the server.
    // No other reply may be due.
    using Visit = std::function<void(CommandRunner&)>;
    virtual void each_server(const Visit& visit) = 0;
    virtual bool is_cluster() const = 0;

    // Whether commands with this key can be sent now: false if the server that
    // should have the key is away. Waits for it a while.
    virtual bool serves(std::string_view /*key*/) { return true; }

protected:
    ~CommandRunner() = default;
};

}  // namespace petstore::store
