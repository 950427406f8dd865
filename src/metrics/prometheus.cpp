// The metrics in Prometheus's text format.
#include <string_view>
#include <vector>

#include "../api/build_version.h"
#include "formats.h"

namespace petstore::metrics {

namespace {

// A label's value: https://prometheus.io/docs/instrumenting/exposition_formats/
void append_value(std::string& out, std::string_view value)
{
    out += '"';
    for (const char c : value) {
        if (c == '\n') {
            out += "\\n";
            continue;
        }
        if (c == '\\' || c == '"') {
            out += '\\';
        }
        out += c;
    }
    out += '"';
}

// Formats microseconds as seconds, without an exponent or trailing zeros.
std::string seconds(std::uint64_t micros)
{
    std::string text = std::to_string(micros / 1'000'000);
    std::string fraction = std::to_string(micros % 1'000'000 + 1'000'000);
    fraction.erase(fraction.find_last_not_of('0') + 1);
    if (fraction.size() > 1) {
        text += '.';
        text += std::string_view(fraction).substr(1);
    }
    return text;
}

class Text {
public:
    // `name` and `type` must be constants.
    void metric(const char* name, const char* type, const char* help)
    {
        name_ = name;
        out_.append("# HELP petstore_").append(name).append(" ").append(help);
        out_.append("\n# TYPE petstore_").append(name).append(" ");
        out_.append(type).append("\n");
    }

    struct Label {
        const char* name;
        std::string_view value;
    };

    void sample(const std::vector<Label>& labels, const std::string& value,
                const char* suffix = "")
    {
        out_.append("petstore_").append(name_).append(suffix);
        const char* separator = "{";
        for (const Label& label : labels) {
            out_.append(separator).append(label.name).append("=");
            append_value(out_, label.value);
            separator = ",";
        }
        out_.append(labels.empty() ? " " : "} ").append(value).append("\n");
    }
    void sample(const std::vector<Label>& labels, std::uint64_t value)
    {
        sample(labels, std::to_string(value));
    }

    void histogram(const HistogramTotals& totals,
                   const std::vector<Label>& labels = {})
    {
        std::uint64_t count = 0;
        std::vector<Label> with_bound = labels;
        with_bound.push_back({"le", {}});
        for (std::size_t i = 0; i < kBuckets; ++i) {
            count += totals.buckets[i];
            const std::string bound =
                i < kBounds.size() ? seconds(kBounds[i]) : "+Inf";
            with_bound.back().value = bound;
            sample(with_bound, std::to_string(count), "_bucket");
        }
        sample(labels, seconds(totals.sum), "_sum");
        sample(labels, std::to_string(count), "_count");
    }

    std::string take() { return std::move(out_); }

private:
    const char* name_ = "";
    std::string out_;
};

void append_requests(Text& text, const Totals& totals)
{
    text.metric(
        "requests_total", "counter",
        "Requests to locations of the service, by operation and HTTP status.");
    for (std::size_t i = 0; i < index_of(RequestKind::count); ++i) {
        for (std::size_t j = 0; j <= kStatuses.size(); ++j) {
            if (totals.requests[i][j] != 0) {
                text.sample(
                    {{"operation", to_string(static_cast<RequestKind>(i))},
                     {"status", status_text(j)}},
                    totals.requests[i][j]);
            }
        }
    }
    text.metric(
        "request_duration_seconds", "histogram",
        "Time from a request's first byte to its last answer byte, in steps of a millisecond.");
    text.histogram(totals.request_duration);
}

void append_routes(Text& text, const Totals& totals)
{
    text.metric(
        "guarded_requests_total", "counter",
        "Requests to guarded locations with a route, by route and HTTP status.");
    for (const RouteTotals& route : totals.routes) {
        for (std::size_t i = 0; i < route.requests.size(); ++i) {
            if (route.requests[i] != 0) {
                text.sample({{"route", route.name}, {"status", status_text(i)}},
                            route.requests[i]);
            }
        }
    }
    text.metric("guarded_request_duration_seconds", "histogram",
                "The same as request_duration_seconds, by route.");
    for (const RouteTotals& route : totals.routes) {
        text.histogram(route.duration, {{"route", route.name}});
    }
}

void append_decisions(Text& text, const Totals& totals)
{
    text.metric("decisions_total", "counter",
                "Requests by the limiter's verdict and the plan of their key.");
    for (const PlanTotals& plan : totals.plans) {
        for (std::size_t i = 0; i < plan.decisions.size(); ++i) {
            if (plan.decisions[i] != 0) {
                text.sample(
                    {{"verdict", label_of(static_cast<api::LimitStatus>(i))},
                     {"plan", plan.name}},
                    plan.decisions[i]);
            }
        }
    }
    text.metric("bans_total", "counter", "Bans that this host has caused.");
    text.sample({}, totals.bans);
}

void append_redis(Text& text, const Totals& totals)
{
    text.metric("redis_up", "gauge",
                "Whether all workers that use this Redis can reach it.");
    for (const RedisTotals& redis : totals.redis) {
        if (redis.used) {
            text.sample({{"redis", redis.name}}, redis.up ? 1 : 0);
        }
    }
    text.metric("redis_commands_total", "counter",
                "Commands to this Redis, also those that could not be sent.");
    for (const RedisTotals& redis : totals.redis) {
        text.sample({{"redis", redis.name}}, redis.commands);
    }
    text.metric("redis_failures_total", "counter",
                "Failures of this Redis, by reason.");
    for (const RedisTotals& redis : totals.redis) {
        for (std::size_t i = 0; i < redis.failures.size(); ++i) {
            text.sample({{"redis", redis.name},
                         {"reason", to_string(static_cast<FailureCause>(i))}},
                        redis.failures[i]);
        }
    }
    text.metric(
        "queue_rejections_total", "counter",
        "Requests and commands refused because too many wait for this Redis.");
    for (const RedisTotals& redis : totals.redis) {
        text.sample({{"redis", redis.name}}, redis.rejections);
    }
    text.metric("redis_duration_seconds", "histogram",
                "Time from a command's submission to its reply.");
    text.histogram(totals.redis_duration);
}

void append_lookups(Text& text, const char* cache, const LookupTotals& lookups)
{
    text.sample({{"cache", cache}, {"result", "hit"}}, lookups.hits);
    text.sample({{"cache", cache}, {"result", "miss"}}, lookups.misses);
}

}  // namespace

std::string prometheus_text(const Totals& totals)
{
    Text text;
    text.metric("build_info", "gauge", "The module's version, and nginx's.");
    text.sample({{"version", api::build_version()}, {"nginx", totals.nginx}},
                1);
    append_requests(text, totals);
    append_routes(text, totals);
    append_decisions(text, totals);
    append_redis(text, totals);
    text.metric("cache_requests_total", "counter",
                "Lookups in the workers' caches.");
    append_lookups(text, "key", totals.keys);
    append_lookups(text, "pet", totals.pets);
    append_lookups(text, "response", totals.responses);
    text.metric("outcome_unknown_total", "counter",
                "Creates whose reply from Redis was lost.");
    text.sample({}, totals.outcome_unknown);
    text.metric("damaged_data_total", "counter",
                "Reads that found damaged data in Redis.");
    text.sample({}, totals.damaged_data);
    return text.take();
}

}  // namespace petstore::metrics
