#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "../redis/command.h"
#include "../redis/reply.h"

namespace petstore::store {

// Administration failed. what() is for the operator.
class AdministrationError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// The connection to Redis broke or timed out.
class LostConnection : public AdministrationError {
public:
    LostConnection(const std::string& what, bool sent)
        : AdministrationError(what), sent_(sent)
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
    using AdministrationError::AdministrationError;
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

    // Calls a script by its digest, and by its text if Redis does not know it.
    virtual const redis::Reply& run_script(redis::Command command) = 0;

    // MULTI, the commands, EXEC. Returns the array of their replies.
    virtual const redis::Reply&
    transaction(const std::vector<redis::Command>& commands) = 0;

protected:
    ~CommandRunner() = default;
};

}  // namespace petstore::store
