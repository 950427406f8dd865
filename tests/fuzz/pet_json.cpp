// Bodies of createPet, against another parser: what is accepted is JSON with
// these members, and the response is JSON with the same values.
#include <nlohmann/json.hpp>

#include "api/json.h"
#include "api/pet.h"
#include "api/text.h"
#include "fuzz.h"

using namespace petstore;
using nlohmann::json;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size)
{
    const auto body = fuzz::text_of(data, size);
    const auto result = api::parse_new_pet(body);
    const json other = json::parse(body, nullptr, false);
    const auto* pet = std::get_if<api::NewPet>(&result);
    if (pet == nullptr) {
        REQUIRE(api::is_utf8(std::get<api::Error>(result).message.text()));
        return 0;
    }
    REQUIRE(other.is_object());
    REQUIRE(!other.contains("id"));
    REQUIRE(other["name"] == pet->name);
    REQUIRE(other["categoryId"].is_number_integer());
    REQUIRE(other["categoryId"].get<std::int64_t>() == pet->category_id);
    REQUIRE(api::name_problem(pet->name) == nullptr);

    std::string category;
    api::append_int(category, pet->category_id);
    std::string text;
    api::append_pet_json(text, {1, pet->name, category, pet->status});
    const json written = json::parse(text);
    REQUIRE(written["name"] == pet->name);
    REQUIRE(written["categoryId"] == other["categoryId"]);
    REQUIRE(written["status"] == std::string(api::to_string(pet->status)));
    return 0;
}
