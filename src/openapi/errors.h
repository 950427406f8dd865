#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "../api/router.h"

namespace petstore::openapi {

// One code that an operation may answer with.
struct ErrorCase {
    int status;
    std::string_view code;
    std::string body;  // an example
};

// What `operation` may answer with, by ascending status. Throws std::bad_alloc.
std::vector<ErrorCase> errors_of(api::Operation operation);

// What a status means here; never empty for a status of errors_of().
std::string_view description_of(int status) noexcept;

}  // namespace petstore::openapi
