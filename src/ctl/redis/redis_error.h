#pragma once

#include <string>
#include <string_view>

#include "../exit.h"

namespace petstore::ctl {

// Redis refused a command.
class RedisError : public Failure {
public:
    // `context`: what the message starts with, the server for example.
    RedisError(const std::string& context, std::string_view error);

    // The reply's text, or the beginning of a long one.
    const std::string& error() const noexcept { return error_; }

private:
    std::string error_;
};

}  // namespace petstore::ctl
