#pragma once

#include <stdexcept>
#include <string>

namespace petstore::ctl {

// What the program's exit status says.
enum ExitCode { kExitOk = 0, kExitFailure = 1, kExitUsage = 2 };

// The command was understood and did not succeed.
class Failure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// The connection to Redis broke or fell silent.
class LostConnection : public Failure {
public:
    LostConnection(const std::string& what, bool sent)
        : Failure(what), sent_(sent)
    {}

    // Whether Redis may have got, and executed, a command that it has not
    // replied to.
    bool sent() const noexcept { return sent_; }

private:
    bool sent_;
};

// A change may be stored, but no worker need know of it. Running the command
// again is safe, and completes the change.
class NotInEffect : public Failure {
public:
    using Failure::Failure;
};

// The command line makes no sense.
class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

}  // namespace petstore::ctl
