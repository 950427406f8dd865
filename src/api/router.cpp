#include "router.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "text.h"

namespace petstore::api {
namespace {

// The star of a pattern stands for an id.
struct Pattern {
    constexpr explicit Pattern(std::string_view text)
        : has_id(text.find('*') != std::string_view::npos),
          before(text.substr(0, text.find('*'))),
          after(has_id ? text.substr(before.size() + 1) : std::string_view())
    {}

    bool has_id;
    std::string_view before;
    std::string_view after;
};

// GET includes HEAD.
struct OperationRow {
    std::string_view name;
    Method method;
    Pattern path;            // empty: that of a directive
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
    {"-", Method::other, Pattern(""), ""},
    {"getPet", Method::get, Pattern("/pets/*"), kGet},
    {"listPets", Method::get, Pattern("/pets"), kGetPost},
    {"createPet", Method::post, Pattern("/pets"), kGetPost},
    {"listAccounts", Method::get, Pattern("/accounts"), kGetPost},
    {"createAccount", Method::post, Pattern("/accounts"), kGetPost},
    {"getAccount", Method::get, Pattern("/accounts/*"), kGetPatchDelete},
    {"updateAccount", Method::patch, Pattern("/accounts/*"), kGetPatchDelete},
    {"deleteAccount", Method::del, Pattern("/accounts/*"), kGetPatchDelete},
    {"unbanAccount", Method::post, Pattern("/accounts/*/unban"), kPost},
    {"resetAccount", Method::post, Pattern("/accounts/*/reset"), kPost},
    {"getAccountUsage", Method::get, Pattern("/accounts/*/usage"), kGet},
    {"listUsage", Method::get, Pattern("/usage"), kGet},
    {"listKeys", Method::get, Pattern("/keys"), kGetPost},
    {"createKey", Method::post, Pattern("/keys"), kGetPost},
    {"getKey", Method::get, Pattern("/keys/*"), kGetPatchDelete},
    {"updateKey", Method::patch, Pattern("/keys/*"), kGetPatchDelete},
    {"deleteKey", Method::del, Pattern("/keys/*"), kGetPatchDelete},
    {"rotateKey", Method::post, Pattern("/keys/*/rotate"), kPost},
    {"listPlans", Method::get, Pattern("/plans"), kGet},
    {"putPlan", Method::put, Pattern("/plans/*"), kPutDelete},
    {"deletePlan", Method::del, Pattern("/plans/*"), kPutDelete},
    {"getUsage", Method::get, Pattern(""), kGet},
};

constexpr std::size_t index_of(Operation operation) noexcept
{
    return static_cast<std::size_t>(operation);
}

static_assert(std::size(kOperations) == index_of(Op::get_usage) + 1);

// An id is one part of a path.
bool matches(std::string_view path, const Pattern& pattern,
             std::string_view& id) noexcept
{
    id = {};
    if (!pattern.has_id) {
        return path == pattern.before;
    }
    if (!starts_with(path, pattern.before)) {
        return false;
    }
    path.remove_prefix(pattern.before.size());
    const std::size_t length = std::min(path.find('/'), path.size());
    id = {path.data(), length};
    path.remove_prefix(length);
    return length != 0 && path == pattern.after;
}

// Among the operations from `first` to `last`.
Route find_route(Operation first, Operation last, Method method,
                 std::string_view path, std::string_view base_path) noexcept
{
    if (!starts_with(path, base_path)) {
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
