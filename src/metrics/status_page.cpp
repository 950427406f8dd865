// The metrics as a page for people.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <vector>

#include "../api/build_version.h"
#include "../api/date.h"
#include "formats.h"
#include "metrics_files.h"  // page/
#include "page_sections.h"

namespace petstore::metrics {

namespace {

// The page loads nothing but itself; all of its text is escaped. The hashes are
// those of the style and the script element; after a change of page/, a unit
// test prints the new ones.
constexpr std::string_view kPolicy =
    "default-src 'none'; style-src 'sha256-TxsgDUt8OZpgoGgkqrzGi9s86lesTm+TsbfdQQRmero='; script-src 'sha256-gpSQez8k4529qww/GKQRdCZydI8wEjQhRYiMawWX36M='; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

std::string formatted(const char* format, double number)
{
    char text[64];
    std::snprintf(text, sizeof(text), format, number);
    return text;
}

std::string per_second(double rate)
{
    return rate >= 10 ? grouped(static_cast<std::uint64_t>(std::llround(rate)))
                      : formatted("%.1f", rate);
}

std::string milliseconds(double seconds)
{
    return formatted("%.1f ms", seconds * 1000);
}

std::string percentage(const LookupTotals& totals)
{
    const std::uint64_t all = totals.hits + totals.misses;
    return all == 0
               ? "–"
               : formatted("%.1f %%", 100 * static_cast<double>(totals.hits)
                                          / static_cast<double>(all));
}

std::string duration(std::uint64_t seconds)
{
    if (seconds < 120) {
        return std::to_string(seconds) + " s";
    }
    return seconds < 7200 ? std::to_string(seconds / 60) + " min"
                          : std::to_string(seconds / 3600) + " h";
}

void add_requests(Sections& sections, const Totals& totals)
{
    sections.begin("requests", "Requests", "tall");
    sections.table(
        {{"Verdict"}, {"per second"}, {"total"}},
        "Per second: the average of the last 10 seconds. Total: since nginx started, like all other numbers.");
    for (std::size_t i = 0; i < api::kLimitStatuses; ++i) {
        std::uint64_t sum = 0;
        for (const PlanTotals& plan : totals.plans) {
            sum += plan.decisions[i];
        }
        const auto status = static_cast<api::LimitStatus>(i);
        const bool dry_run = status == api::LimitStatus::limited_dry_run
                             || status == api::LimitStatus::banned_dry_run;
        if (sum != 0 || !dry_run) {
            std::string name(label_of(status));
            std::replace(name.begin(), name.end(), '_', ' ');
            sections.row(name, {{per_second(totals.rates[i])}, {grouped(sum)}});
        }
    }
    std::uint64_t all = 0;
    for (const auto& statuses : totals.requests) {
        for (const std::uint64_t count : statuses) {
            all += count;
        }
    }
    sections.row("all requests",
                 {{per_second(totals.request_rate())}, {grouped(all)}});
}

void add_latency(Sections& sections, const Totals& totals)
{
    sections.begin("latency", "Latency");
    sections.table({{"Duration of"}, {"median"}, {"95 %"}, {"99 %"}},
                   "The 50th (median), 95th and 99th percentiles.");
    const auto row = [&sections](const char* name,
                                 const HistogramTotals& times) {
        sections.row(name, {{milliseconds(times.quantile(0.5))},
                            {milliseconds(times.quantile(0.95))},
                            {milliseconds(times.quantile(0.99))}});
    };
    row("requests", totals.request_duration);
    row("Redis commands", totals.redis_duration);
}

// Only where locations have one.
void add_routes(Sections& sections, const Totals& totals)
{
    if (totals.routes.empty()) {
        return;
    }
    sections.begin("routes", "Guarded routes", "wide");
    sections.table({{"Route"},
                    {"requests"},
                    {"4xx"},
                    {"5xx"},
                    {"median"},
                    {"95 %"},
                    {"99 %"}});
    for (const RouteTotals& route : totals.routes) {
        std::uint64_t client_errors = 0;
        std::uint64_t server_errors = 0;
        for (std::size_t i = 0; i < kStatuses.size(); ++i) {
            if (kStatuses[i] >= 500) {
                server_errors += route.requests[i];
            } else if (kStatuses[i] >= 400) {
                client_errors += route.requests[i];
            }
        }
        sections.row(route.name,
                     {{grouped(route.duration.count())},
                      {grouped(client_errors)},
                      {grouped(server_errors)},
                      {milliseconds(route.duration.quantile(0.5))},
                      {milliseconds(route.duration.quantile(0.95))},
                      {milliseconds(route.duration.quantile(0.99))}});
    }
}

void add_events(Sections& sections, const Totals& totals)
{
    sections.begin("events", "Events");
    sections.table({{"Event"}, {"total"}});
    sections.row("bans", {{grouped(totals.bans)}});
    sections.row("creates with an unknown outcome",
                 {{grouped(totals.outcome_unknown)}});
    sections.row("reads of damaged data", {{grouped(totals.damaged_data)}});
}

void add_redis(Sections& sections, const Totals& totals)
{
    sections.begin("redis", "Redis", "wide");
    if (totals.redis.empty()) {
        sections << "<p>No location uses Redis.</p>";
        return;
    }
    sections.table({{"Server"},
                    {"state", false},
                    {"commands"},
                    {"failures"},
                    {"queue rejections"}});
    for (const RedisTotals& redis : totals.redis) {
        const std::uint64_t failures = std::accumulate(
            redis.failures.begin(), redis.failures.end(), std::uint64_t{0});
        const Cell state = !redis.used ? Cell{"not in use"}
                           : redis.up  ? Cell{"up", "good"}
                                       : Cell{"down", "bad"};
        sections.row(redis.name, {state,
                                  {grouped(redis.commands)},
                                  {grouped(failures)},
                                  {grouped(redis.rejections)}});
    }
}

void add_denied(Sections& sections, const Totals& totals)
{
    sections.begin("denied", "Limited and banned accounts", "wide");
    if (totals.denied.empty()) {
        sections << "<p>None at this moment.</p>";
        return;
    }
    sections.table(
        {{"Account"},
         {"plan", false},
         {"state", false},
         {"ends in"},
         {"denied"}},
        "Accounts that this host has denied, the latest first. If there are very many, some are missing.");
    for (const DeniedTotals& denied : totals.denied) {
        const DeniedAccount& account = denied.account;
        sections.row(account.account(),
                     {{denied.plan},
                      account.banned ? Cell{"banned", "bad"} : Cell{"limited"},
                      {duration(account.until - totals.now)},
                      {grouped(account.denied)}});
    }
}

void add_busiest(Sections& sections, const Totals& totals)
{
    sections.begin("busiest", "Busiest accounts", "wide");
    if (totals.busiest.empty()) {
        sections << "<p>None in the last minute.</p>";
        return;
    }
    sections.table(
        {{"Account"},
         {"external id", false},
         {"label", false},
         {"plan", false},
         {"per minute"}},
        "Accounts with the most requests to this host in the last minute.");
    for (const BusyTotals& busy : totals.busiest) {
        const BusyAccount& account = busy.account;
        sections.row(account.id, {{account.external_id},
                                  {account.label},
                                  {busy.plan},
                                  {grouped(static_cast<std::uint64_t>(
                                      std::llround(account.per_minute)))}});
    }
}

void add_caches(Sections& sections, const Totals& totals)
{
    sections.begin("caches", "Caches", "wide");
    sections.table({{"Cache"}, {"hit rate"}, {"lookups"}},
                   "Pets are looked up for responses that are not cached.");
    const auto row = [&sections](const char* name,
                                 const LookupTotals& lookups) {
        sections.row(name, {{percentage(lookups)},
                            {grouped(lookups.hits + lookups.misses)}});
    };
    row("API keys", totals.keys);
    row("responses", totals.responses);
    row("pets", totals.pets);
}

void add_hosts(Sections& sections, const Totals& totals)
{
    sections.begin("hosts", "Hosts of the store", "wide");
    if (totals.hosts.empty()) {
        sections << "<p>None has published its version yet.</p>";
        return;
    }
    sections.table({{"Host"}, {"configuration", false}, {"version", false}},
                   "Those that were running in the last three minutes.");
    for (const StoreHost& host : totals.hosts) {
        sections.row(host.name, {{host.configuration}, {host.version}});
    }
}

std::string facts(const Totals& totals)
{
    std::string text(api::build_version());
    text += ", nginx " + totals.nginx + ", " + std::to_string(totals.workers);
    text += totals.workers == 1 ? " worker, " : " workers, ";
    return text + api::http_date(static_cast<api::UnixTime>(totals.now));
}

struct Part {
    std::string_view name;
    std::string text;
};

// `html` with each {{name}} replaced by the text of that part.
std::string filled(std::string_view html, const std::vector<Part>& parts)
{
    std::string out;
    for (std::size_t open; (open = html.find("{{")) != html.npos;) {
        const std::size_t close = html.find("}}", open);
        out += html.substr(0, open);
        for (const Part& part : parts) {
            if (html.substr(open + 2, close - open - 2) == part.name) {
                out += part.text;
            }
        }
        html.remove_prefix(close + 2);
    }
    return out.append(html);
}

}  // namespace

std::string status_page(const Totals& totals)
{
    Sections sections;
    add_requests(sections, totals);
    add_latency(sections, totals);
    add_events(sections, totals);
    add_routes(sections, totals);
    add_redis(sections, totals);
    add_busiest(sections, totals);
    add_denied(sections, totals);
    add_caches(sections, totals);
    add_hosts(sections, totals);
    return filled(k_page_html, {{"style", k_style_css},
                                {"facts", facts(totals)},
                                {"sections", sections.take()},
                                {"script", k_script_js}});
}

std::string_view status_page_policy() noexcept
{
    return kPolicy;
}

}  // namespace petstore::metrics
