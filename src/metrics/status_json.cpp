// The metrics as JSON.
#include <cmath>
#include <nlohmann/json.hpp>

#include "../api/build_version.h"
#include "formats.h"

namespace petstore::metrics {

namespace {

using Json = nlohmann::ordered_json;

Json to_json(const HistogramTotals& totals)
{
    return {{"count", totals.count()},
            {"sum", static_cast<double>(totals.sum) / 1e6},
            {"p50", totals.quantile(0.5)},
            {"p95", totals.quantile(0.95)},
            {"p99", totals.quantile(0.99)}};
}

Json to_json(const LookupTotals& totals)
{
    return {{"hit", totals.hits}, {"miss", totals.misses}};
}

Json requests_of(const Totals& totals)
{
    Json requests = Json::object();
    for (std::size_t i = 0; i < index_of(Operation::count); ++i) {
        Json statuses = Json::object();
        for (std::size_t j = 0; j <= kStatuses.size(); ++j) {
            if (totals.requests[i][j] != 0) {
                statuses[j < kStatuses.size() ? std::to_string(kStatuses[j])
                                              : "other"] =
                    totals.requests[i][j];
            }
        }
        requests[std::string(to_string(static_cast<Operation>(i)))] =
            std::move(statuses);
    }
    return requests;
}

Json decisions_of(const Totals& totals)
{
    Json decisions = Json::object();
    for (std::size_t i = 0; i < index_of(Verdict::count); ++i) {
        Json plans = Json::object();
        for (const PlanTotals& plan : totals.plans) {
            if (plan.decisions[i] != 0) {
                plans[plan.name] = plan.decisions[i];
            }
        }
        decisions[std::string(to_string(static_cast<Verdict>(i)))] =
            std::move(plans);
    }
    return decisions;
}

Json routes_of(const Totals& totals)
{
    Json routes = Json::object();
    for (const RouteTotals& route : totals.routes) {
        Json statuses = Json::object();
        for (std::size_t i = 0; i < route.requests.size(); ++i) {
            if (route.requests[i] != 0) {
                statuses[i < kStatuses.size() ? std::to_string(kStatuses[i])
                                              : "other"] = route.requests[i];
            }
        }
        routes[route.name] = {{"requests", std::move(statuses)},
                              {"duration_seconds", to_json(route.duration)}};
    }
    return routes;
}

Json rates_of(const Totals& totals)
{
    Json rates = {{"requests", totals.request_rate()}};
    for (std::size_t i = 0; i < index_of(Verdict::count); ++i) {
        rates[std::string(to_string(static_cast<Verdict>(i)))] =
            totals.rates[i];
    }
    return rates;
}

Json redis_of(const Totals& totals)
{
    Json list = Json::array();
    for (const RedisTotals& redis : totals.redis) {
        Json failures = Json::object();
        for (std::size_t i = 0; i < redis.failures.size(); ++i) {
            failures[std::string(to_string(static_cast<Failure>(i)))] =
                redis.failures[i];
        }
        list.push_back({{"name", redis.name},
                        {"up", redis.used ? Json(redis.up) : Json(nullptr)},
                        {"commands", redis.commands},
                        {"failures", std::move(failures)},
                        {"queue_rejections", redis.rejections}});
    }
    return list;
}

Json denied_of(const Totals& totals)
{
    Json list = Json::array();
    for (const DeniedTotals& denied : totals.denied) {
        list.push_back(
            {{"account", denied.account.account()},
             {"plan", denied.plan},
             {"status", denied.account.banned ? "banned" : "limited"},
             {"until", denied.account.until},
             {"denied", denied.account.denied}});
    }
    return list;
}

Json text_or_null(const char* text)
{
    return *text == '\0' ? Json(nullptr) : Json(text);
}

Json busiest_of(const Totals& totals)
{
    Json list = Json::array();
    for (const BusyTotals& busy : totals.busiest) {
        const BusyAccount& account = busy.account;
        list.push_back({{"account", account.id},
                        {"external_id", text_or_null(account.external_id)},
                        {"label", text_or_null(account.label)},
                        {"plan", busy.plan},
                        {"per_minute", std::llround(account.per_minute)}});
    }
    return list;
}

Json hosts_of(const Totals& totals)
{
    Json list = Json::array();
    for (const StoreHost& host : totals.hosts) {
        list.push_back({{"host", host.name},
                        {"configuration", host.configuration},
                        {"version", host.version}});
    }
    return list;
}

}  // namespace

std::string status_json(const Totals& totals)
{
    const Json json = {
        {"version", api::build_version()},
        {"nginx", totals.nginx},
        {"time", totals.now},
        {"workers", totals.workers},
        {"per_second", rates_of(totals)},
        {"requests", requests_of(totals)},
        {"request_duration_seconds", to_json(totals.request_duration)},
        {"routes", routes_of(totals)},
        {"decisions", decisions_of(totals)},
        {"bans", totals.bans},
        {"denied_accounts", denied_of(totals)},
        {"busiest_accounts", busiest_of(totals)},
        {"redis", redis_of(totals)},
        {"redis_duration_seconds", to_json(totals.redis_duration)},
        {"caches",
         {{"key", to_json(totals.keys)},
          {"pet", to_json(totals.pets)},
          {"response", to_json(totals.responses)}}},
        {"outcome_unknown", totals.outcome_unknown},
        {"damaged_data", totals.damaged_data},
        {"hosts", hosts_of(totals)},
    };
    // Names in the configuration may be invalid UTF-8.
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace petstore::metrics
