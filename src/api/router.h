#pragma once

#include <string_view>

namespace petstore::api {

enum class Operation {
    none,
    get_pet,
    list_pets,
    create_pet,
    // of the admin API
    list_accounts,
    create_account,
    get_account,
    update_account,
    delete_account,
    unban_account,
    reset_account,
    get_account_usage,
    list_usage,
    list_keys,
    create_key,
    get_key,
    update_key,
    delete_key,
    rotate_key,
    list_plans,
    put_plan,
    delete_plan,
    // of petstore_usage
    get_usage,
};
enum class Method { get, head, post, put, patch, del, options, trace, other };

// The operation's name in the OpenAPI document and in $petstore_operation; "-"
// for none.
std::string_view to_string(Operation operation) noexcept;

// Operation::none for another name.
Operation operation_named(std::string_view name) noexcept;

// Where a request leads.
struct Route {
    Operation operation = Operation::none;  // none: see `allow`
    bool is_document = false;               // openapi.json
    std::string_view id;     // of the path: a pet, an account, a key or a plan
    std::string_view allow;  // value of Allow; empty for an unknown path
};

// `path` is decoded and normalized, like nginx's $uri. `base_path` starts with
// a slash and does not end with one. The returned views point into `path` and
// into constants. The id is not validated.
Route route(Method method, std::string_view path,
            std::string_view base_path) noexcept;

// The same for the admin API.
Route admin_route(Method method, std::string_view path,
                  std::string_view base_path) noexcept;

bool is_get_or_head(Method method) noexcept;

// Whether the operation's method is GET, so that it changes nothing. For one on
// pets, the scope `read` then suffices.
bool is_get(Operation operation) noexcept;

// Whether the scope `read` suffices for the method in guarded locations. True
// for the safe methods of RFC 9110.
bool is_read(Method method) noexcept;

}  // namespace petstore::api
