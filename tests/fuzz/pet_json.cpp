// Bodies of createPet, compared with another parser: accepted bodies are JSON
// with these members, and the response is JSON with the same values.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "api/json.h"
#include "api/pet.h"
#include "api/text.h"
#include "fuzz.h"

using namespace petstore;
using nlohmann::json;

namespace {

// Discarded if it is not JSON; nothing if a number exceeds double, which JSON
// and, in ignored members, the API allow.
std::optional<json> parsed_by_other(std::string_view body)
{
    try {
        return json::parse(body);
    } catch (const json::parse_error&) {
        return json(json::value_t::discarded);
    } catch (const json::out_of_range&) {
        return std::nullopt;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size)
{
    const auto body = fuzz::text_of(data, size);
    const auto result = api::parse_new_pet(body);
    const auto* pet = std::get_if<api::NewPet>(&result);
    if (pet == nullptr) {
        REQUIRE(api::is_utf8(std::get<api::Error>(result).message.text()));
        return 0;
    }
    const auto parsed = parsed_by_other(body);
    if (!parsed) {
        return 0;
    }
    const json& other = *parsed;
    REQUIRE(other.is_object());
    REQUIRE(!other.contains("id"));
    REQUIRE(other.at("name") == pet->name);
    REQUIRE(other.at("categoryId").is_number_integer());
    REQUIRE(other.at("categoryId").get<std::int64_t>() == pet->category_id);
    REQUIRE(api::name_problem(pet->name) == nullptr);

    std::string category;
    api::append_int(category, pet->category_id);
    std::string text;
    api::append_pet_json(text, {1, pet->name, category, pet->status});
    const json written = json::parse(text);
    REQUIRE(written["name"] == pet->name);
    REQUIRE(written["categoryId"] == other.at("categoryId"));
    REQUIRE(written["status"] == std::string(api::to_string(pet->status)));
    return 0;
}
