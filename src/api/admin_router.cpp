#include "admin_router.h"

#include <algorithm>
#include <array>

namespace petstore::api {

namespace {

// Of a path such as /accounts/{id}/usage.
struct PathParts {
    std::string_view collection;
    std::string_view id;
    std::string_view action;
    bool has_id = false;
};

struct AdminPath {
    std::string_view collection;
    bool has_id;
    std::string_view action;
    struct {
        Operation get = Operation::none;
        Operation post = Operation::none;
        Operation put = Operation::none;
        Operation patch = Operation::none;
        Operation del = Operation::none;
    } of;
    std::string_view allow;
};

using Op = Operation;
constexpr Op kNoOperation = Op::none;

constexpr AdminPath kAdminPaths[] = {
    {"accounts",
     false,
     "",
     {Op::list_accounts, Op::create_account},
     "GET, HEAD, POST, OPTIONS"},
    {"accounts",
     true,
     "",
     {Op::get_account, kNoOperation, kNoOperation, Op::update_account,
      Op::delete_account},
     "GET, HEAD, PATCH, DELETE, OPTIONS"},
    {"accounts",
     true,
     "unban",
     {kNoOperation, Op::unban_account},
     "POST, OPTIONS"},
    {"accounts",
     true,
     "reset",
     {kNoOperation, Op::reset_account},
     "POST, OPTIONS"},
    {"accounts", true, "usage", {Op::get_account_usage}, "GET, HEAD, OPTIONS"},
    {"usage", false, "", {Op::list_usage}, "GET, HEAD, OPTIONS"},
    {"keys",
     false,
     "",
     {Op::list_keys, Op::create_key},
     "GET, HEAD, POST, OPTIONS"},
    {"keys",
     true,
     "",
     {Op::get_key, kNoOperation, kNoOperation, Op::update_key, Op::delete_key},
     "GET, HEAD, PATCH, DELETE, OPTIONS"},
    {"keys", true, "rotate", {kNoOperation, Op::rotate_key}, "POST, OPTIONS"},
    {"plans", false, "", {Op::list_plans}, "GET, HEAD, OPTIONS"},
    {"plans",
     true,
     "",
     {kNoOperation, kNoOperation, Op::put_plan, kNoOperation, Op::delete_plan},
     "PUT, DELETE, OPTIONS"},
};

Operation operation_for(const AdminPath& row, Method method) noexcept
{
    switch (method) {
    case Method::get:
    case Method::head:
        return row.of.get;
    case Method::post:
        return row.of.post;
    case Method::put:
        return row.of.put;
    case Method::patch:
        return row.of.patch;
    case Method::del:
        return row.of.del;
    default:
        return kNoOperation;
    }
}

// False for a path with an empty or a fourth part.
bool split_path(std::string_view path, PathParts& parts) noexcept
{
    std::array<std::string_view, 3> found;
    std::size_t count = 0;
    while (!path.empty()) {
        if (path.front() != '/' || count == found.size()) {
            return false;
        }
        path.remove_prefix(1);
        found[count] = path.substr(0, path.find('/'));
        if (found[count].empty()) {
            return false;
        }
        path.remove_prefix(found[count++].size());
    }
    parts = {found[0], found[1], found[2], count > 1};
    return count > 0;
}

}  // namespace

AdminRoute admin_route(Method method, std::string_view path,
                       std::string_view base_path) noexcept
{
    AdminRoute result;
    PathParts parts;
    if (path.substr(0, base_path.size()) != base_path
        || !split_path(path.substr(base_path.size()), parts)) {
        return result;
    }
    if (parts.collection == "openapi.json" && !parts.has_id) {
        result.is_document = true;
        result.allow = "GET, HEAD, OPTIONS";
        return result;
    }
    for (const AdminPath& row : kAdminPaths) {
        if (row.collection == parts.collection && row.has_id == parts.has_id
            && row.action == parts.action) {
            result.operation = operation_for(row, method);
            result.id = parts.id;
            result.allow = row.allow;
        }
    }
    return result;
}

}  // namespace petstore::api
