// Two attempts of one request to the admin API, of which the first is slow but
// alive: the other takes its work over, at any of its commands, and the first
// goes on at any command of the other.
#include <algorithm>
#include <deque>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "held_hosts.h"

using namespace petstore;
using api::ErrorCode;
using api::Operation;
using nlohmann::json;
using service::AdminCall;
using service::AdminResponse;

namespace {

// An attempt answers with the object that remains, or does not know.
void check_answer(KeyWorld& world, const Result<AdminResponse>& result,
                  const std::string& id)
{
    if (result.failed()) {
        CHECK(result.failure().error.code == ErrorCode::outcome_unknown);
        return;
    }
    CHECK(result.value().status == 201);
    const json object = json::parse(result.value().body);
    CHECK(object["id"] == id);
    if (object.contains("key")) {
        CHECK(world.hashes["P:keys"][id]
              == api::to_hex(api::bytes_of(
                  api::sha256(object["key"].get<std::string>()))));
    }
}

// `call` makes the request, `check` examines the object that it has made.
template <typename Call, typename Check>
void at_each_pair_of_commands(const Call& make_call, const Check& check)
{
    constexpr int kMost = 200;
    int pairs = 0;
    int unanswered = 0;
    for (int first = 1;; ++first) {
        REQUIRE(first < kMost);
        for (int second = 1;; ++second) {
            REQUIRE(second < kMost);
            CAPTURE(first, second);
            KeyWorld world;
            const AdminCall wanted = make_call(world);
            Host slow(world);
            Host other(world);
            slow.link.hold_at(first);
            slow.start(wanted);
            slow.run();
            if (!slow.link.is_held()) {
                CHECK(first > 10);
                CHECK(unanswered * 50 <= pairs);
                return;
            }
            other.link.hold_at(second);
            other.start(wanted);
            other.run();
            const bool was_held = other.link.is_held();
            slow.link.release();
            slow.run();
            other.link.release();
            other.run();

            const json object = ask(world, wanted);
            const std::string id = object["id"];
            check_answer(world, slow.result, id);
            check_answer(world, other.result, id);
            check(world, id);
            // In few moments, each gives way to the other.
            ++pairs;
            if (slow.result.failed() && other.result.failed()) {
                ++unanswered;
            } else {
                CHECK_FALSE(object.contains("key"));
            }
            if (!was_held) {
                break;
            }
        }
    }
}

}  // namespace

TEST_CASE("a slow attempt and another create one key", "[admin]")
{
    at_each_pair_of_commands(
        [](KeyWorld&) {
            return once(call(Operation::create_key,
                             R"({"label":"L","plan":"pro","expires":"30d"})"));
        },
        [](KeyWorld& world, const std::string& id) {
            CHECK(key_record(world, id).at("label") == "L");
            CHECK(records(world, "P:key:").size() == 1);
            CHECK(world.hashes["P:keys"].size() == 1);
            const auto accounts = records(world, "P:account:");
            REQUIRE(accounts.size() == 1);
            CHECK(accounts[0].at("plan") == "pro");
        });
}

TEST_CASE("a slow attempt and another create a key of an account", "[admin]")
{
    at_each_pair_of_commands(
        [](KeyWorld& world) {
            const json account =
                ask(world, call(Operation::create_account, "{}"));
            const std::string id = account["id"];
            return once(call(Operation::create_key,
                             "{\"account\":\"" + id + "\",\"plan\":\"pro\"}"));
        },
        [](KeyWorld& world, const std::string& id) {
            CHECK(key_record(world, id).at("plan") == "pro");
            CHECK(records(world, "P:key:").size() == 1);
            CHECK(world.hashes["P:keys"].size() == 1);
            CHECK(records(world, "P:account:").size() == 1);
        });
}

TEST_CASE("a slow attempt and another import one key", "[admin]")
{
    at_each_pair_of_commands(
        [](KeyWorld&) {
            return once(call(Operation::create_key,
                             R"({"sha256":")" + std::string(64, 'c') + "\"}"));
        },
        [](KeyWorld& world, const std::string& id) {
            key_record(world, id);
            CHECK(records(world, "P:key:").size() == 1);
            CHECK(world.hashes["P:keys"].size() == 1);
            CHECK(records(world, "P:account:").size() == 1);
        });
}

TEST_CASE("a slow attempt and another rotate a key once", "[admin]")
{
    std::string old;
    at_each_pair_of_commands(
        [&](KeyWorld& world) {
            old = ask(world, call(Operation::create_key, "{}"))["id"];
            return once(call(Operation::rotate_key, R"({"grace":"1h"})", old));
        },
        [&](KeyWorld& world, const std::string& id) {
            key_record(world, id);
            const auto record = key_record(world, old);
            CHECK(record.at("replaced_by") == id);
            CHECK(record.count("expires") == 1);
            CHECK(records(world, "P:key:").size() == 2);
            CHECK(world.hashes["P:keys"].size() == 2);
        });
}

TEST_CASE("attempts that are slow or lose replies make one key", "[admin]")
{
    std::mt19937 random(1);  // NOLINT(cert-msc32-c,cert-msc51-cpp)
    const auto below = [&](int limit) {
        return static_cast<int>(random() % static_cast<unsigned>(limit));
    };
    const std::string bodies[] = {R"({"label":"L","expires":"30d"})",
                                  R"({"sha256":")" + std::string(64, 'c')
                                      + R"(","expires":"30d"})"};
    for (int round = 0; round < 1500; ++round) {
        CAPTURE(round);
        KeyWorld world;
        const bool rotates = round % 3 == 0;
        std::string old;
        AdminCall wanted = once(call(Operation::create_key, bodies[round % 2]));
        if (rotates) {
            old = ask(world, call(Operation::create_key, "{}"))["id"];
            wanted = once(call(Operation::rotate_key, "{}", old));
        }
        std::deque<Host> hosts;
        for (int i = 0; i < 3; ++i) {
            hosts.emplace_back(world).link.hold_at(1 + below(45));
        }
        for (Host& host : hosts) {
            host.start(wanted);
            host.run();
        }
        world.cut(1 + below(60), KeyWorld::Lost(below(2)));
        while (std::any_of(hosts.begin(), hosts.end(), [](const Host& host) {
            return host.result.calls == 0;
        })) {
            Host& host = hosts[static_cast<std::size_t>(below(3))];
            if (host.result.calls == 0) {
                host.link.release(1 + below(20));
                host.run();
            }
        }
        world.cut(0, KeyWorld::Lost::before);
        const std::string id = ask(world, wanted)["id"];
        key_record(world, id);
        for (const Host& host : hosts) {
            if (!host.result.failed()) {
                check_answer(world, host.result, id);
            } else {
                CHECK(api::http_status(host.result.failure().error.code)
                      == 503);
            }
        }
        // What an attempt could not undo is unfinished.
        CHECK(records(world, "P:key:").size() == (rotates ? 2 : 1));
        if (rotates) {
            CHECK(key_record(world, old).at("replaced_by") == id);
        }
    }
}

TEST_CASE("a slow attempt and another create one account", "[admin]")
{
    at_each_pair_of_commands(
        [](KeyWorld&) {
            return once(
                call(Operation::create_account, R"({"external_id":"c1"})"));
        },
        [](KeyWorld& world, const std::string& id) {
            CHECK(records(world, "P:account:").size() == 1);
            CHECK(world.strings[world.schema.external_id("c1")] == id);
        });
}
