// Several requests to the admin API at once, of which each wants what only one
// can have. Each may be slow at any of its commands.
#include <algorithm>
#include <array>
#include <deque>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "held_hosts.h"

using namespace petstore;
using api::ErrorCode;
using api::Operation;
using nlohmann::json;
using service::AdminCall;

namespace {

using Calls = std::array<AdminCall, 3>;
using Hosts = std::deque<Host>;

// Whether it is held.
bool hold(Host& host, const AdminCall& made, int at)
{
    host.link.hold_at(at);
    host.start(made);
    host.run();
    return host.link.is_held();
}

// Whether it made what it wanted.
bool end(Host& host)
{
    if (host.result.calls == 0) {
        host.link.release();
        host.run();
    }
    return !host.result.failed() && host.result.value().status == 201;
}

int accepted(const Hosts& hosts)
{
    return static_cast<int>(
        std::count_if(hosts.begin(), hosts.end(), [](const Host& host) {
            return !host.result.failed() && host.result.value().status < 300;
        }));
}

// `prepare` makes three calls. `check` examines the hosts, of which the first
// one is held, and the others may be; it ends them. It also gets whether the
// first one has finished a key. All pairs of commands of two of the three, but
// of the triples, which take long, one in `step`.
template <typename Prepare, typename Check>
void at_triples_of_commands(int step, const Prepare& prepare,
                            const Check& check)
{
    const auto first_third = [&](int first, int second) {
        return 1 + (first + second) % step;
    };
    int first = 1;
    int second = 1;
    int third = first_third(first, second);
    while (first < 60) {
        CAPTURE(first, second, third);
        KeyWorld world;
        const Calls calls = prepare(world);
        Hosts hosts;
        for (int i = 0; i < 3; ++i) {
            hosts.emplace_back(world);
        }
        if (!hold(hosts[0], calls[0], first)) {
            break;
        }
        const bool finished = !records(world, "P:key:").empty();
        const bool second_is_held = hold(hosts[1], calls[1], second);
        const bool third_is_held = hold(hosts[2], calls[2], third);
        check(world, hosts, finished);
        if (third_is_held) {
            third += step;
            continue;
        }
        if (second_is_held) {
            ++second;
        } else {
            second = 1;
            ++first;
        }
        third = first_third(first, second);
    }
    CHECK((first > 5 && first < 60));
}

template <typename Prepare, typename Check>
void in_any_order(int rounds, const Prepare& prepare, const Check& check)
{
    std::mt19937 random(1);  // NOLINT(cert-msc32-c,cert-msc51-cpp)
    const auto below = [&](int limit) {
        return static_cast<int>(random() % static_cast<unsigned>(limit));
    };
    for (int round = 0; round < rounds; ++round) {
        CAPTURE(round);
        KeyWorld world;
        const Calls calls = prepare(world);
        Hosts hosts;
        for (const AdminCall& made : calls) {
            hosts.emplace_back(world);
            hold(hosts.back(), made, 1 + below(20));
        }
        const int most = 1 + below(12);
        while (std::any_of(hosts.begin(), hosts.end(), [](const Host& host) {
            return host.result.calls == 0;
        })) {
            Host& host = hosts[static_cast<std::size_t>(below(3))];
            if (host.result.calls == 0) {
                host.link.release(1 + below(most));
                host.run();
            }
        }
        check(world, hosts);
    }
}

void check_failures(const Hosts& hosts, const std::vector<ErrorCode>& may_be)
{
    for (const Host& host : hosts) {
        if (host.result.failed()) {
            const ErrorCode code = host.result.failure().error.code;
            CAPTURE(host.result.message());
            CHECK(std::count(may_be.begin(), may_be.end(), code) == 1);
        }
    }
}

// The ids of accounts that refer to something.
std::vector<std::string> accounts_with_keys(const KeyWorld& world)
{
    std::vector<std::string> found;
    const std::string prefix = "P:account-keys:";
    for (const auto& [name, ids] : world.sets) {
        if (name.starts_with(prefix) && !ids.empty()) {
            found.push_back(name.substr(prefix.size()));
        }
    }
    return found;
}

std::size_t key_records(const KeyWorld& world)
{
    return static_cast<std::size_t>(std::count_if(
        world.hashes.begin(), world.hashes.end(), [](const auto& entry) {
            return entry.first.starts_with("P:key:") && !entry.second.empty();
        }));
}

// One key exists, and nothing refers to another.
void check_only_key(KeyWorld& world)
{
    const auto keys = records(world, "P:key:");
    REQUIRE(keys.size() == 1);
    const std::string& id = keys[0].at("id");
    key_record(world, id);
    const std::string& account = keys[0].at("account");
    CHECK(world.hashes["P:account:" + account].count("deleted") == 0);
    CHECK(key_records(world) == 1);
    CHECK(world.hashes["P:keys"].size() == 1);
    CHECK(accounts_with_keys(world) == std::vector{account});
    CHECK(world.sets["P:account-keys:" + account].size() == 1);
}

AdminCall import_to(const std::string& member)
{
    return call(Operation::create_key,
                "{\"sha256\":\"" + std::string(64, 'c') + "\"" + member + "}");
}

Calls imports(KeyWorld& /*world*/)
{
    const AdminCall import = import_to("");
    return {import, import, import};
}

Calls imports_to_accounts(KeyWorld& world)
{
    Calls calls = {import_to(""), {}, {}};
    for (std::size_t i = 1; i < calls.size(); ++i) {
        const json account = ask(world, call(Operation::create_account, "{}"));
        calls[i] =
            import_to(",\"account\":" + std::string(account["id"].dump()));
    }
    return calls;
}

// The first two are attempts of one request.
Calls repeated_imports(KeyWorld& /*world*/)
{
    const AdminCall import = import_to("");
    return {once(import), once(import), once(import, "k2")};
}

// By the index, where a deleted one has a second time.
std::size_t existing_accounts(const KeyWorld& world)
{
    const auto& all = world.hashes.at("P:accounts");
    return static_cast<std::size_t>(
        std::count_if(all.begin(), all.end(), [](const auto& entry) {
            return entry.second.find(' ') == std::string::npos;
        }));
}

}  // namespace

TEST_CASE("two imports of a key take over what a third left", "[admin]")
{
    at_triples_of_commands(
        3, imports, [](KeyWorld& world, Hosts& hosts, bool finished) {
            const int others = end(hosts[1]) + end(hosts[2]);
            CHECK(others == (finished ? 0 : 1));
            const auto keys = records(world, "P:key:");
            REQUIRE(keys.size() == 1);
            key_record(world, keys[0].at("id"));
            const auto& account =
                world.hashes["P:account:" + keys[0].at("account")];
            CHECK(account.count("deleted") == 0);

            // It was only slow.
            CHECK(end(hosts[0]) == finished);
            check_failures(hosts, {ErrorCode::key_exists});
            check_only_key(world);
            CHECK(existing_accounts(world) == 1);
        });
}

TEST_CASE(
    "of imports of one key at once, one is accepted, and no key or account "
    "of the others remains",
    "[admin]")
{
    const bool to_accounts = GENERATE(false, true);
    const auto prepare = to_accounts ? imports_to_accounts : imports;
    const auto check = [&](KeyWorld& world, const Hosts& hosts) {
        CHECK(accepted(hosts) == 1);
        check_failures(hosts, {ErrorCode::key_exists});
        check_only_key(world);
        const auto made = existing_accounts(world);
        CHECK(made == records(world, "P:account:").size());
        CHECK(made <= (to_accounts ? 3 : 1));
    };
    in_any_order(1000, prepare, check);
}

TEST_CASE("repeated imports of one key leave one", "[admin]")
{
    in_any_order(
        3000, repeated_imports, [](KeyWorld& world, const Hosts& hosts) {
            check_failures(hosts,
                           {ErrorCode::key_exists, ErrorCode::outcome_unknown});
            Hosts again;
            for (const AdminCall& made : repeated_imports(world)) {
                again.emplace_back(world);
                again.back().start(made);
                again.back().run();
            }
            check_failures(again, {ErrorCode::key_exists});
            CHECK(accepted(again) >= 1);
            check_only_key(world);
        });
}

TEST_CASE("a rotation beside a deletion is not found, or its key works",
          "[admin]")
{
    std::string old;
    const bool two_rotations = GENERATE(false, true);
    const auto prepare = [&](KeyWorld& world) -> Calls {
        old = ask(world, call(Operation::create_key, "{}"))["id"];
        const AdminCall rotation = call(Operation::rotate_key, "{}", old);
        const AdminCall deletion = call(Operation::delete_key, "", old);
        return {deletion, rotation, two_rotations ? rotation : deletion};
    };
    int rotated = 0;
    int refused = 0;
    const auto check = [&](KeyWorld& world, const Hosts& hosts) {
        check_failures(hosts,
                       {ErrorCode::not_found, ErrorCode::already_rotated});
        CHECK(world.hashes["P:keys"].count(old) == 0);
        const auto next =
            std::find_if(hosts.begin(), hosts.end(), [](const Host& host) {
                return !host.result.failed()
                       && host.result.value().status == 201;
            });
        if (next == hosts.end()) {
            ++refused;
            CHECK(key_records(world) == 0);
            CHECK(world.hashes["P:keys"].empty());
            CHECK(records(world, "P:account:").empty());
            CHECK(accounts_with_keys(world).empty());
        } else {
            ++rotated;
            const json key = json::parse(next->result.value().body);
            CHECK(key["disabled"] == false);
            check_only_key(world);
            key_record(world, key["id"]);
        }
    };
    SECTION("one after another")
    {
        at_triples_of_commands(two_rotations ? 40 : 9, prepare,
                               [&](KeyWorld& world, Hosts& hosts, bool) {
                                   end(hosts[1]);
                                   end(hosts[0]);
                                   end(hosts[2]);
                                   check(world, hosts);
                               });
    }
    SECTION("at once")
    {
        in_any_order(500, prepare, check);
    }
    CHECK(rotated > 5);
    CHECK(refused > 5);
}
