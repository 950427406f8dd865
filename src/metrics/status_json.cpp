// The metrics as JSON.
#include <cmath>

#include "../api/build_version.h"
#include "../api/json_writer.h"
#include "formats.h"

namespace petstore::metrics {

namespace {

using api::JsonWriter;

// Adds a member that `write` fills, an object or an array.
template <typename Write>
void add(JsonWriter& object, std::string_view name, const char* brackets,
         Write write)
{
    JsonWriter value(object.named(name), brackets[0]);
    write(value);
    value.end(brackets[1]);
}

template <typename Write>
void add_object(JsonWriter& object, std::string_view name, Write write)
{
    add(object, name, "{}", write);
}

// Adds an array of objects, one for each element of `list`.
template <typename List, typename Write>
void add_list(JsonWriter& object, std::string_view name, const List& list,
              Write write)
{
    add(object, name, "[]", [&](JsonWriter& array) {
        for (const auto& each : list) {
            JsonWriter element(array.next());
            write(element, each);
            element.end();
        }
    });
}

void add_count(JsonWriter& object, std::string_view name, std::uint64_t count)
{
    object.number(name, static_cast<std::int64_t>(count));
}

void add_durations(JsonWriter& object, std::string_view name,
                   const HistogramTotals& totals)
{
    add_object(object, name, [&](JsonWriter& durations) {
        add_count(durations, "count", totals.count());
        durations.real("sum", static_cast<double>(totals.sum) / 1e6);
        durations.real("p50", totals.quantile(0.5));
        durations.real("p95", totals.quantile(0.95));
        durations.real("p99", totals.quantile(0.99));
    });
}

void add_lookups(JsonWriter& object, std::string_view name,
                 const LookupTotals& totals)
{
    add_object(object, name, [&](JsonWriter& lookups) {
        add_count(lookups, "hit", totals.hits);
        add_count(lookups, "miss", totals.misses);
    });
}

// The numbers of requests by status.
template <typename Counts>
void add_statuses(JsonWriter& object, std::string_view name,
                  const Counts& counts)
{
    add_object(object, name, [&](JsonWriter& statuses) {
        for (std::size_t i = 0; i <= kStatuses.size(); ++i) {
            if (counts[i] != 0) {
                add_count(statuses, status_text(i), counts[i]);
            }
        }
    });
}

void add_requests(JsonWriter& object, const Totals& totals)
{
    add_object(object, "requests", [&](JsonWriter& requests) {
        for (std::size_t i = 0; i < index_of(RequestKind::count); ++i) {
            add_statuses(requests, to_string(static_cast<RequestKind>(i)),
                         totals.requests[i]);
        }
    });
}

void add_routes(JsonWriter& object, const Totals& totals)
{
    add_object(object, "routes", [&](JsonWriter& routes) {
        for (const RouteTotals& each : totals.routes) {
            add_object(routes, each.name, [&](JsonWriter& route) {
                add_statuses(route, "requests", each.requests);
                add_durations(route, "duration_seconds", each.duration);
            });
        }
    });
}

void add_decisions(JsonWriter& object, const Totals& totals)
{
    add_object(object, "decisions", [&](JsonWriter& decisions) {
        for (std::size_t i = 0; i < api::kLimitStatuses; ++i) {
            add_object(decisions, label_of(static_cast<api::LimitStatus>(i)),
                       [&](JsonWriter& plans) {
                           for (const PlanTotals& plan : totals.plans) {
                               if (plan.decisions[i] != 0) {
                                   add_count(plans, plan.name,
                                             plan.decisions[i]);
                               }
                           }
                       });
        }
    });
}

void add_rates(JsonWriter& object, const Totals& totals)
{
    add_object(object, "per_second", [&](JsonWriter& rates) {
        rates.real("requests", totals.request_rate());
        for (std::size_t i = 0; i < api::kLimitStatuses; ++i) {
            rates.real(label_of(static_cast<api::LimitStatus>(i)),
                       totals.rates[i]);
        }
    });
}

void write_redis(JsonWriter& object, const RedisTotals& redis)
{
    object.text("name", redis.name);
    if (redis.used) {
        object.flag("up", redis.up);
    } else {
        object.null("up");
    }
    add_count(object, "commands", redis.commands);
    add_object(object, "failures", [&](JsonWriter& failures) {
        for (std::size_t i = 0; i < redis.failures.size(); ++i) {
            add_count(failures, to_string(static_cast<FailureCause>(i)),
                      redis.failures[i]);
        }
    });
    add_count(object, "queue_rejections", redis.rejections);
}

void write_denied(JsonWriter& object, const DeniedTotals& denied)
{
    object.text("account", denied.account.account());
    object.text("plan", denied.plan);
    object.text("status", denied.account.banned ? "banned" : "limited");
    add_count(object, "until", denied.account.until);
    add_count(object, "denied", denied.account.denied);
}

void write_busy(JsonWriter& object, const BusyTotals& busy)
{
    const BusyAccount& account = busy.account;
    object.text("account", account.id);
    object.text_or_null("external_id", account.external_id);
    object.text_or_null("label", account.label);
    object.text("plan", busy.plan);
    object.number("per_minute", std::llround(account.per_minute));
}

void write_host(JsonWriter& object, const StoreHost& host)
{
    object.text("host", host.name);
    object.text("configuration", host.configuration);
    object.text("version", host.version);
}

}  // namespace

std::string status_json(const Totals& totals)
{
    std::string json;
    JsonWriter object(json);
    object.text("version", api::build_version());
    object.text("nginx", totals.nginx);
    add_count(object, "time", totals.now);
    add_count(object, "workers", totals.workers);
    add_rates(object, totals);
    add_requests(object, totals);
    add_durations(object, "request_duration_seconds", totals.request_duration);
    add_routes(object, totals);
    add_decisions(object, totals);
    add_count(object, "bans", totals.bans);
    add_list(object, "denied_accounts", totals.denied, write_denied);
    add_list(object, "busiest_accounts", totals.busiest, write_busy);
    add_list(object, "redis", totals.redis, write_redis);
    add_durations(object, "redis_duration_seconds", totals.redis_duration);
    add_object(object, "caches", [&](JsonWriter& caches) {
        add_lookups(caches, "key", totals.keys);
        add_lookups(caches, "pet", totals.pets);
        add_lookups(caches, "response", totals.responses);
    });
    add_count(object, "outcome_unknown", totals.outcome_unknown);
    add_count(object, "damaged_data", totals.damaged_data);
    add_list(object, "hosts", totals.hosts, write_host);
    object.end();
    return json + "\n";
}

}  // namespace petstore::metrics
