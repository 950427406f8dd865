#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "error.h"

namespace petstore::api {

// A parameter of a query that an operation knows.
struct QueryParameter {
    std::string_view name;
    std::optional<std::string> value{};
};

// invalid_parameter: "<name> <problem>."
Error invalid_parameter(std::string_view name, std::string_view problem);

// Takes the values of the parameters from a raw query (still percent-encoded,
// without the "?"). Ignores others. Refuses one that is repeated or badly
// encoded. Throws std::bad_alloc.
std::optional<Error>
read_query(std::string_view query,
           std::initializer_list<QueryParameter*> parameters);

// "limit": how many entries a page may have.
inline constexpr int kMaxPageLimit = 100;
std::optional<Error> read_limit(const QueryParameter& parameter, int& limit);

}  // namespace petstore::api
