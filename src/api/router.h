#pragma once

#include <string_view>

namespace petstore::api {

enum class Operation { none, list_pets, create_pet, get_pet };
enum class Method { get, head, post, options, other };
enum class Resource { unknown, pets, pet };

// The operation's name as the OpenAPI document and $petstore_operation say it;
// "-" for none.
std::string_view to_string(Operation operation) noexcept;

struct Route {
    Resource resource = Resource::unknown;
    Operation operation = Operation::none;  // none: see resource and allow
    std::string_view pet_id;                // of Resource::pet, unchecked
    std::string_view allow;  // value of Allow; empty for Resource::unknown
};

// `path` is decoded and normalised, as nginx's $uri. `base_path` starts with a
// slash and has none at its end. The views of the result point into `path` and
// into constants.
Route route(Method method, std::string_view path,
            std::string_view base_path) noexcept;

// Whether an operation changes nothing, which is what the scope `read` allows.
bool is_read(Operation operation) noexcept;

}  // namespace petstore::api
