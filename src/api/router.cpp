#include "router.h"

#include <cstddef>
#include <iterator>

namespace petstore::api {
namespace {

// The star of a path stands for an id. GET includes HEAD.
struct OperationRow {
    std::string_view name;
    Method method;
    std::string_view path;   // empty: that of a directive
    std::string_view allow;  // the same in all rows of a path
};

using Op = Operation;
constexpr std::string_view kDocument = "/openapi.json";
constexpr std::string_view kGet = "GET, HEAD, OPTIONS";
constexpr std::string_view kGetPost = "GET, HEAD, POST, OPTIONS";
constexpr std::string_view kGetPatchDelete =
    "GET, HEAD, PATCH, DELETE, OPTIONS";
constexpr std::string_view kPost = "POST, OPTIONS";
constexpr std::string_view kPutDelete = "PUT, DELETE, OPTIONS";

// By Operation.
constexpr OperationRow kOperations[] = {
    {"-", Method::other, "", ""},
    {"getPet", Method::get, "/pets/*", kGet},
    {"listPets", Method::get, "/pets", kGetPost},
    {"createPet", Method::post, "/pets", kGetPost},
    {"listAccounts", Method::get, "/accounts", kGetPost},
    {"createAccount", Method::post, "/accounts", kGetPost},
    {"getAccount", Method::get, "/accounts/*", kGetPatchDelete},
    {"updateAccount", Method::patch, "/accounts/*", kGetPatchDelete},
    {"deleteAccount", Method::del, "/accounts/*", kGetPatchDelete},
    {"unbanAccount", Method::post, "/accounts/*/unban", kPost},
    {"resetAccount", Method::post, "/accounts/*/reset", kPost},
    {"getAccountUsage", Method::get, "/accounts/*/usage", kGet},
    {"listUsage", Method::get, "/usage", kGet},
    {"listKeys", Method::get, "/keys", kGetPost},
    {"createKey", Method::post, "/keys", kGetPost},
    {"getKey", Method::get, "/keys/*", kGetPatchDelete},
    {"updateKey", Method::patch, "/keys/*", kGetPatchDelete},
    {"deleteKey", Method::del, "/keys/*", kGetPatchDelete},
    {"rotateKey", Method::post, "/keys/*/rotate", kPost},
    {"listPlans", Method::get, "/plans", kGet},
    {"putPlan", Method::put, "/plans/*", kPutDelete},
    {"deletePlan", Method::del, "/plans/*", kPutDelete},
    {"getUsage", Method::get, "", kGet},
};

constexpr std::size_t index_of(Operation operation) noexcept
{
    return static_cast<std::size_t>(operation);
}

static_assert(std::size(kOperations) == index_of(Op::get_usage) + 1);

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

// Among the operations from `first` to `last`.
Route find_route(Operation first, Operation last, Method method,
                 std::string_view path, std::string_view base_path) noexcept
{
    if (path.substr(0, base_path.size()) != base_path) {
        return {};
    }
    path.remove_prefix(base_path.size());
    if (path == kDocument) {
        return {Op::none, true, {}, kGet};
    }
    method = is_get_or_head(method) ? Method::get : method;
    Route result;
    std::string_view id;
    for (std::size_t i = index_of(first); i <= index_of(last); ++i) {
        const OperationRow& row = kOperations[i];
        if (matches(path, row.path, id)) {
            result = {Op::none, false, id, row.allow};
            if (row.method == method) {
                result.operation = static_cast<Operation>(i);
                break;
            }
        }
    }
    return result;
}

}  // namespace

std::string_view to_string(Operation operation) noexcept
{
    return kOperations[index_of(operation)].name;
}

Operation operation_named(std::string_view name) noexcept
{
    std::size_t found = std::size(kOperations) - 1;
    while (found > 0 && kOperations[found].name != name) {
        --found;
    }
    return static_cast<Operation>(found);
}

Route route(Method method, std::string_view path,
            std::string_view base_path) noexcept
{
    return find_route(Op::get_pet, Op::create_pet, method, path, base_path);
}

Route admin_route(Method method, std::string_view path,
                  std::string_view base_path) noexcept
{
    return find_route(Op::list_accounts, Op::delete_plan, method, path,
                      base_path);
}

bool is_get_or_head(Method method) noexcept
{
    return method == Method::get || method == Method::head;
}

bool is_get(Operation operation) noexcept
{
    return kOperations[index_of(operation)].method == Method::get;
}

bool is_read(Method method) noexcept
{
    return is_get_or_head(method) || method == Method::options
           || method == Method::trace;
}

}  // namespace petstore::api
