#pragma once

#include <stdexcept>

#include "../store/command_runner.h"

namespace petstore::ctl {

enum ExitCode { kExitOk = 0, kExitFailure = 1, kExitUsage = 2 };

// The command was understood but failed. The store throws the same type.
using Failure = store::AdministrationError;
using store::LostConnection;
using store::NotInEffect;

class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

}  // namespace petstore::ctl
