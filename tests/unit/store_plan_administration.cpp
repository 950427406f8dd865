#include "catch.h"

#include <string>

#include "key_world.h"
#include "store/plans/plan_administration.h"

using namespace petstore;
using api::Limits;
using store::PlanSource;
using store::Refusal;
using Words = KeyWorld::Words;

namespace {

struct PlanWorld : InKeyWorld {
    store::KnownPlans list()
    {
        const auto result = run(store::list_plans(world.links()));
        REQUIRE_FALSE(result.failed());
        return result.value();
    }
    Result<store::Done> set(const std::string& name, const Limits& limits)
    {
        return run(store::set_plan(world.links(), name, limits));
    }
    Result<store::Done> remove(const std::string& name)
    {
        return run(store::remove_plan(world.links(), name));
    }
    static std::string digest_of(const std::string& id)
    {
        return std::string(64, id.back());
    }
    // A host that published its plans some seconds ago.
    void publish(const std::string& name, const api::NamedLimits& of_host,
                 std::int64_t ago)
    {
        const store::Host host = {name, "/nginx.conf", "1.0"};
        world.hashes["P:hosts"][store::host_field(host)] =
            std::to_string(world.time - ago) + ' '
            + store::host_json(host, of_host);
    }
    KeyWorld::Hash& add_account(const std::string& plan)
    {
        world.hashes["P:accounts"]["a1"] = "1";
        auto& record = world.hashes["P:account:a1"];
        record = {{"id", "a1"}, {"created", "1"}, {"plan", plan}};
        return record;
    }
    // A key with this plan of its own.
    void add_key(const std::string& id, const std::string& plan)
    {
        const std::string digest = digest_of(id);
        world.hashes["P:keys"][id] = digest;
        world.hashes["P:key:" + digest] = {
            {"id", id}, {"account", "a1"}, {"plan", plan}, {"epoch", "1"}};
    }
};

}  // namespace

TEST_CASE("plans are listed from all sources", "[store]")
{
    PlanWorld f;
    f.world.hashes["P:plans"] = {{"gold", "1 2"}, {"tin", "x"}};
    f.publish("web1", {{"pro", {3, 4}}}, 180);
    f.publish("web2", {{"old", {5, 6}}}, 181);
    f.world.hashes["P:hosts"]["junk"] = "junk";
    const auto plans = f.list();
    CHECK(plans.plans().at("gold").source == PlanSource::redis);
    CHECK(plans.plans().at("pro").limits == Limits{3, 4});
    CHECK(plans.plans().count("old") == 0);
    CHECK(plans.plans().count("tin") == 0);
    CHECK(plans.stored().damaged == Words{"tin"});
    CHECK(plans.hosts().size() == 1);
}

TEST_CASE("plans of a damaged Redis key are listed as such", "[store]")
{
    PlanWorld f;
    f.world.replies["HSCAN"] = "-WRONGTYPE x\r\n";
    const auto plans = f.list();
    CHECK(plans.stored().all_damaged);
    CHECK(plans.hosts().empty());
    CHECK(plans.plans().count("pro") == 1);
}

TEST_CASE("a plan is set by one command", "[store]")
{
    PlanWorld f;
    f.world.replies["EVALSHA"] = integer(1);
    CHECK_FALSE(f.set("gold", {1, 2, 3}).failed());
    REQUIRE(f.world.sent.size() == 1);
    const auto& call = f.world.sent[0];
    CHECK(Words(call.begin() + 2, call.end())
          == Words{"1", "P:plans", "gold", "1 2 3", "1000"});

    f.world.replies["EVALSHA"] = integer(0);
    CHECK(f.set("gold", {1, 2}).refusal() == Refusal::too_many_plans);
    f.world.replies["EVALSHA"] = "-NOPERM x\r\n";
    CHECK(f.set("gold", {1, 2}).failed());
}

TEST_CASE("a plan in use stays unless another source defines it", "[store]")
{
    PlanWorld f;
    f.world.hashes["P:plans"] = {{"gold", "1 2"}, {"tin", "x"}, {"pro", "1 2"}};
    f.add_key("k1", "gold");
    f.add_key("k2", "pro");
    f.world.hashes["P:plans"]["mine"] = "1 2";
    f.add_account("mine");
    CHECK(f.remove("mine").refusal() == Refusal::plan_in_use);
    f.world.hashes["P:account:a1"]["deleted"] = "5";
    CHECK_FALSE(f.remove("mine").failed());
    CHECK(f.remove("none").refusal() == Refusal::plan_not_found);
    CHECK(f.remove("gold").refusal() == Refusal::plan_in_use);
    CHECK(f.world.hashes["P:plans"].count("gold") == 1);
    CHECK_FALSE(f.remove("tin").failed());
    CHECK_FALSE(f.remove("pro").failed());  // built in

    f.publish("web1", {{"gold", {3, 4}}}, 5);
    CHECK_FALSE(f.remove("gold").failed());
    CHECK(f.world.hashes["P:plans"].empty());
}

TEST_CASE("a plan that gets a user while it is removed stays", "[store]")
{
    const bool account = GENERATE(false, true);
    int stayed = 0;
    for (int at = 1;; ++at) {
        CAPTURE(account, at);
        REQUIRE(at < 40);
        PlanWorld f;
        f.world.hashes["P:plans"] = {{"gold", "1 2"}};
        bool has_plan = false;
        f.world.before = [&](const Words&) {
            // Its giver has seen the plan shortly before.
            if (f.world.number != at) {
                return;
            }
            has_plan = f.world.hashes["P:plans"].count("gold") != 0;
            if (has_plan && account) {
                f.add_account("gold");
            } else if (has_plan) {
                f.add_key("k1", "gold");
            }
        };
        const auto removed = f.remove("gold");
        if (!has_plan) {
            CHECK_FALSE(removed.failed());
            break;
        }
        ++stayed;
        CHECK(removed.refusal() == Refusal::plan_in_use);
        CHECK(f.world.hashes["P:plans"].at("gold") == "1 2");
    }
    CHECK(stayed > 3);
}

TEST_CASE("a plan that is set while it is removed keeps its new limits",
          "[store]")
{
    int stayed = 0;
    for (int at = 2; at < 20; ++at) {
        CAPTURE(at);
        PlanWorld f;
        f.world.hashes["P:plans"] = {{"gold", "1 2"}};
        f.world.before = [&](const Words&) {
            if (f.world.number == at) {
                f.world.hashes["P:plans"]["gold"] = "3 4";
                f.add_key("k1", "gold");
            }
        };
        const auto removed = f.remove("gold");
        if (f.world.number < at) {
            break;
        }
        if (removed.failed()) {
            ++stayed;
            CHECK(removed.refusal() == Refusal::plan_in_use);
        }
        CHECK(f.world.hashes["P:plans"].at("gold") == "3 4");
    }
    CHECK(stayed > 3);
}

TEST_CASE("a plan's use is found although the server of an index changes",
          "[store]")
{
    PlanWorld f;
    f.world.hashes["P:plans"]["gold"] = "1 2";
    std::string index;
    SECTION("by a key")
    {
        f.add_key("k1", "gold");
        index = "P:keys";
    }
    SECTION("by an account")
    {
        f.add_account("gold");
        index = "P:accounts";
    }
    f.world.replace_server_of(index);
    CHECK(f.remove("gold").refusal() == Refusal::plan_in_use);
    CHECK(f.world.hashes["P:plans"].count("gold") == 1);
}

TEST_CASE("enterprise stays for those that lack a number of their own",
          "[store]")
{
    PlanWorld f;
    f.world.hashes["P:plans"] = {{"enterprise", "1000 20000"}};
    f.add_key("k1", "enterprise");
    auto& key = f.world.hashes["P:key:" + PlanWorld::digest_of("k1")];
    auto& account = f.add_account("enterprise");
    CHECK(f.remove("enterprise").refusal() == Refusal::plan_in_use);
    account.insert({{"per_minute", "5"}, {"per_day", "50"}});
    CHECK(f.remove("enterprise").refusal() == Refusal::plan_in_use);
    key["per_minute"] = "5";
    CHECK(f.remove("enterprise").refusal() == Refusal::plan_in_use);
    key["per_day"] = "50";
    CHECK_FALSE(f.remove("enterprise").failed());

    f.world.hashes["P:plans"] = {{"enterprise", "1000 20000 300000"}};
    CHECK(f.remove("enterprise").refusal() == Refusal::plan_in_use);
    account["per_month"] = "500";
    CHECK(f.remove("enterprise").refusal() == Refusal::plan_in_use);
    key["per_month"] = "500";
    CHECK_FALSE(f.remove("enterprise").failed());

    f.world.hashes["P:plans"] = {{"enterprise", "1000 20000"}};
    key.erase("per_day");
    f.publish("web1", {{"enterprise", {3, 4}}}, 5);
    CHECK_FALSE(f.remove("enterprise").failed());
}
