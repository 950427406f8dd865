#pragma once

#include <stdexcept>
#include <string>

#include "../store/command_runner.h"

namespace petstore::ctl {

enum ExitCode {
    kExitOk = 0,
    kExitFailure = 1,
    kExitUsage = 2,
    kExitNotFound = 3,
    kExitRedis = 4,  // away, or refusing
};

// The command was understood but failed. The store throws the same type.
using Failure = store::AdministrationError;
using store::LostConnection;
using store::NotInEffect;

// There is no connection to Redis.
class Unreachable : public Failure {
public:
    explicit Unreachable(const std::string& what)
        : Failure(what, Kind::redis_unavailable)
    {}
};

class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

}  // namespace petstore::ctl
