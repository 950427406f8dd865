// The metrics without nginx: slots, their sums, and their output.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <openssl/evp.h>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "api/digest.h"
#include "catch.h"
#include "metrics/busy_accounts.h"
#include "metrics/formats.h"
#include "metrics/slot.h"

using namespace petstore::metrics;
namespace api = petstore::api;

namespace {

constexpr std::int64_t kDead = 666;

bool is_alive(std::int64_t process) noexcept
{
    return process != kDead;
}

// Laid out as in the module, with two workers.
struct Host {
    Host()
    {
        one->next = two.get();
        directory->slots = one.get();
        first.owner = 1;
        second.owner = 2;
        first.next = &second;
        directory->processes = &first;
    }

    Totals totals() const
    {
        Totals totals = totals_of(*directory, is_alive, now);
        if (directory->busy != nullptr) {
            add_busiest(directory->busy->read_all(now), totals);
        }
        return totals;
    }
    std::string text() const { return prometheus_text(totals()); }
    bool has_line(const std::string& line) const
    {
        return ("\n" + text()).find("\n" + line + "\n") != std::string::npos;
    }

    std::unique_ptr<Directory> directory = std::make_unique<Directory>();
    std::unique_ptr<Slot> one = std::make_unique<Slot>();
    std::unique_ptr<Slot> two = std::make_unique<Slot>();
    Process first;
    Process second;
    std::uint64_t now = 1'000'000;
};

bool is_about(double value, double expected)
{
    return std::abs(value - expected) < 1e-9;
}

void count(Slot& slot, RequestKind kind, std::uint32_t status)
{
    slot.requests[index_of(kind)][status_index(status)].add();
}

struct Described {
    std::string type;
    std::set<std::string> labels;

    bool operator==(const Described& other) const
    {
        return type == other.type && labels == other.labels;
    }
};
using Descriptions = std::map<std::string, Described>;

std::set<std::string> all_matches(const std::string& text,
                                  const std::string& pattern)
{
    const std::regex regex(pattern);
    std::set<std::string> found;
    for (std::sregex_iterator i(text.begin(), text.end(), regex), end; i != end;
         ++i) {
        found.insert((*i)[1]);
    }
    return found;
}

// The names, types and labels in a text in Prometheus's format.
Descriptions descriptions_in(const std::string& text)
{
    const std::regex type("# TYPE ([a-z_]+) ([a-z]+)");
    Descriptions metrics;
    Described* current = nullptr;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::smatch match;
        if (std::regex_match(line, match, type)) {
            current = &metrics[match[1]];
            current->type = match[2];
        } else if (line[0] != '#') {
            REQUIRE(current != nullptr);
            current->labels.merge(all_matches(line, "[{,]([a-z]+)=\""));
        }
    }
    for (auto& [name, metric] : metrics) {
        if (metric.type == "histogram") {
            CHECK(metric.labels.erase("le") == 1);
        }
    }
    return metrics;
}

// Those documented in the tables of docs/monitoring.md.
Descriptions documented()
{
    const std::regex row(
        "\\| `(petstore_[a-z_]+)` \\| ([a-z]+) \\| ([^|]*) \\|.*");
    Descriptions metrics;
    std::ifstream lines(DOCS "/monitoring.md");
    for (std::string line; std::getline(lines, line);) {
        std::smatch match;
        if (std::regex_match(line, match, row)) {
            metrics[match[1]] = {match[2], all_matches(match[3], "`([a-z]+)`")};
        }
    }
    return metrics;
}

}  // namespace

TEST_CASE("metrics: docs/monitoring.md lists them with their types and labels")
{
    Host host;
    count(*host.one, RequestKind::get_pet, 200);
    host.one->decisions[PlanNames::kNone][index_of(api::LimitStatus::denied)]
        .add();
    host.directory->redis.add("redis://a:6379/0");
    host.first.redis[0].all.add();
    const auto routes = std::make_unique<Routes>();
    host.directory->routes = routes.get();
    routes->requests[routes->names.add("orders")][0].add();

    const Descriptions exposed = descriptions_in(host.text());
    const Descriptions listed = documented();
    for (const auto& [name, metric] : exposed) {
        INFO(name);
        REQUIRE(listed.count(name) == 1);
        CHECK(listed.at(name) == metric);
    }
    CHECK(listed.size() == exposed.size());
}

TEST_CASE("metrics: docs/monitoring.md explains the values of labels")
{
    std::ifstream file(DOCS "/monitoring.md");
    std::stringstream docs;
    docs << file.rdbuf();
    const auto check = [&docs](std::string_view value) {
        INFO(value);
        CHECK(docs.str().find("`" + std::string(value) + "`")
              != std::string::npos);
    };
    for (std::size_t i = 0; i < index_of(RequestKind::count); ++i) {
        check(to_string(static_cast<RequestKind>(i)));
    }
    for (std::size_t i = 0; i < api::kLimitStatuses; ++i) {
        check(label_of(static_cast<api::LimitStatus>(i)));
    }
    for (std::size_t i = 0; i < index_of(FailureCause::count); ++i) {
        check(to_string(static_cast<FailureCause>(i)));
    }
}

TEST_CASE("metrics: the sums of all workers, dead ones included")
{
    Host host;
    count(*host.one, RequestKind::get_pet, 200);
    count(*host.two, RequestKind::get_pet, 200);
    count(*host.two, RequestKind::guard, 418);
    host.second.owner = kDead;
    CHECK(host.has_line(
        "petstore_requests_total{operation=\"getPet\",status=\"200\"} 2"));
    CHECK(host.has_line(
        "petstore_requests_total{operation=\"guard\",status=\"other\"} 1"));
    CHECK(host.totals().workers == 1);
}

TEST_CASE("metrics: each known status has a counter of its own")
{
    for (std::size_t i = 0; i < kStatuses.size(); ++i) {
        CHECK(status_index(kStatuses[i]) == i);
    }
    for (const std::uint32_t status : {0U, 100U, 299U, 599U, 70'000U}) {
        CHECK(status_index(status) == kStatuses.size());
    }
}

TEST_CASE("metrics: verdicts are those of $petstore_limit_status")
{
    for (std::size_t i = 0; i < api::kLimitStatuses; ++i) {
        const auto status = static_cast<api::LimitStatus>(i);
        std::string label(label_of(status));
        std::transform(label.begin(), label.end(), label.begin(), ::toupper);
        CHECK(label == to_string(status));
    }
    CHECK(to_string(api::LimitStatus::limited) == "LIMITED");
    CHECK(to_string(api::LimitStatus::banned_dry_run) == "BANNED_DRY_RUN");
    CHECK(to_string(api::LimitStatus::none).empty());
}

TEST_CASE("metrics: decisions by plan, the unknown one last")
{
    Host host;
    const auto pro = host.directory->plans.add("pro");
    CHECK(host.directory->plans.add("pro") == pro);
    host.one->decisions[pro][index_of(api::LimitStatus::limited)].add(3);
    host.two->decisions[PlanNames::kNone][index_of(api::LimitStatus::denied)]
        .add();
    CHECK(host.has_line(
        "petstore_decisions_total{verdict=\"limited\",plan=\"pro\"} 3"));
    CHECK(host.has_line(
        "petstore_decisions_total{verdict=\"denied\",plan=\"unknown\"} 1"));
}

TEST_CASE("metrics: names beyond the table share the last place")
{
    PlanNames names;
    for (std::size_t i = 0; i < kPlans; ++i) {
        CHECK(names.add("plan" + std::to_string(i)) == i);
    }
    CHECK(names.add("one too many") == PlanNames::kNone);
    CHECK(names.add("plan3") == 3);
    RedisNames long_names;
    CHECK(long_names.add(std::string(1000, 'x')) == 0);
    CHECK(long_names[0].size() == 255);
}

TEST_CASE("metrics: a Redis is up unless a live worker reports it down")
{
    Host host;
    const auto place = host.directory->redis.add("redis://a:6379/0");
    const std::string line = "petstore_redis_up{redis=\"redis://a:6379/0\"} ";
    CHECK(host.text().find(line) == std::string::npos);  // not in use

    auto& one = host.first.redis[place];
    auto& two = host.second.redis[place];
    one.all.add();
    two.all.add();
    CHECK(host.has_line(line + "1"));
    two.down.add();
    CHECK(host.has_line(line + "0"));
    host.second.owner = kDead;  // died before its breaker closed
    CHECK(host.has_line(line + "1"));
    host.second.owner = 2;
    two.down.subtract();
    CHECK(host.has_line(line + "1"));
}

TEST_CASE("metrics: names are printable ASCII in every format")
{
    RedisNames names;
    CHECK(names.add("unix:/a\xFF\n.sock") == 0);
    CHECK(names[0] == "unix:/a??.sock");
    CHECK(names.add("unix:/a\xFF\n.sock") == 0);
}

TEST_CASE("metrics: every reason of a failure is present from the start")
{
    Host host;
    const auto place = host.directory->redis.add("redis://a:6379/0");
    host.first.redis[place].all.add();
    host.one->redis[place].add(FailureCause::timeout);
    for (const char* const line :
         {"reason=\"timeout\"} 1", "reason=\"resolve\"} 0",
          "reason=\"other\"} 0"}) {
        CHECK(host.has_line(
            "petstore_redis_failures_total{redis=\"redis://a:6379/0\","
            + std::string(line)));
    }
}

TEST_CASE("metrics: a histogram counts up to and including its bounds")
{
    Host host;
    host.one->redis_duration.add(0);
    host.one->redis_duration.add(500);
    host.two->redis_duration.add(501);
    host.two->redis_duration.add(6'000'000);
    const std::string name = "petstore_redis_duration_seconds";
    CHECK(host.has_line(name + "_bucket{le=\"0.0005\"} 2"));
    CHECK(host.has_line(name + "_bucket{le=\"0.001\"} 3"));
    CHECK(host.has_line(name + "_bucket{le=\"5\"} 3"));
    CHECK(host.has_line(name + "_bucket{le=\"+Inf\"} 4"));
    CHECK(host.has_line(name + "_sum 6.001001"));
    CHECK(host.has_line(name + "_count 4"));
}

TEST_CASE("metrics: quantiles lie within their bucket")
{
    HistogramTotals totals;
    CHECK(totals.quantile(0.5) == 0);
    totals.buckets[2] = 100;  // 1 to 2.5 ms
    CHECK(is_about(totals.quantile(0.5), 0.00175));
    CHECK(is_about(totals.quantile(1), 0.0025));
    totals.buckets[kBuckets - 1] = 100;  // longer than the last bound
    CHECK(is_about(totals.quantile(0.99), 5));
}

TEST_CASE("metrics: rates are those of the last complete seconds")
{
    Host host;
    const auto now = static_cast<std::uint32_t>(host.now);
    const auto passed = index_of(api::LimitStatus::passed);
    host.one->recent.add(passed, now);  // second not complete
    for (int i = 0; i < 20; ++i) {
        host.one->recent.add(passed, now - 1);
        host.two->recent.add(passed, now - 10);
        host.two->recent.add(passed, now - 11);  // too old
    }
    CHECK(is_about(host.totals().rates[passed], 4));
    host.now += 3600;
    CHECK(is_about(host.totals().rates[passed], 0));
    // The slot of a second long ago is reused.
    host.one->recent.add(passed, now - 1 + 64);
    host.now = now + 64;
    CHECK(is_about(host.totals().rates[passed], 0.1));
}

TEST_CASE("metrics: denied accounts are shown until their time is over")
{
    Host host;
    const auto pro =
        static_cast<std::uint32_t>(host.directory->plans.add("pro"));
    host.one->denied.add("acme", pro, false, host.now + 30, host.now - 5);
    host.one->denied.add("acme", pro, false, host.now + 30, host.now - 4);
    host.two->denied.add("acme", pro, true, host.now + 300, host.now - 1);
    host.two->denied.add("over", pro, false, host.now, host.now - 9);
    const auto totals = host.totals();
    REQUIRE(totals.denied.size() == 1);
    const auto& denied = totals.denied[0];
    CHECK(denied.account.account() == "acme");
    CHECK(denied.plan == "pro");
    CHECK(denied.account.banned == 1);
    CHECK(denied.account.until == host.now + 300);
    CHECK(denied.account.denied == 3);
}

TEST_CASE("metrics: the table of denied accounts is bounded")
{
    Host host;
    for (int i = 0; i < 10'000; ++i) {
        host.one->denied.add("account" + std::to_string(i), 0, false,
                             host.now + 60, host.now);
    }
    const auto size = host.totals().denied.size();
    CHECK(size <= DeniedAccounts::kSize);
    CHECK(size >= DeniedAccounts::kSize / 2);
    const std::string name(500, 'n');
    host.two->denied.add(name, 0, false, host.now + 60, host.now + 1);
    CHECK(host.totals().denied[0].account.account() == name.substr(0, 63));
}

TEST_CASE("metrics: a new window counts its denied requests from zero")
{
    Host host;
    for (int i = 0; i < 5; ++i) {
        host.one->denied.add("acme", 0, false, host.now + 10, host.now);
    }
    host.one->denied.add("acme", 0, false, host.now + 70, host.now + 11);
    const auto totals = host.totals();
    REQUIRE(totals.denied.size() == 1);
    CHECK(totals.denied[0].account.denied == 1);
}

TEST_CASE("metrics: of a clock that was set back, no denied account stays")
{
    Host host;
    const std::uint64_t ahead = host.now + 7200;
    host.one->denied.add("acme", 0, false, ahead + 60, ahead);
    for (int i = 0; i < 1000; ++i) {
        host.one->denied.add("account" + std::to_string(i), 0, false,
                             ahead + 60, ahead);
    }
    CHECK(host.totals().denied.empty());
    host.one->denied.add("acme", 0, false, host.now + 60, host.now);
    host.one->denied.add("other", 0, false, host.now + 60, host.now);
    const auto totals = host.totals();
    REQUIRE(totals.denied.size() == 2);
    CHECK(totals.denied[0].account.denied == 1);
    CHECK(totals.denied[0].account.until == host.now + 60);
}

TEST_CASE("metrics: the busiest accounts, in requests of the last minute")
{
    Host host;
    const auto busy = std::make_unique<BusyAccounts>();
    host.directory->busy = busy.get();
    const auto pro =
        static_cast<std::uint32_t>(host.directory->plans.add("pro"));
    const std::uint64_t start = host.now / 60 * 60;
    const auto request = [&](std::string_view account, std::uint64_t time) {
        if (busy->count(account, pro, time) != BusyAccounts::Counted::yes) {
            busy->add(account, account == "acme" ? "cust_42" : "", pro, time);
        }
    };
    for (int i = 0; i < 60; ++i) {
        request("acme", start);
    }
    request("quiet", start);
    host.now = start;
    CHECK(host.totals().busiest.size() == 2);
    // In the next minute, the last one counts less and less.
    for (int i = 0; i < 5; ++i) {
        request("acme", start + 75);
    }
    host.now = start + 75;
    auto busiest = host.totals().busiest;
    REQUIRE(busiest.size() == 2);
    CHECK(std::string_view(busiest[0].account.id) == "acme");
    CHECK(std::string_view(busiest[0].account.external_id) == "cust_42");
    CHECK(busiest[0].plan == "pro");
    CHECK(is_about(busiest[0].account.per_minute, 60 * 0.75 + 5));
    CHECK(is_about(busiest[1].account.per_minute, 0.75));
    const auto json = nlohmann::json::parse(status_json(host.totals()));
    CHECK(json["busiest_accounts"][0]
          == nlohmann::json{{"account", "acme"},
                            {"external_id", "cust_42"},
                            {"label", nullptr},
                            {"plan", "pro"},
                            {"per_minute", 50}});
    CHECK(json["busiest_accounts"][1]["external_id"] == nullptr);
    CHECK(status_page(host.totals()).find("cust_42") != std::string::npos);

    host.now = start + 179;
    busiest = host.totals().busiest;
    REQUIRE(busiest.size() == 1);
    CHECK(is_about(busiest[0].account.per_minute, 5 / 60.0));
    host.now = start + 180;
    CHECK(host.totals().busiest.empty());
}

TEST_CASE("metrics: labels of busy accounts are read once a minute")
{
    Host host;
    const auto busy = std::make_unique<BusyAccounts>();
    host.directory->busy = busy.get();
    const auto wanted = [&] {
        std::string ids;
        petstore::metrics::BusyAccount account;
        for (std::size_t i = 0; i < BusyAccounts::kSize; ++i) {
            if (busy->wants_names(i, host.now, account)) {
                ids.append(account.id).append(" ");
            }
        }
        return ids;
    };
    const auto label = [&] {
        return std::string(host.totals().busiest.at(0).account.label);
    };
    CHECK(wanted().empty());
    busy->add("acme", "", 0, host.now);
    CHECK(label().empty());
    CHECK(wanted() == "acme ");
    CHECK(wanted().empty());
    busy->set_names("acme", "", "Acme Ltd <1>");
    busy->set_names("unknown", "", "x");
    CHECK(label() == "Acme Ltd <1>");
    CHECK(nlohmann::json::parse(
              status_json(host.totals()))["busiest_accounts"][0]["label"]
          == "Acme Ltd <1>");
    CHECK(status_page(host.totals()).find("Acme Ltd &lt;1&gt;")
          != std::string::npos);

    // Counted again, and renamed.
    host.now += 60;
    CHECK(busy->count("acme", 0, host.now) == BusyAccounts::Counted::yes);
    CHECK(wanted() == "acme ");
    busy->set_names("acme", "", "");
    CHECK(label().empty());

    // Any bytes; whole characters.
    busy->set_names("acme", "", "a\n\xff\xc3\xa9");
    CHECK(label() == "a??\xc3\xa9");
    busy->set_names("acme", "", std::string(126, 'x') + "\xc3\xa9y");
    CHECK(label() == std::string(126, 'x'));
    busy->set_names("acme", "", std::string(255, 'x'));
    CHECK(label() == std::string(127, 'x'));

    // Another account in its place has none.
    for (int i = 0; i < 10'000; ++i) {
        busy->add("account" + std::to_string(i), "", 0, host.now + 300);
    }
    host.now += 300;
    CHECK(label().empty());
}

TEST_CASE("metrics: busy accounts stay in a bounded table")
{
    Host host;
    const auto busy = std::make_unique<BusyAccounts>();
    host.directory->busy = busy.get();
    using Counted = BusyAccounts::Counted;
    CHECK(busy->count("acme", 0, host.now) == Counted::no_but_there_is_room);
    busy->add("acme", "", 0, host.now);
    for (int i = 0; i < 1000; ++i) {
        CHECK(busy->count("acme", 0, host.now) == Counted::yes);
    }
    // Others cannot displace it, but one of them another.
    int full = 0;
    for (int i = 0; i < 10'000; ++i) {
        const auto name = "account" + std::to_string(i);
        full += busy->count(name, 0, host.now) == Counted::no ? 1 : 0;
        busy->add(name, "", 0, host.now);
        CHECK(busy->count(name, 0, host.now) == Counted::yes);
    }
    CHECK(full > 9'000);
    const auto busiest = host.totals().busiest;
    CHECK(busiest.size() == 10);
    CHECK(std::string_view(busiest[0].account.id) == "acme");
    CHECK(is_about(busiest[0].account.per_minute, 1001));
    // The longest id and external id are kept whole.
    const std::string id(64, 'i');
    const std::string external(128, 'x');
    busy->add(id, external, 0, host.now);
    for (int i = 0; i < 5000; ++i) {
        busy->count(id, 0, host.now);
    }
    const auto first = host.totals().busiest[0].account;
    CHECK(first.id == id);
    CHECK(first.external_id == external);
}

TEST_CASE("metrics: labels and the page escape what they show")
{
    Host host;
    host.directory->redis.add("a\"b\\c<script>");
    host.first.redis[0].all.add();
    CHECK(host.has_line(R"(petstore_redis_up{redis="a\"b\\c<script>"} 1)"));
    host.one->denied.add("<b>&\"", 0, false, host.now + 60, host.now);
    const auto page = status_page(host.totals());
    CHECK(page.find("&lt;b&gt;&amp;&quot;") != std::string::npos);
    CHECK(page.find("c&lt;script&gt;") != std::string::npos);
    CHECK(page.find("<b>") == std::string::npos);
}

TEST_CASE("metrics: the page's policy allows its style and its script")
{
    const Host host;
    const auto page = status_page(host.totals());
    const std::string policy(status_page_policy());
    for (const std::string tag : {"style", "script"}) {
        const auto begin = page.find("<" + tag + ">") + tag.size() + 2;
        const auto end = page.find("</" + tag + ">", begin);
        REQUIRE(end != std::string::npos);
        const auto digest =
            petstore::api::sha256(page.substr(begin, end - begin));
        unsigned char text[45];
        EVP_EncodeBlock(text, digest.data(), static_cast<int>(digest.size()));
        const auto allowed =
            tag + "-src 'sha256-" + reinterpret_cast<const char*>(text) + "';";
        INFO(allowed);
        CHECK(policy.find(allowed) != std::string::npos);
    }
}

TEST_CASE("metrics: the JSON has the same numbers")
{
    Host host;
    const auto pro = host.directory->plans.add("pro");
    const auto place = host.directory->redis.add("redis://\xFF/0");
    host.first.redis[place].all.add();
    host.one->decisions[pro][index_of(api::LimitStatus::passed)].add(7);
    count(*host.one, RequestKind::list_pets, 200);
    host.one->caches.key.add(true);
    host.one->bans.add(2);
    const auto json = nlohmann::json::parse(status_json(host.totals()));
    CHECK(json["requests"]["listPets"]["200"] == 1);
    CHECK(json["decisions"]["passed"]["pro"] == 7);
    CHECK(json["caches"]["key"]["hit"] == 1);
    CHECK(json["bans"] == 2);
    CHECK(json["redis"][0]["up"] == true);
    CHECK(json["workers"] == 2);
}

TEST_CASE("metrics: the hosts of the store, while they count")
{
    Host host;
    auto& hosts = host.directory->hosts;
    const auto now = host.now;
    const auto shown = [&] {
        auto totals = host.totals();
        add_hosts(hosts, totals);
        return totals;
    };
    hosts.add("web2", "/b.conf", "2.0", now + 100, now);
    hosts.add("web1", "/b.conf", "2.0", now + 100, now);
    hosts.add("web1", "/a<b>\x1b.conf", "2.0", now + 1, now);
    hosts.add("web2", "/b.conf", "2.1", now + 180, now);
    const auto json = nlohmann::json::parse(status_json(shown()))["hosts"];
    REQUIRE(json.size() == 3);
    CHECK(json[0]
          == nlohmann::json{{"host", "web1"},
                            {"configuration", "/a<b>?.conf"},
                            {"version", "2.0"}});
    CHECK(json[2]["version"] == "2.1");
    CHECK(status_page(shown()).find("/a&lt;b&gt;?.conf") != std::string::npos);

    ++host.now;
    CHECK(shown().hosts.size() == 2);
    // Full: a new one replaces the one that is gone, others are left out.
    for (int i = 0; i < 40; ++i) {
        hosts.add("other" + std::to_string(i), std::string(200, 'x'), "2.0",
                  now + 180, host.now);
    }
    CHECK(shown().hosts.size() == StoreHosts::kSize);
    hosts.add("other0", std::string(200, 'x'), "2.2", now + 180, host.now);
    CHECK(std::string(shown().hosts[0].version) == "2.2");
    CHECK(std::string(shown().hosts[0].configuration)
          == std::string(sizeof(StoreHost::configuration) - 1, 'x'));

    host.now -= 600;  // the clock was set back
    CHECK(shown().hosts.empty());
    hosts.add("web9", "/b.conf", "2.0", host.now + 180, host.now);
    CHECK(shown().hosts.size() == 1);
}

TEST_CASE("metrics: guarded requests by route")
{
    Host host;
    CHECK(host.totals().routes.empty());
    const auto routes = std::make_unique<Routes>();
    host.directory->routes = routes.get();
    const auto place = routes->names.add("orders");
    routes->names.add("unused");
    routes->requests[place][status_index(200)].add(3);
    routes->requests[place][status_index(429)].add();
    routes->durations[place].add(1500);
    CHECK(host.has_line(
        R"(petstore_guarded_requests_total{route="orders",status="200"} 3)"));
    CHECK(host.has_line(
        R"(petstore_guarded_requests_total{route="orders",status="429"} 1)"));
    CHECK(host.has_line(
        R"(petstore_guarded_request_duration_seconds_bucket{route="orders",le="0.0025"} 1)"));
    CHECK(host.has_line(
        R"(petstore_guarded_request_duration_seconds_count{route="unused"} 0)"));
    CHECK(host.text().find("other") == std::string::npos);

    routes->requests[Routes::kSize][status_index(502)].add();
    routes->durations[Routes::kSize].add(1);
    const auto json =
        nlohmann::json::parse(status_json(host.totals()))["routes"];
    CHECK(json["orders"]["requests"] == nlohmann::json{{"200", 3}, {"429", 1}});
    CHECK(json["other"]["requests"]["502"] == 1);
    CHECK(status_page(host.totals()).find("orders") != std::string::npos);

    // A location may have that name, too.
    const auto other = routes->names.add("other");
    routes->requests[other][status_index(502)].add(4);
    CHECK(host.has_line(
        R"(petstore_guarded_requests_total{route="other",status="502"} 5)"));
    CHECK(host.totals().routes.size() == 3);
}
