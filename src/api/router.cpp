#include "router.h"

#include <cstddef>
#include <iterator>

namespace petstore::api {
namespace {

constexpr std::string_view kCollection = "/pets";
constexpr std::string_view kDocument = "/openapi.json";

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

bool take_prefix(std::string_view& text, std::string_view prefix) noexcept
{
    if (text.substr(0, prefix.size()) != prefix) {
        return false;
    }
    text.remove_prefix(prefix.size());
    return true;
}

}  // namespace

std::string_view to_string(Operation operation) noexcept
{
    return kOperationNames[static_cast<std::size_t>(operation)];
}

Route route(Method method, std::string_view path,
            std::string_view base_path) noexcept
{
    Route result;
    if (!take_prefix(path, base_path)) {
        return result;
    }
    if (path == kDocument) {
        result.resource = Resource::document;
        result.allow = "GET, HEAD, OPTIONS";
        return result;
    }
    if (!take_prefix(path, kCollection)) {
        return result;
    }
    const bool reads = is_get_or_head(method);
    if (path.empty()) {
        result.resource = Resource::pets;
        result.allow = "GET, HEAD, POST, OPTIONS";
        if (reads) {
            result.operation = Operation::list_pets;
        } else if (method == Method::post) {
            result.operation = Operation::create_pet;
        }
        return result;
    }
    if (!take_prefix(path, "/") || path.empty()
        || path.find('/') != std::string_view::npos) {
        return result;
    }
    result.resource = Resource::pet;
    result.allow = "GET, HEAD, OPTIONS";
    result.pet_id = path;
    if (reads) {
        result.operation = Operation::get_pet;
    }
    return result;
}

bool is_get_or_head(Method method) noexcept
{
    return method == Method::get || method == Method::head;
}

bool is_read(Operation operation) noexcept
{
    return operation == Operation::list_pets || operation == Operation::get_pet;
}

bool is_get(Operation operation) noexcept
{
    switch (operation) {
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
        return is_read(operation);
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
