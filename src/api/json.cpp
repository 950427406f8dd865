#include "json.h"

#include <utility>

#include "json_object.h"

namespace petstore::api {
namespace {

using Kind = JsonMember::Kind;
using Members = std::vector<JsonMember>;

std::variant<Members, Error> parse_pet_members(std::string_view body)
{
    return parse_json_object(body, {"id", "name", "categoryId", "status"});
}

std::variant<NewPet, Error> new_pet(Members& members)
{
    const auto invalid = [](Message message) {
        return Error{ErrorCode::invalid_field, std::move(message)};
    };
    JsonMember* const name = find_member(members, "name");
    const JsonMember* const category = find_member(members, "categoryId");
    const JsonMember* const status = find_member(members, "status");
    if (name == nullptr) {
        return Error{ErrorCode::missing_field, "name is required."};
    }
    if (category == nullptr) {
        return Error{ErrorCode::missing_field, "categoryId is required."};
    }
    if (name->kind != Kind::text) {
        return invalid("name must be a string.");
    }
    if (const char* problem = name_problem(name->text)) {
        return invalid(std::string("name ") + problem + '.');
    }
    if (category->kind != Kind::integer) {
        return invalid(
            "categoryId must be a 64-bit integer in plain decimal digits.");
    }
    NewPet pet{std::move(name->text), category->number};
    if (status != nullptr) {
        // The text of another kind is empty.
        const auto parsed = parse_status(status->text);
        if (!parsed) {
            return invalid("status must be available, pending or sold.");
        }
        pet.status = *parsed;
    }
    return pet;
}

}  // namespace

std::variant<NewPet, Error> parse_new_pet(std::string_view body)
{
    auto members = parse_pet_members(body);
    if (auto* error = std::get_if<Error>(&members)) {
        return std::move(*error);
    }
    auto& found = std::get<Members>(members);
    if (find_member(found, "id") != nullptr) {
        return Error{ErrorCode::read_only_field,
                     "id is assigned by the service and must not be sent."};
    }
    return new_pet(found);
}

std::variant<NewPet, Error> parse_exported_pet(std::string_view line, PetId& id)
{
    auto members = parse_pet_members(line);
    if (auto* error = std::get_if<Error>(&members)) {
        return std::move(*error);
    }
    auto& found = std::get<Members>(members);
    const JsonMember* const given = find_member(found, "id");
    id = given == nullptr || given->number < 0 ? 0 : given->number;
    return new_pet(found);
}

}  // namespace petstore::api
