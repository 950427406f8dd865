#include "router.h"

#include <cstddef>
#include <iterator>

namespace petstore::api {
namespace {

// By Operation.
constexpr std::string_view kOperationNames[] = {
    "-",
    "listPets",
    "createPet",
    "getPet",
    "listAccounts",
    "createAccount",
    "getAccount",
    "updateAccount",
    "deleteAccount",
    "unbanAccount",
    "resetAccount",
    "getAccountUsage",
    "listUsage",
    "listKeys",
    "createKey",
    "getKey",
    "updateKey",
    "deleteKey",
    "rotateKey",
    "listPlans",
    "putPlan",
    "deletePlan",
    "getUsage",
};
static_assert(std::size(kOperationNames)
              == static_cast<std::size_t>(Operation::get_usage) + 1);

// The star of a path stands for an id. GET includes HEAD. The OpenAPI document
// has no operation.
struct RouteRow {
    Method method;
    std::string_view path;
    Operation operation;
    std::string_view allow;  // the same in all rows of a path
};

using Op = Operation;
constexpr std::string_view kGet = "GET, HEAD, OPTIONS";
constexpr std::string_view kGetPost = "GET, HEAD, POST, OPTIONS";
constexpr std::string_view kGetPatchDelete =
    "GET, HEAD, PATCH, DELETE, OPTIONS";
constexpr std::string_view kPost = "POST, OPTIONS";
constexpr std::string_view kPutDelete = "PUT, DELETE, OPTIONS";

constexpr RouteRow kPetRoutes[] = {
    {Method::get, "/pets/*", Op::get_pet, kGet},
    {Method::get, "/pets", Op::list_pets, kGetPost},
    {Method::post, "/pets", Op::create_pet, kGetPost},
    {Method::get, "/openapi.json", Op::none, kGet},
};

constexpr RouteRow kAdminRoutes[] = {
    {Method::get, "/accounts", Op::list_accounts, kGetPost},
    {Method::post, "/accounts", Op::create_account, kGetPost},
    {Method::get, "/accounts/*", Op::get_account, kGetPatchDelete},
    {Method::patch, "/accounts/*", Op::update_account, kGetPatchDelete},
    {Method::del, "/accounts/*", Op::delete_account, kGetPatchDelete},
    {Method::post, "/accounts/*/unban", Op::unban_account, kPost},
    {Method::post, "/accounts/*/reset", Op::reset_account, kPost},
    {Method::get, "/accounts/*/usage", Op::get_account_usage, kGet},
    {Method::get, "/usage", Op::list_usage, kGet},
    {Method::get, "/keys", Op::list_keys, kGetPost},
    {Method::post, "/keys", Op::create_key, kGetPost},
    {Method::get, "/keys/*", Op::get_key, kGetPatchDelete},
    {Method::patch, "/keys/*", Op::update_key, kGetPatchDelete},
    {Method::del, "/keys/*", Op::delete_key, kGetPatchDelete},
    {Method::post, "/keys/*/rotate", Op::rotate_key, kPost},
    {Method::get, "/plans", Op::list_plans, kGet},
    {Method::put, "/plans/*", Op::put_plan, kPutDelete},
    {Method::del, "/plans/*", Op::delete_plan, kPutDelete},
    {Method::get, "/openapi.json", Op::none, kGet},
};

// An id is one part of a path.
bool matches(std::string_view path, std::string_view pattern,
             std::string_view& id) noexcept
{
    id = {};
    const std::size_t star = pattern.find('*');
    if (star == std::string_view::npos) {
        return path == pattern;
    }
    if (path.substr(0, star) != pattern.substr(0, star)) {
        return false;
    }
    path.remove_prefix(star);
    id = path.substr(0, path.find('/'));
    return !id.empty() && path.substr(id.size()) == pattern.substr(star + 1);
}

template <std::size_t Size>
Route find_route(const RouteRow (&rows)[Size], Method method,
                 std::string_view path, std::string_view base_path) noexcept
{
    if (path.substr(0, base_path.size()) != base_path) {
        return {};
    }
    path.remove_prefix(base_path.size());
    method = is_get_or_head(method) ? Method::get : method;
    Route result;
    std::string_view id;
    for (const RouteRow& row : rows) {
        if (matches(path, row.path, id)) {
            const bool is_document = row.operation == Op::none;
            result = {Op::none, is_document, id, row.allow};
            if (row.method == method) {
                result.operation = row.operation;
                break;
            }
        }
    }
    return result;
}

}  // namespace

std::string_view to_string(Operation operation) noexcept
{
    return kOperationNames[static_cast<std::size_t>(operation)];
}

Operation operation_named(std::string_view name) noexcept
{
    std::size_t found = std::size(kOperationNames) - 1;
    while (found > 0 && kOperationNames[found] != name) {
        --found;
    }
    return static_cast<Operation>(found);
}

Route route(Method method, std::string_view path,
            std::string_view base_path) noexcept
{
    return find_route(kPetRoutes, method, path, base_path);
}

Route admin_route(Method method, std::string_view path,
                  std::string_view base_path) noexcept
{
    return find_route(kAdminRoutes, method, path, base_path);
}

bool is_get_or_head(Method method) noexcept
{
    return method == Method::get || method == Method::head;
}

bool is_get(Operation operation) noexcept
{
    switch (operation) {
    case Operation::list_pets:
    case Operation::get_pet:
    case Operation::list_accounts:
    case Operation::get_account:
    case Operation::get_account_usage:
    case Operation::list_usage:
    case Operation::list_keys:
    case Operation::get_key:
    case Operation::list_plans:
    case Operation::get_usage:
        return true;
    default:
        return false;
    }
}

bool is_read(Method method) noexcept
{
    switch (method) {
    case Method::get:
    case Method::head:
    case Method::options:
    case Method::trace:
        return true;
    case Method::post:
    case Method::put:
    case Method::patch:
    case Method::del:
    case Method::other:
        break;
    }
    return false;
}

}  // namespace petstore::api
