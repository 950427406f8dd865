#pragma once

#include <string_view>

#include "router.h"

namespace petstore::api {

// Where a request to the admin API leads.
struct AdminRoute {
    Operation operation = Operation::none;  // none: see `allow`
    bool is_document = false;               // openapi.json
    std::string_view id;     // of the path: an account, a key or a plan
    std::string_view allow;  // value of Allow; empty for an unknown path
};

// As route(). The id is not validated.
AdminRoute admin_route(Method method, std::string_view path,
                       std::string_view base_path) noexcept;

}  // namespace petstore::api
