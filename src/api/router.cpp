#include "router.h"

namespace petstore::api {
namespace {

constexpr std::string_view kCollection = "/pets";
constexpr std::string_view kDocument = "/openapi.json";

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
    switch (operation) {
    case Operation::list_pets:
        return "listPets";
    case Operation::create_pet:
        return "createPet";
    case Operation::get_pet:
        return "getPet";
    case Operation::none:
        break;
    }
    return "-";
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
    return operation != Operation::create_pet;
}

bool is_read(Method method) noexcept
{
    return method != Method::post && method != Method::other;
}

}  // namespace petstore::api
