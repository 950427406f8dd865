#include "service/admin/admin_call.h"

#include <functional>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "admin_calls.h"
#include "api/text.h"
#include "key_world.h"
#include "service/admin/admin_operations.h"

using namespace petstore;
using api::ErrorCode;
using api::Operation;
using nlohmann::json;
using service::AdminCall;
using service::AdminResponse;

namespace {

struct Admin {
    KeyWorld world;
    FakeAlarm alarm;
    AlarmClock clock{alarm};
    service::AdminStore admin{world.schema, world.links(), clock,
                              service::Pauses(alarm),
                              service::ListSemaphore(alarm)};
    store::Operations running;
    Result<AdminResponse> result;

    void start(AdminCall made)
    {
        result = {};
        service::answer(std::move(made), admin, running, result);
    }

    // To its end.
    bool run(AdminCall made)
    {
        start(std::move(made));
        for (int pauses = 0; pauses < 100; ++pauses) {
            world.run();
            if (result.calls > 0) {
                break;
            }
            alarm.wait(service::Pauses::kMilliseconds);
        }
        REQUIRE(result.calls == 1);
        return !result.failed();
    }

    json body() const { return json::parse(result.value().body); }
    ErrorCode error() const { return result.failure().error.code; }

    std::vector<std::string> records(const std::string& prefix) const
    {
        std::vector<std::string> found;
        for (const auto& [name, fields] : world.hashes) {
            if (name.compare(0, prefix.size(), prefix) == 0
                && fields.count("deleted") == 0) {
                found.push_back(name);
            }
        }
        return found;
    }
};

json made_by(Admin& a, AdminCall wanted)
{
    REQUIRE(a.run(std::move(wanted)));
    CHECK(a.result.value().status == 201);
    return a.body();
}

// Exactly one key works, and the index leads to it. A record that no index
// leads to expires after a day.
void check_one_key(Admin& a)
{
    auto keys = a.records("P:key:");
    std::erase_if(keys, [&](const std::string& key) {
        return a.world.hashes[key].count("unfinished") != 0;
    });
    REQUIRE(keys.size() == 1);
    const auto& record = a.world.hashes[keys[0]];
    CHECK(record.at("disabled") == "0");
    CHECK(record.count("unfinished") == 0);
    CHECK(a.world.hashes["P:keys"]
          == KeyWorld::Hash{{record.at("id"), keys[0].substr(6)}});
    const auto& ids = a.world.sets["P:account-keys:" + record.at("account")];
    CHECK(ids == std::set<std::string>{record.at("id")});
}

}  // namespace

TEST_CASE("a key is created with a new account", "[admin]")
{
    Admin a;
    const json key = made_by(
        a, call(Operation::create_key, R"({"label":"L","plan":"pro"})"));
    check_one_key(a);
    CHECK(key["label"] == "L");
    CHECK(key["plan"] == "pro");
    CHECK(key["state"] == "usable");
    CHECK(key["key"].get<std::string>().substr(0, 2) == "P_");
    CHECK(a.result.value().location == "/keys/" + key["id"].get<std::string>());
    const auto& account =
        a.world.hashes["P:account:" + key["account"].get<std::string>()];
    CHECK(account.at("plan") == "pro");
    CHECK(account.at("label") == "L");
}

TEST_CASE("a repetition gets the first answer, without the secret", "[admin]")
{
    Admin a;
    const auto wanted = once(call(Operation::create_key, R"({"label":"L"})"));
    json first = made_by(a, wanted);
    CHECK(first.erase("key") == 1);
    CHECK(made_by(a, wanted) == first);
    CHECK(a.result.value().replayed);
    CHECK(a.result.value().location
          == "/keys/" + first["id"].get<std::string>());
    check_one_key(a);

    // Also if the key was changed or deleted since.
    const std::string id = first["id"];
    REQUIRE(a.run(call(Operation::delete_key, "", id)));
    CHECK(made_by(a, wanted) == first);

    // Another request.
    CHECK_FALSE(a.run(once(call(Operation::create_key, "{}"), "k1", "r2")));
    CHECK(a.error() == ErrorCode::idempotency_key_reused);
    // Of another account.
    auto others = wanted;
    others.caller_account_id = "other";
    CHECK(made_by(a, others)["id"] != id);
}

TEST_CASE("a request that is refused may be repeated", "[admin]")
{
    Admin a;
    const auto wanted =
        once(call(Operation::create_key, R"({"account":"missing"})"));
    CHECK_FALSE(a.run(wanted));
    CHECK(a.error() == ErrorCode::invalid_field);
    CHECK(a.world.strings.empty());
}

namespace {

// The id of an account with an external id and numbers of its own.
std::string made_with_own_numbers(Admin& a)
{
    return made_by(
        a,
        call(
            Operation::create_account,
            R"({"external_id":"old","plan":"free","per_minute":3,"per_day":9})"))
        ["id"];
}

// Asks for another external id, and for a plan that needs both numbers.
void check_change_is_refused(Admin& a, const std::string& id)
{
    CHECK_FALSE(
        a.run(call(Operation::update_account,
                   R"({"external_id":"new","plan":"enterprise"})", id)));
    CHECK(a.error() == ErrorCode::invalid_field);
}

}  // namespace

TEST_CASE("a refused change of an account leaves its external id", "[admin]")
{
    Admin a;
    const std::string id = made_with_own_numbers(a);
    auto& record = a.world.hashes["P:account:" + id];
    // Another change removes the number that this one needs.
    a.world.before = [&](const KeyWorld::Words& command) {
        if (command.size() > 1
            && command[1] == store::scripts().touch_account.sha1
            && record.erase("per_minute") == 1) {
            CHECK(record.at("external_id") == "new");
            record["epoch"] += "0";
        }
    };
    check_change_is_refused(a, id);
    CHECK(record.at("external_id") == "old");
    CHECK(record.at("plan") == "free");
    auto found = call(Operation::list_accounts);
    found.query.external_id = "old";
    REQUIRE(a.run(found));
    CHECK(a.body().size() == 1);
}

TEST_CASE("a refused change takes no external id from another account",
          "[admin]")
{
    Admin a;
    const std::string id = made_with_own_numbers(a);
    const std::string other =
        made_by(a, call(Operation::create_account, "{}"))["id"];
    auto& record = a.world.hashes["P:account:" + id];
    auto& others = a.world.hashes["P:account:" + other];
    const std::string claim = a.world.schema.external_id("old");
    a.world.before = [&](const KeyWorld::Words& command) {
        if (command.size() > 1
            && command[1] == store::scripts().touch_account.sha1
            && record.erase("per_minute") == 1) {
            record["epoch"] += "0";
            others["external_id"] = "old";
            a.world.strings[claim] = other;
        }
    };
    check_change_is_refused(a, id);
    CHECK(record.at("external_id") == "new");
    CHECK(others.at("external_id") == "old");
    CHECK(a.world.strings[claim] == other);
}

TEST_CASE("a request that fails before any change has changed nothing",
          "[admin]")
{
    Admin a;
    a.world.before = [&](const KeyWorld::Words& command) {
        a.world.replies.clear();
        if (command.size() > 1 && command[1] == "P:hosts") {
            a.world.replies[command[0]] = "-NOPERM no\r\n";
        }
    };
    CHECK_FALSE(a.run(once(call(Operation::create_key, R"({"plan":"mine"})"))));
    CHECK(a.error() == ErrorCode::service_unavailable);
    CHECK(a.world.strings.size() == 1);  // its claim
}

TEST_CASE("a repetition that comes early waits for the first", "[admin]")
{
    Admin a;
    const auto wanted = once(call(Operation::create_account, "{}"));
    Result<AdminResponse> second;
    a.start(wanted);
    service::answer(wanted, a.admin, a.running, second);
    a.world.run();
    REQUIRE(a.result.calls == 1);
    CHECK(second.calls == 0);
    a.alarm.wait(service::Pauses::kMilliseconds);
    a.world.run();
    REQUIRE(second.calls == 1);
    CHECK(second.value().replayed);
    CHECK(second.value().body == a.result.value().body);
    CHECK(a.records("P:account:").size() == 1);
}

TEST_CASE("a damaged claim is refused", "[admin]")
{
    Admin a;
    const auto wanted = once(call(Operation::create_account, "{}"));
    a.world.strings[a.world.schema.admin_request("own-account",
                                                 wanted.once->key)] = "x";
    CHECK_FALSE(a.run(wanted));
    CHECK(a.error() == ErrorCode::internal_error);
    CHECK(a.result.refusal() == store::Refusal::damaged);
}

TEST_CASE("each lost reply of a create, and a repetition", "[admin]")
{
    int lost = 0;
    const auto operation = [&](Admin& a) {
        const bool done = a.run(once(call(Operation::create_key, "{}")));
        if (!done) {
            ++lost;
            CHECK((a.error() == ErrorCode::outcome_unknown
                   || a.error() == ErrorCode::service_unavailable));
        }
        return done;
    };
    at_each_command<Admin>(
        60, [](Admin&) {}, operation,
        [](Admin& a) {
            check_one_key(a);
            CHECK(a.records("P:account:").size() == 1);
            CHECK(a.result.value().status == 201);
            CHECK(a.result.value().replayed != a.body().contains("key"));
        });
    CHECK(lost > 20);
}

TEST_CASE("each lost reply of an import, and a repetition", "[admin]")
{
    const std::string body =
        R"({"sha256":")" + std::string(64, 'c') + R"(","label":"L"})";
    at_each_command<Admin>(
        60, [](Admin&) {},
        [&](Admin& a) {
            return a.run(once(call(Operation::create_key, body)));
        },
        [](Admin& a) {
            check_one_key(a);
            CHECK_FALSE(a.body().contains("key"));
        });
}

TEST_CASE("each lost reply of a new account, and a repetition", "[admin]")
{
    at_each_command<Admin>(
        60, [](Admin&) {},
        [&](Admin& a) {
            return a.run(once(call(Operation::create_account,
                                   R"({"external_id":"c1","label":"L"})")));
        },
        [](Admin& a) {
            const auto accounts = a.records("P:account:");
            REQUIRE(accounts.size() == 1);
            CHECK(a.world.hashes["P:accounts"].size() == 1);
            CHECK(a.world.strings[a.world.schema.external_id("c1")]
                  == accounts[0].substr(10));
        });
}

TEST_CASE("each lost reply of a rotation, and a repetition", "[admin]")
{
    struct Rotation : Admin {
        std::string old;
    };
    at_each_command<Rotation>(
        60,
        [](Rotation& a) {
            a.old = made_by(a, call(Operation::create_key, "{}"))["id"];
        },
        [](Rotation& a) {
            return a.run(
                once(call(Operation::rotate_key, R"({"grace":"1h"})", a.old)));
        },
        [](Rotation& a) {
            const std::string next = a.body()["id"];
            CHECK(next != a.old);
            CHECK(a.result.value().replayed != a.body().contains("key"));
            CHECK(a.records("P:key:").size() == 2);
            CHECK(a.world.hashes["P:keys"].size() == 2);
            REQUIRE(a.run(call(Operation::get_key, "", next)));
            CHECK(a.body()["state"] == "usable");
            REQUIRE(a.run(call(Operation::get_key, "", a.old)));
            CHECK_FALSE(a.body()["expires"].is_null());
        });
}

TEST_CASE("changes without an Idempotency-Key end when repeated", "[admin]")
{
    struct Changed : Admin {
        std::string key;
        std::string account;
    };
    const auto prepare = [](Changed& a) {
        const json made =
            made_by(a, call(Operation::create_key, R"({"label":"L"})"));
        a.key = made["id"];
        a.account = made["account"];
    };
    at_each_command<Changed>(
        40, prepare,
        [](Changed& a) {
            return a.run(call(Operation::update_account,
                              R"({"external_id":"c9","plan":"pro"})",
                              a.account));
        },
        [](Changed& a) {
            CHECK(a.body()["plan"] == "pro");
            CHECK(a.body()["external_id"] == "c9");
        });
    at_each_command<Changed>(
        40, prepare,
        [](Changed& a) {
            return a.run(
                call(Operation::update_key, R"({"disabled":true})", a.key));
        },
        [](Changed& a) { CHECK(a.body()["state"] == "disabled"); });
    at_each_command<Changed>(
        40, prepare,
        [](Changed& a) {
            return a.run(call(Operation::delete_key, "", a.key))
                   || (a.world.cut_at == 0
                       && a.error() == ErrorCode::not_found);
        },
        [](Changed& a) {
            CHECK(a.records("P:key:").empty());
            CHECK(a.world.hashes["P:keys"].empty());
        });
}

TEST_CASE("the key and the account of the request stay as they are", "[admin]")
{
    Admin a;
    for (const auto& wanted :
         {call(Operation::update_key, "{}", "own-key"),
          call(Operation::delete_key, "", "own-key"),
          call(Operation::update_account, "{}", "own-account"),
          call(Operation::delete_account, "", "own-account")}) {
        CHECK_FALSE(a.run(wanted));
        CHECK(a.error() == ErrorCode::own_key);
    }
    // Only the marker was read.
    CHECK(a.world.count("GET") == 4);
    CHECK(a.world.sent.size() == 4);
}

TEST_CASE("what does not exist", "[admin]")
{
    Admin a;
    for (const auto& wanted : {call(Operation::get_account, "", "a1"),
                               call(Operation::update_account, "{}", "a1"),
                               call(Operation::delete_account, "", "a1"),
                               call(Operation::unban_account, "", "a1"),
                               call(Operation::reset_account, "", "a1"),
                               call(Operation::get_account_usage, "", "a1"),
                               call(Operation::get_account_usage, "", "a b"),
                               call(Operation::get_key, "", "k1"),
                               call(Operation::update_key, "{}", "k1"),
                               call(Operation::delete_key, "", "k1"),
                               call(Operation::rotate_key, "", "k1"),
                               call(Operation::delete_plan, "", "p1"),
                               call(Operation::delete_plan, "", "P 1")}) {
        CAPTURE(static_cast<int>(wanted.operation));
        CHECK_FALSE(a.run(wanted));
        CHECK(a.error() == ErrorCode::not_found);
    }
}

TEST_CASE("a plan must be known, and enterprise needs numbers", "[admin]")
{
    Admin a;
    CHECK_FALSE(
        a.run(call(Operation::create_account, R"({"plan":"startup"})")));
    CHECK(a.error() == ErrorCode::invalid_field);
    REQUIRE(a.run(call(Operation::put_plan, R"({"per_minute":1,"per_day":2})",
                       "startup")));
    CHECK(made_by(a, call(Operation::create_account,
                          R"({"plan":"startup"})"))["plan"]
          == "startup");
    CHECK_FALSE(a.run(call(Operation::create_key, R"({"plan":"enterprise"})")));
    CHECK(a.error() == ErrorCode::invalid_field);
    CHECK(a.run(call(Operation::create_key,
                     R"({"plan":"enterprise","per_minute":1,"per_day":2})")));
    REQUIRE(a.run(call(Operation::put_plan, R"({"per_minute":1,"per_day":2})",
                       "enterprise")));
    CHECK(a.run(call(Operation::create_key, R"({"plan":"enterprise"})")));
}

TEST_CASE("what lacks the numbers of enterprise can be disabled", "[admin]")
{
    Admin a;
    const auto account =
        made_by(a, call(Operation::create_account,
                        R"({"plan":"enterprise","per_minute":1,"per_day":2})"));
    const auto key =
        made_by(a, call(Operation::create_key,
                        R"({"account":")" + account["id"].get<std::string>()
                            + R"("})"));
    a.world.hashes["P:account:" + account["id"].get<std::string>()].erase(
        "per_day");
    CHECK(a.run(call(Operation::update_account, R"({"disabled":true})",
                     account["id"])));
    CHECK(a.run(call(Operation::update_key, R"({"label":"left"})", key["id"])));
    CHECK_FALSE(a.run(
        call(Operation::update_account, R"({"per_minute":3})", account["id"])));
    CHECK_FALSE(
        a.run(call(Operation::update_key, R"({"plan":null})", key["id"])));
}

TEST_CASE("a PATCH keeps an account that came with a key", "[admin]")
{
    Admin a;
    const auto kept = made_by(a, call(Operation::create_key, "{}"));
    const auto other = made_by(a, call(Operation::create_key, "{}"));
    REQUIRE(a.run(call(Operation::update_account, R"({"disabled":true})",
                       kept["account"])));
    for (const auto& key : {kept, other}) {
        REQUIRE(a.run(call(Operation::delete_key, "", key["id"])));
    }
    CHECK(a.run(call(Operation::get_account, "", kept["account"])));
    CHECK_FALSE(a.run(call(Operation::get_account, "", other["account"])));
}

TEST_CASE("lists are walked by their links", "[admin]")
{
    Admin a;
    std::set<std::string> ids;
    for (int i = 0; i < 7; ++i) {
        ids.insert(made_by(a, call(Operation::create_key, "{}"))["id"]);
    }
    AdminCall wanted = call(Operation::list_keys);
    wanted.query.limit = 3;
    wanted.list = "/admin/keys";
    std::set<std::string> found;
    for (int pages = 1;; ++pages) {
        REQUIRE(a.run(wanted));
        for (const auto& key : a.body()) {
            CHECK(found.insert(key["id"]).second);
        }
        const std::string link = a.result.value().link;
        if (link.empty()) {
            CHECK(pages == 3);
            break;
        }
        CHECK(a.body().size() == 3);
        const auto start = link.find('?') + 1;
        wanted.query = std::get<api::AdminQuery>(api::parse_admin_query(
            Operation::list_keys, link.substr(start, link.find('>') - start)));
    }
    CHECK(found == ids);
}

TEST_CASE("a change that may have been made is not said to have failed",
          "[admin]")
{
    struct Changed : Admin {
        std::string key;
        std::string account;
    };
    const auto prepare = [](Changed& a) {
        const json made = made_by(a, call(Operation::create_key, "{}"));
        a.key = made["id"];
        a.account = made_by(
            a, call(Operation::create_account, R"({"label":"L"})"))["id"];
    };
    const std::function<AdminCall(const Changed&)> calls[] = {
        [](const Changed&) { return call(Operation::create_key, "{}"); },
        [](const Changed&) {
            return call(Operation::create_account, R"({"external_id":"c1"})");
        },
        [](const Changed& a) {
            return call(Operation::update_account,
                        R"({"external_id":"c1","plan":"pro"})", a.account);
        },
        [](const Changed& a) {
            return call(Operation::delete_account, "", a.account);
        },
        [](const Changed& a) { return call(Operation::delete_key, "", a.key); },
        [](const Changed& a) {
            return call(Operation::rotate_key, "{}", a.key);
        },
        [](const Changed&) { return once(call(Operation::create_key, "{}")); },
        [](const Changed& a) {
            return once(call(Operation::rotate_key, "{}", a.key));
        },
    };
    // But for the claim of an Idempotency-Key.
    const auto stored = [](const Changed& a) {
        auto strings = a.world.strings;
        strings.erase(
            a.world.schema.admin_request("own-account", api::sha256("k1")));
        return std::tuple(a.world.hashes, strings, a.world.sets);
    };
    for (const auto& make_call : calls) {
        at_each_command<Changed>(
            60, prepare,
            [&](Changed& a) {
                const auto before = stored(a);
                const bool done = a.run(make_call(a));
                const bool changed = before != stored(a);
                if (!done && a.world.was_cut() && changed) {
                    CAPTURE(a.world.sent.back());
                    CHECK(a.error() == ErrorCode::outcome_unknown);
                }
                return done || a.world.cut_at == 0;
            },
            [](const Changed&) {});
    }
}

namespace {

store::Task<> run_out_of_memory()
{
    throw std::bad_alloc();
    co_return;
}

store::Task<> be_refused()
{
    throw store::refused(store::Refusal::overtaken, ErrorCode::bad_request, "");
    co_return;
}

}  // namespace

TEST_CASE("what fails after a change leaves open whether it was made",
          "[admin]")
{
    InKeyWorld in;
    const auto failed = in.run(service::confirmed(run_out_of_memory()));
    CHECK(failed.failure().not_in_effect);
    CHECK(failed.failure().error.code == ErrorCode::service_unavailable);
    const auto refused = in.run(service::confirmed(be_refused()));
    CHECK_FALSE(refused.failure().not_in_effect);
}

TEST_CASE("a key that is created disabled never works", "[admin]")
{
    Admin a;
    bool worked = false;
    a.world.before = [&](const KeyWorld::Words&) {
        for (const auto& name : a.records("P:key:")) {
            worked |= a.world.hashes[name].at("disabled") == "0";
        }
    };
    const json key =
        made_by(a, call(Operation::create_key, R"({"disabled":true})"));
    CHECK(key["state"] == "disabled");
    CHECK_FALSE(worked);
}

TEST_CASE("a list is whole or fails", "[admin]")
{
    Admin a;
    const json first = made_by(a, call(Operation::create_key, "{}"));
    const json second = made_by(a, call(Operation::create_key, "{}"));
    SECTION("a server of a Cluster is away")
    {
        const std::string id = first["id"];
        a.world.away.insert("P:key:" + a.world.hashes["P:keys"].at(id));
        CHECK_FALSE(a.run(call(Operation::list_keys)));
        CHECK(a.error() == ErrorCode::service_unavailable);
    }
    SECTION("that of the hosts' plans is away")
    {
        a.world.away.insert("P:hosts");
        CHECK_FALSE(a.run(call(Operation::list_plans)));
        CHECK(a.error() == ErrorCode::service_unavailable);
        CHECK_FALSE(a.run(call(Operation::create_key, R"({"plan":"mine"})")));
        CHECK(a.error() == ErrorCode::service_unavailable);
    }
    SECTION("but for what is damaged")
    {
        const std::string account = first["account"];
        a.world.hashes["P:account:" + account]["plan"] = "No Plan";
        AdminCall wanted = call(Operation::list_keys);
        wanted.query.limit = 20;
        REQUIRE(a.run(wanted));
        REQUIRE(a.body().size() == 1);
        CHECK(a.body()[0]["id"] == second["id"]);
    }
}

TEST_CASE("a list with a filter reads a bounded part of the index", "[admin]")
{
    Admin a;
    constexpr int kAccounts = 1200;
    for (int i = 0; i < kAccounts; ++i) {
        const std::string id = "a" + std::to_string(10'000 + i);
        a.world.hashes["P:accounts"][id] = "1";
        a.world.hashes["P:account:" + id] = {
            {"id", id},
            {"created", "1"},
            {"epoch", "1"},
            {"plan", i % 500 == 250 ? "pro" : "free"}};
    }
    AdminCall wanted = call(Operation::list_accounts);
    wanted.query.limit = 1;
    wanted.query.plan = "pro";
    wanted.list = "/admin/accounts";
    std::vector<std::string> found;
    for (int pages = 1;; ++pages) {
        REQUIRE(pages < 10);
        a.world.sent.clear();
        REQUIRE(a.run(wanted));
        CHECK(a.world.count("HSCAN") <= 10);
        CHECK(a.body().size() <= 1);
        for (const auto& account : a.body()) {
            found.push_back(account["id"]);
        }
        const std::string link = a.result.value().link;
        if (link.empty()) {
            break;
        }
        const auto start = link.find('?') + 1;
        wanted.query = std::get<api::AdminQuery>(
            api::parse_admin_query(Operation::list_accounts,
                                   link.substr(start, link.find('>') - start)));
    }
    CHECK(found == std::vector<std::string>{"a10250", "a10750"});
}

TEST_CASE("a store that is moved, or is being moved here, is not changed",
          "[admin]")
{
    Admin a;
    made_by(a, call(Operation::create_account, R"({"label":"L"})"));
    const auto hashes = a.world.hashes;
    a.world.strings["P:limits-place"] =
        GENERATE("elsewhere-from id", "elsewhere-to id");
    const auto strings = a.world.strings;
    const AdminCall changes[] = {
        call(Operation::create_account, R"({"label":"L"})"),
        once(call(Operation::create_account, R"({"label":"L"})")),
        call(Operation::create_key, R"({"label":"L"})"),
        call(Operation::put_plan, R"({"per_minute":5,"per_day":9})", "gold"),
        call(Operation::delete_plan, "", "gold"),
        call(Operation::delete_account, "", "account000000001"),
        call(Operation::unban_account, "", "account000000001"),
    };
    for (const AdminCall& change : changes) {
        a.world.sent.clear();
        CHECK_FALSE(a.run(change));
        CHECK(a.error() == ErrorCode::service_unavailable);
        CHECK(a.world.sent.size() == 1);
    }
    CHECK(a.world.hashes == hashes);
    CHECK(a.world.strings == strings);
    CHECK(a.run(call(Operation::list_plans)));
}

TEST_CASE("a store whose limits are on another Redis is changed", "[admin]")
{
    Admin a;
    a.world.strings["P:limits-place"] = "elsewhere id";
    made_by(a, call(Operation::create_account, R"({"label":"L"})"));
}

TEST_CASE("a plan is checked as the record is when it is changed", "[admin]")
{
    Admin a;
    const bool of_key = GENERATE(false, true);
    const json made = made_by(
        a, call(of_key ? Operation::create_key : Operation::create_account,
                R"({"plan":"pro"})"));
    const std::string id = made["id"];
    const auto names = a.records(of_key ? "P:key:" : "P:account:");
    REQUIRE(names.size() == 1);
    auto& record = a.world.hashes[names[0]];
    record["per_minute"] = "5";
    record["per_day"] = "50";
    const bool lacks = GENERATE(true, false);
    bool raced = false;
    a.world.before = [&](const KeyWorld::Words& command) {
        if (!raced && command[0] == "EVALSHA"
            && command[1] == store::scripts().write_record.sha1) {
            raced = true;
            record["epoch"] = "9000";
            record["label"] = "theirs";
            if (lacks) {
                record.erase("per_day");
            }
        }
    };
    const bool changed =
        a.run(call(of_key ? Operation::update_key : Operation::update_account,
                   R"({"plan":"enterprise"})", id));
    CHECK(raced);
    CHECK(changed != lacks);
    if (lacks) {
        CHECK(a.error() == ErrorCode::invalid_field);
        CHECK((record.count("plan") == 0 || record.at("plan") == "pro"));
    } else {
        CHECK(record.at("plan") == "enterprise");
        CHECK(record.at("label") == "theirs");
    }
}

TEST_CASE("all pages of usage have the period of the first", "[admin]")
{
    Admin a;
    a.world.time = 1'796'083'190;  // ten seconds before 2026-12-01
    for (int i = 0; i < 3; ++i) {
        made_by(a, call(Operation::create_account, "{}"));
    }
    const std::string asked = GENERATE("", "from=2026-11-30");
    AdminCall list = call(Operation::list_usage);
    std::string query = "limit=1&" + asked;
    for (int page = 0; page < 3; ++page) {
        CAPTURE(page);
        list.query = std::get<api::AdminQuery>(
            api::parse_admin_query(Operation::list_usage, query));
        REQUIRE(a.run(list));
        const json usage = a.body();
        REQUIRE(usage.size() == 1);
        REQUIRE(usage[0]["days"].size() == 1);
        CHECK(usage[0]["days"][0]["date"] == "2026-11-30");
        const std::string link = a.result.value().link;
        CHECK(link.empty() == (page == 2));
        if (link.empty()) {
            break;
        }
        query = link.substr(link.find('?') + 1);
        query.resize(query.find('>'));
        a.world.time += 3600;
    }
}
