// Query strings of the admin API's lists. Links of a page preserve a valid
// query and lead to the next place, whatever bytes its name has.
#include <iterator>
#include <string>

#include "api/admin_query.h"
#include "fuzz.h"

using namespace petstore;

namespace {

constexpr api::Operation kLists[] = {
    api::Operation::list_accounts, api::Operation::list_keys,
    api::Operation::list_usage, api::Operation::get_account_usage};

void check_link(api::Operation list, const api::AdminQuery& query,
                const api::ScanPlace& next)
{
    const std::string link = api::admin_links("/keys", list, query, next);
    const auto begin = link.find('?') + 1;
    const auto followed = api::parse_admin_query(
        list, std::string_view(link).substr(begin, link.find('>') - begin));
    REQUIRE(std::holds_alternative<api::AdminQuery>(followed));
    const auto& again = std::get<api::AdminQuery>(followed);
    REQUIRE(again.limit == query.limit);
    REQUIRE(again.external_id == query.external_id);
    REQUIRE(again.plan == query.plan);
    REQUIRE(again.account == query.account);
    REQUIRE(again.sha256 == query.sha256);
    REQUIRE(again.from == query.from && again.to == query.to);
    REQUIRE(again.step == query.step);
    REQUIRE(again.first_page.has_value() == query.first_page.has_value());
    REQUIRE(!query.first_page
            || (again.first_page->from == query.first_page->from
                && again.first_page->to == query.first_page->to));
    REQUIRE(again.place.cursor == next.cursor);
    REQUIRE(again.place.end == next.end);
    REQUIRE(again.place.after == next.after);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size)
{
    if (size == 0) {
        return 0;
    }
    const auto list = kLists[data[0] % std::size(kLists)];
    const auto result =
        api::parse_admin_query(list, fuzz::text_of(data + 1, size - 1));
    if (const auto* error = std::get_if<api::Error>(&result)) {
        REQUIRE(error->code == api::ErrorCode::invalid_parameter);
        return 0;
    }
    const auto& query = std::get<api::AdminQuery>(result);
    REQUIRE(query.limit >= 1 && query.limit <= 100);
    REQUIRE(!query.from || !query.to || *query.from <= *query.to);
    if (list == api::Operation::get_account_usage) {
        return 0;
    }
    check_link(list, query, query.place);
    check_link(
        list, query,
        {size, ~query.place.end, std::string(fuzz::text_of(data, size))});
    return 0;
}
