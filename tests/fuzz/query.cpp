// Query strings of listPets. Links of a page preserve a valid query.
#include "api/page.h"
#include "fuzz.h"

using namespace petstore;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size)
{
    const auto result = api::parse_list_query(fuzz::text_of(data, size));
    if (const auto* error = std::get_if<api::Error>(&result)) {
        REQUIRE(error->code == api::ErrorCode::invalid_parameter);
        return 0;
    }
    const auto& query = std::get<api::ListQuery>(result);
    REQUIRE(query.limit >= 1 && query.limit <= api::kMaxPageLimit);
    REQUIRE(query.after >= 0);

    const std::string link = api::page_links("/v1", query, query.after + 1);
    const auto begin = link.find('?') + 1;
    const auto next = api::parse_list_query(
        std::string_view(link).substr(begin, link.find('>') - begin));
    REQUIRE(std::holds_alternative<api::ListQuery>(next));
    const auto& followed = std::get<api::ListQuery>(next);
    REQUIRE(followed.limit == query.limit);
    REQUIRE(followed.status == query.status);
    REQUIRE(followed.after == query.after + 1);
    return 0;
}
