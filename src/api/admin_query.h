#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "date.h"
#include "digest.h"
#include "error.h"
#include "router.h"
#include "scan_place.h"
#include "usage.h"

namespace petstore::api {

// What a list of the admin API asks for.
struct AdminQuery {
    int limit = 20;
    ScanPlace place;
    // Empty: any. plan and account are not validated, since no entry has an
    // invalid one.
    std::string external_id;
    std::string plan;
    std::string account;
    std::optional<Digest> sha256;
    // Days that are not given depend on the time, see usage_period().
    std::optional<Day> from;
    std::optional<Day> to;
    UsagePeriod::Step step = UsagePeriod::Step::day;
    // The period of the first page of a list of usage, in its cursors, so that
    // all pages have the same. Not before 1970.
    struct Days {
        Day from;
        Day to;
    };
    std::optional<Days> first_page;
};

// As parse_list_query(). A cursor must come from a link of the same operation
// with the same other parameters, `limit` aside.
std::variant<AdminQuery, Error> parse_admin_query(Operation operation,
                                                  std::string_view query);

// That of the first page; by default this month, or an earlier month of `to`
// until then. Contains no day if it begins after today.
UsagePeriod usage_period(const AdminQuery& query, Day today) noexcept;

// The value of the Link header: rel="next", and the same without a cursor as
// rel="first". `list`: the path, prefixed with petstore_base_url if that is
// set.
std::string admin_links(std::string_view list, Operation operation,
                        const AdminQuery& query, const ScanPlace& next);

}  // namespace petstore::api
