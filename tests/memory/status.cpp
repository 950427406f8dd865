// Whichever allocation fails, a format of petstore_status is complete or throws
// std::bad_alloc: nothing allocates while it is being destroyed.
#include <string>

#include "metrics/formats.h"
#include "shortage.h"

using namespace petstore;
using metrics::Totals;

namespace {

Totals totals()
{
    Totals totals;
    totals.nginx = "1.22.1";
    totals.requests[0][0] = 1;
    totals.plans.push_back({"a plan whose name needs memory", {1, 2, 3}});
    totals.routes.push_back({"a route whose name needs memory", {1, 2}, {}});
    totals.redis.emplace_back().name = "a Redis whose name needs memory";
    totals.denied.emplace_back().plan = "a plan whose name needs memory";
    totals.busiest.emplace_back().plan = "\xFF and more that needs memory";
    totals.hosts.emplace_back();
    return totals;
}

template <std::string (*kFormat)(const Totals&)>
struct Format {
    void act() { text = kFormat(shown); }
    void check(bool thrown) const { CHECK(text.empty() == thrown); }

    const Totals shown = totals();
    std::string text;
};

}  // namespace

TEST_CASE("out of memory: the formats of the status")
{
    fail_each_allocation<Format<metrics::status_json>>();
    fail_each_allocation<Format<metrics::status_page>>();
    fail_each_allocation<Format<metrics::prometheus_text>>();
}
