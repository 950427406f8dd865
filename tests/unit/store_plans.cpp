#include "catch.h"

#include <string>
#include <utility>
#include <vector>

#include "fake_link.h"
#include "store/plans/plan_listing.h"

using namespace petstore;
using api::Limits;
using store::PlanSource;

namespace {

std::string plans_reply(const std::vector<std::string>& texts,
                        const std::string& cursor = "0")
{
    std::vector<std::string> items;
    for (const std::string& text : texts) {
        items.push_back(bulk(text));
    }
    return array({bulk(cursor), array(items)});
}

store::StoredPlans parsed(const std::string& reply)
{
    Replies replies;
    return store::PlanCommands::parse(replies(reply));
}

store::HostPlans host(const std::string& name, api::NamedLimits plans,
                      const std::string& configuration = "/nginx.conf")
{
    store::HostPlans host;
    host.name = name;
    host.configuration = configuration;
    host.version = "1.0";
    host.plans = std::move(plans);
    return host;
}

store::StoredPlans stored(api::NamedLimits plans)
{
    store::StoredPlans stored;
    stored.plans = std::move(plans);
    return stored;
}

}  // namespace

TEST_CASE("a plan in Redis is two or three numbers", "[store]")
{
    CHECK(store::parse_limits("10 100") == Limits{10, 100, 0});
    CHECK(store::parse_limits("10 100 1000") == Limits{10, 100, 1000});
    CHECK(store::parse_limits("1000000000000 1") == Limits{api::kMaxLimit, 1});
    // What a later version may write.
    CHECK(store::parse_limits("10 100 0 7") == Limits{10, 100, 0});
    CHECK(store::parse_limits("10 100 1000 x") == Limits{10, 100, 1000});

    for (const char* text : {"",
                             " ",
                             "10",
                             "10 ",
                             "10  100",
                             " 10 100",
                             "0 100",
                             "10 0",
                             "-1 100",
                             "10 -1",
                             "10 100 -1",
                             "+10 100",
                             "010 100",
                             "1e3 100",
                             "10 100 x",
                             "10,100",
                             "10 1000000000001",
                             "1000000000001 10",
                             "10 100 1000000000001",
                             "10\t100",
                             "99999999999999999999 1"}) {
        CAPTURE(text);
        CHECK_FALSE(store::parse_limits(text));
    }
}

TEST_CASE("what is written as a plan is read as the same plan", "[store]")
{
    for (const Limits& limits : {Limits{1, 1}, Limits{60, 1000, 30'000},
                                 Limits{api::kMaxLimit, api::kMaxLimit}}) {
        CHECK(store::parse_limits(store::limits_text(limits)) == limits);
    }
    CHECK(store::limits_text({60, 1000}) == "60 1000");
}

TEST_CASE("plans in Redis are read with one bounded command", "[store]")
{
    const store::Schema schema("P");
    CHECK(words(store::PlanCommands(schema).read())
          == FakeLink::Words{"HSCAN", "P:plans", "0", "COUNT", "1024"});

    const auto none = parsed(plans_reply({}));
    CHECK(none.plans.empty());
    CHECK_FALSE(none.is_damaged());

    const auto two = parsed(plans_reply({"gold", "10 100", "pro", "1 2 3"}));
    CHECK(two.plans
          == api::NamedLimits{{"gold", {10, 100}}, {"pro", {1, 2, 3}}});
    CHECK_FALSE(two.is_damaged());
}

TEST_CASE("a damaged plan does not count, others do", "[store]")
{
    const auto plans = parsed(plans_reply(
        {"gold", "10 100", "tin", "many", "Gold\x1b[2J", "1 2", "", "1 2"}));
    CHECK(plans.plans == api::NamedLimits{{"gold", {10, 100}}});
    CHECK(plans.damaged == std::vector<std::string>{"tin", "Gold\x1b[2J", ""});
    CHECK_FALSE(plans.all_damaged);
    CHECK(plans.is_damaged());
}

TEST_CASE("no plan counts if there are too many or the key is none of ours",
          "[store]")
{
    std::vector<std::string> most;
    for (int i = 0; i < 1010; ++i) {
        most.push_back("p" + std::to_string(i));
        most.emplace_back("10 100");
    }
    CHECK(parsed(plans_reply(most)).plans.size() == 1010);
    auto more = most;
    more.insert(more.end(), {"gold", "10 100"});
    for (const std::string& reply :
         {plans_reply(more), plans_reply(most, "17"), plans_reply({"gold"}),
          bulk("x"), array({}), kNil, std::string("-WRONGTYPE x\r\n")}) {
        const auto plans = parsed(reply);
        CHECK(plans.all_damaged);
        CHECK(plans.plans.empty());
    }
}

TEST_CASE("what a host publishes is read as it was", "[store]")
{
    const store::Host web = {"web1", "/etc/nginx/ng\"inx\n.conf", "1.2+a"};
    const api::NamedLimits plans = {{"gold", {10, 100}}, {"pro", {1, 2, 3}}};
    const std::string json = store::host_json(web, plans);
    CHECK(store::host_json({"a", "b", "c"}, plans)
          == R"({"host":"a","config":"b","version":"c","plans":)"
             R"(["gold 10 100","pro 1 2 3"]})");
    const auto read = store::parse_host("1764000000 " + json);
    REQUIRE(read);
    CHECK(read->name == web.name);
    CHECK(read->configuration == web.configuration);
    CHECK(read->version == web.version);
    CHECK(read->plans == plans);
    CHECK(read->published == 1'764'000'000);

    // A name that is not UTF-8 makes no invalid JSON.
    const auto odd =
        store::parse_host("1 " + store::host_json({"w\xff", "c", "v"}, {}));
    REQUIRE(odd);
    CHECK(odd->name == "w_");

    CHECK(store::host_field(web).size() == 16);
    CHECK(store::host_field(web) != store::host_field({"web2", "/c", ""}));
}

TEST_CASE("a host that the module cannot have published is damaged", "[store]")
{
    const std::string good =
        R"({"host":"a","config":"b","version":"c","plans":["gold 10 100"]})";
    CHECK(store::parse_host("5 " + good));
    CHECK(store::parse_host(
        R"(5 {"host":"a","config":"b","version":"c","later":[{}],"plans":)"
        R"(["gold 10 100 0 later"]})"));
    for (
        const std::string& value :
        {std::string(),
         std::string("5"),
         std::string("5 "),
         good,
         "x " + good,
         "-1 " + good.substr(1),
         "99999999999999 " + good,
         std::string("5 []"),
         std::string("5 null"),
         "5 " + good + "x",
         std::string(R"(5 {"host":"a","config":"b","version":"c"})"),
         std::string(R"(5 {"host":1,"config":"b","version":"c","plans":[]})"),
         std::string(R"(5 {"host":"a","config":"b","version":"c","plans":{}})"),
         std::string(
             R"(5 {"host":"a","config":"b","version":"c","plans":["g 1"]})"),
         std::string(
             R"(5 {"host":"a","config":"b","version":"c","plans":["g 1.5 2"]})"),
         std::string(
             R"(5 {"host":"a","config":"b","version":"c","plans":["g 1 2",{"x":1}]})"),
         std::string(
             R"(5 {"host":"a","config":"b","version":"c","plans":["G! 1 2"]})"),
         std::string(
             R"(5 {"host":"a","config":"b","version":"c","plans":["g"]})"),
         std::string(
             R"(5 {"host":"a","config":"b","version":"c","plans":["g 1 2","g 1 2"]})"),
         "5 " + std::string(100'000, '[')}) {
        CAPTURE(value.substr(0, 100));
        CHECK_FALSE(store::parse_host(value));
    }
}

TEST_CASE("Redis wins over hosts, and hosts over what is built in", "[store]")
{
    struct Case {
        api::NamedLimits in_redis;
        api::NamedLimits on_host;
        std::string name;
        Limits limits;
        std::string source;
    };
    const std::vector<Case> cases = {
        {{}, {}, "pro", {300, 10'000}, "built-in"},
        {{}, {{"pro", {3, 4}}}, "pro", {3, 4}, "nginx.conf"},
        {{{"pro", {1, 2, 9}}}, {}, "pro", {1, 2, 9}, "redis"},
        {{{"pro", {1, 2}}}, {{"pro", {3, 4, 5}}}, "pro", {1, 2}, "redis"},
        {{}, {{"gold", {3, 4}}}, "gold", {3, 4}, "nginx.conf"},
        {{{"gold", {1, 2}}}, {{"pro", {3, 4}}}, "gold", {1, 2}, "redis"},
        {{}, {}, "enterprise", {}, "built-in"},
        {{{"enterprise", {5, 6}}}, {}, "enterprise", {5, 6}, "redis"},
    };
    for (const Case& one : cases) {
        CAPTURE(one.name, one.source);
        const store::KnownPlans plans(stored(one.in_redis),
                                      {host("web1", one.on_host)});
        const auto found = plans.plans().find(one.name);
        REQUIRE(found != plans.plans().end());
        CHECK(found->second.limits == one.limits);
        CHECK(to_string(found->second.source) == one.source);
        if (one.limits.minute != 0) {
            CHECK(plans.table().limits_of(one.name) == one.limits);
        }
        CHECK(plans.plans().count("free") == 1);
        CHECK(plans.plans().count("other") == 0);
    }
}

TEST_CASE("a plan that hosts define differently is the first host's", "[store]")
{
    const store::KnownPlans plans(
        {}, {host("web2", {{"gold", {2, 20}}, {"pro", {1, 1}}}),
             host("web1", {{"gold", {1, 10, 99}}, {"tin", {5, 5}}}),
             host("web3", {{"gold", {1, 10, 99}}, {"tin", {5, 5}}})});
    CHECK(plans.plans().at("gold").limits == Limits{1, 10, 99});
    CHECK(plans.hosts().front().name == "web1");
    CHECK(plans.differences()
          == std::vector<std::string>{
              "gold: 1 per minute, 10 per day, 99 per month on web1 "
              "(/nginx.conf); 2 per minute, 20 per day on web2 (/nginx.conf)",
              "pro: 1 per minute, 1 per day on web2 (/nginx.conf); 300 per "
              "minute, 10000 per day on web1 (/nginx.conf)",
              "tin: 5 per minute, 5 per day on web1 (/nginx.conf); not defined "
              "on web2 (/nginx.conf)"});
    CHECK(plans.overridden().empty());
    CHECK(store::KnownPlans({}, {host("web1", {{"gold", {1, 2}}}),
                                 host("web2", {{"gold", {1, 2}}})})
              .differences()
              .empty());
}

TEST_CASE("plans of hosts that Redis overrides are reported as such", "[store]")
{
    const store::KnownPlans plans(
        stored({{"gold", {9, 90}}, {"tin", {1, 2}}}),
        {host("web1", {{"gold", {1, 10}}, {"tin", {1, 2}}}),
         host("web2", {{"gold", {2, 20}}})});
    CHECK(plans.differences().empty());
    CHECK(plans.overridden()
          == std::vector<std::string>{
              "gold: 9 per minute, 90 per day instead of 1 per minute, 10 per "
              "day on web1 (/nginx.conf)",
              "gold: 9 per minute, 90 per day instead of 2 per minute, 20 per "
              "day on web2 (/nginx.conf)"});
}

TEST_CASE("only Redis defines what neither a host nor the module does",
          "[store]")
{
    const store::KnownPlans plans(stored({{"gold", {9, 90}}, {"tin", {1, 2}}}),
                                  {host("web1", {{"tin", {1, 2}}})});
    CHECK_FALSE(plans.defined_without_redis("gold"));
    CHECK(plans.defined_without_redis("tin"));
    CHECK(plans.defined_without_redis("pro"));
    CHECK_FALSE(plans.defined_without_redis("enterprise"));
    CHECK_FALSE(plans.defined_without_redis("other"));
}
