#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "../api/router.h"

namespace petstore::openapi {

// An error code that an operation may return.
struct ErrorCase {
    int status;
    std::string_view code;
    std::string body;  // an example
};

// The errors that `operation` may return, by ascending status. `key_header` may
// have the API key; empty for none. Throws std::bad_alloc.
std::vector<ErrorCase> errors_of(api::Operation operation,
                                 std::string_view key_header);

// The meaning of a status; never empty for 304 and a status of errors_of().
std::string_view description_of(int status, api::Operation operation) noexcept;

}  // namespace petstore::openapi
