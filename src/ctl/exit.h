#pragma once

#include <stdexcept>

namespace petstore::ctl {

// What the program's exit status says.
enum ExitCode { kExitOk = 0, kExitFailure = 1, kExitUsage = 2 };

// The command was understood and did not succeed.
class Failure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// The command line makes no sense.
class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

}  // namespace petstore::ctl
