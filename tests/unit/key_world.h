#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "catch.h"
#include "redis/link.h"
#include "store/scripts.h"
#include "store/store_links.h"
#include "store/task.h"
#include "store/waiter.h"
#include "store_replies.h"

// Keeps a result.
template <typename T>
struct Result final : petstore::store::Waiter<T> {
    void on_result(const petstore::store::Outcome<T>& outcome) noexcept override
    {
        ++calls;
        result.emplace(outcome);
    }

    bool failed() const { return result->failed(); }
    const T& value() const { return result->value(); }
    const petstore::store::Failure& failure() const
    {
        return *result->failure();
    }
    std::string message() const
    {
        return std::string(failure().error.message.text());
    }
    petstore::store::Refusal refusal() const { return failure().refusal; }

    int calls = 0;
    std::optional<petstore::store::Outcome<T>> result;
};

// A Redis with keys and accounts that executes what administration sends. Its
// scripts do what those in src/store/lua do.
class KeyWorld final : public petstore::redis::Link {
public:
    using Words = std::vector<std::string>;
    using Hash = std::map<std::string, std::string>;

    enum class Lost { before, after };  // the execution

    void send(const petstore::redis::Command& command,
              petstore::redis::ReplyHandler& handler) noexcept override
    {
        pending_.emplace_back(words(command), &handler);
        most_at_once = std::max(most_at_once, pending_.size());
    }
    std::uint64_t
    connection_generation(std::string_view /*key*/) const noexcept override
    {
        return generation;
    }
    std::uint64_t reorderings(std::string_view /*key*/) const noexcept override
    {
        return redirects ? sent.size() : 0;
    }
    bool is_cluster() const noexcept override { return !away.empty(); }
    std::size_t group_of(std::string_view key) const noexcept override
    {
        return away.count(std::string(key)) != 0 ? 2 : 1;
    }

    // Executes commands until none is left. The reply to number `cut_at`, from
    // 1, is lost.
    void run()
    {
        using petstore::redis::NoReply;
        while (!pending_.empty()) {
            const auto [command, handler] = pending_.front();
            pending_.pop_front();
            sent.push_back(command);
            ++number;
            if (before) {
                before(command);
            }
            if (command.size() > 1 && away.count(command[1]) != 0) {
                handler->on_no_reply(NoReply::not_sent);
                continue;
            }
            if (number == cut_at) {
                if (how == Lost::after) {
                    execute(command);
                }
                handler->on_no_reply(how == Lost::after ? NoReply::in_doubt
                                                        : NoReply::not_sent);
                continue;
            }
            Replies replies;
            const std::string reply = execute(command);
            handler->on_reply(replies(reply));
        }
    }

    // The server of this index is replaced after the next piece, and the new
    // one does not have its entries where the cursor of that piece leads.
    void replace_server_of(const std::string& index)
    {
        before = [this, index, pieces = 0](const Words& command) mutable {
            if (command.size() < 2 || command[1] != index) {
                return;
            }
            ++pieces;
            if (pieces <= 2) {
                replies[command[0]] =
                    array({bulk(pieces == 1 ? "5" : "0"), array({})});
                generation += pieces == 2 ? 1 : 0;
            } else {
                replies.erase(command[0]);
            }
        };
    }

    bool was_cut() const { return cut_at != 0 && number >= cut_at; }
    void cut(int at, Lost lost)
    {
        number = 0;
        cut_at = at;
        how = lost;
    }

    int count(const std::string& name) const
    {
        int found = 0;
        for (const auto& command : sent) {
            found += command[0] == name ? 1 : 0;
        }
        return found;
    }

    petstore::store::StoreLinks links() { return {*this, *this, schema}; }

    const petstore::store::Schema schema{"P"};
    std::map<std::string, Hash> hashes;
    std::map<std::string, std::int64_t> epochs;  // of accounts, by state
    // Whether accounts that were touched took the epoch of a record.
    std::vector<bool> taken;
    std::map<std::string, std::string> strings;
    std::map<std::string, std::set<std::string>> sets;
    std::set<std::string> charged;     // states
    std::set<std::string> banned;      // states
    std::vector<std::string> settled;  // states, and whether they were reset
    std::set<std::string> away;        // keys of a Cluster's server
    std::function<void(const Words&)> before;
    std::map<std::string, std::string> replies;  // instead, by first word
    std::vector<Words> sent;
    std::size_t most_at_once = 0;
    std::uint64_t generation = 1;
    bool redirects = false;  // each command, as in an open slot of a Cluster
    std::int64_t time = 1'700'000'000;  // seconds; negative: not a time
    bool marker_elsewhere_slot = false;
    int number = 0;
    int cut_at = 0;
    Lost how = Lost::before;

private:
    static bool is(const Words& command, const petstore::redis::Script& script)
    {
        return command[1] == script.sha1;
    }

    std::string execute(const Words& c)
    {
        const auto& scripts = petstore::store::scripts();
        if (const auto fixed = replies.find(c[0]); fixed != replies.end()) {
            return fixed->second;
        }
        if (c[0] == "HGET") {
            const auto& hash = hashes[c[1]];
            const auto found = hash.find(c[2]);
            return found == hash.end() ? kNil : bulk(found->second);
        }
        if (c[0] == "HSET") {
            hashes[c[1]][c[2]] = c[3];
            return integer(1);
        }
        if (c[0] == "HDEL") {
            return integer(static_cast<long long>(hashes[c[1]].erase(c[2])));
        }
        if (c[0] == "DEL") {
            return integer(
                static_cast<long long>(hashes.erase(c[1]) + sets.erase(c[1])));
        }
        if (c[0] == "HGETALL") {
            return array(items(c[1]));
        }
        if (c[0] == "HSCAN") {
            return array({bulk("0"), array(items(c[1]))});
        }
        if (c[0] == "SADD") {
            return integer(sets[c[1]].insert(c[2]).second ? 1 : 0);
        }
        if (c[0] == "SREM") {
            return integer(static_cast<long long>(sets[c[1]].erase(c[2])));
        }
        if (c[0] == "SSCAN") {
            std::vector<std::string> members;
            if (const auto found = sets.find(c[1]); found != sets.end()) {
                for (const auto& member : found->second) {
                    members.push_back(bulk(member));
                }
            }
            return array({bulk("0"), array(members)});
        }
        if (c[0] == "GET") {
            const auto found = strings.find(c[1]);
            return found == strings.end() ? kNil : bulk(found->second);
        }
        if (c[0] == "SET" && c[3] == "NX" && c[4] == "GET") {
            const auto [there, is_new] = strings.emplace(c[1], c[2]);
            return is_new ? kNil : bulk(there->second);
        }
        if (c[0] == "GETRANGE") {  // of an account's state: its epoch
            return bulk(epoch_bytes(c[1]));
        }
        if (c[0] == "TIME") {
            return array({bulk(std::to_string(time)), bulk("0")});
        }
        if (is(c, scripts.write_record)) {
            return write_record(c);
        }
        if (is(c, scripts.delete_record)) {
            const auto found = hashes.find(c[3]);
            if (found != hashes.end() && found->second["epoch"] != c[4]) {
                return integer(0);
            }
            hashes.erase(c[3]);
            return integer(1);
        }
        if (is(c, scripts.compare_and_set)) {
            std::string& value = strings[c[3]];
            const bool replaced = value == c[4];
            if (replaced) {
                value = c[5];
            }
            if (value.empty()) {
                strings.erase(c[3]);
            }
            return integer(replaced ? 1 : 0);
        }
        if (is(c, scripts.forget_account)) {
            auto& hash = hashes[c[3]];
            const auto found = hash.find(c[4]);
            if (found == hash.end() || found->second != c[5]) {
                return integer(0);
            }
            hash.erase(found);
            return integer(1);
        }
        if (is(c, scripts.read_usage)) {
            return read_usage(c);
        }
        if (is(c, scripts.remove_plan)) {
            auto& plans = hashes[c[3]];
            const auto found = plans.find(c[4]);
            if (found == plans.end()) {
                return kNil;
            }
            const std::string limits = found->second;
            plans.erase(found);
            return bulk(limits);
        }
        if (is(c, scripts.set_plan)) {
            if (c[6] == "0") {
                hashes[c[3]].emplace(c[4], c[5]);
            } else {
                hashes[c[3]][c[4]] = c[5];
            }
            return integer(1);
        }
        if (is(c, scripts.settle_usage)) {
            settled.push_back(c[3] + ' ' + c[4]);
            return integer(1);
        }
        if (is(c, scripts.touch_account)) {
            return touch(c);
        }
        if (is(c, scripts.unban)) {
            return integer(static_cast<long long>(banned.erase(c[3])));
        }
        return "-ERR unknown command\r\n";
    }

    std::vector<std::string> items(const std::string& key)
    {
        std::vector<std::string> items;
        for (const auto& [field, value] : hashes[key]) {
            items.push_back(bulk(field));
            items.push_back(bulk(value));
        }
        if (items.empty()) {
            hashes.erase(key);
        }
        return items;
    }

    // No account was ever used.
    std::string read_usage(const Words& c) const
    {
        std::vector<std::string> parts = {bulk(std::to_string(time)),
                                          bulk("0")};
        for (int key = 1; key <= std::stoi(c[2]); ++key) {
            parts.push_back(key <= 3 ? kNil : array({}));
        }
        return array(parts);
    }

    std::string write_record(const Words& c)
    {
        const auto found = hashes.find(c[3]);
        const std::string seen =
            found == hashes.end() ? "" : found->second["epoch"];
        if (seen != c[4]) {
            return integer(0);
        }
        Hash& hash = hashes[c[3]];
        for (std::size_t i = 6; i + 1 < c.size(); i += 2) {
            if (c[i + 1].empty()) {
                hash.erase(c[i]);
            } else {
                hash[c[i]] = c[i + 1];
            }
        }
        hash["epoch"] = std::to_string(++epoch_);
        return integer(epoch_);
    }

    // Not as Redis has it, but as long.
    std::string epoch_bytes(const std::string& state) const
    {
        const auto found = epochs.find(state);
        std::string bytes =
            found == epochs.end() ? "" : std::to_string(found->second);
        bytes.resize(found == epochs.end() ? 0 : 8);
        return bytes;
    }

    std::string touch(const Words& c)
    {
        const auto found = epochs.find(c[3]);
        if (found == epochs.end() && c[5].empty()) {
            if (marker_elsewhere_slot) {
                return integer(-1);
            }
            if (strings.count("P:limits-place") != 0) {
                return integer(0);
            }
        }
        if (c.size() > 7 && c[7] == "1" && charged.count(c[3]) != 0) {
            return integer(found->second);
        }
        taken.push_back(!c[4].empty()
                        && (c[6].empty() || c[6] == epoch_bytes(c[3])));
        return integer(epochs[c[3]] = ++epoch_);
    }

    std::deque<std::pair<Words, petstore::redis::ReplyHandler*>> pending_;
    std::int64_t epoch_ = 100;
};

// What works on a KeyWorld.
struct InKeyWorld {
    template <typename T>
    auto run(petstore::store::Task<T> task)
    {
        using petstore::store::Done;
        Result<std::conditional_t<std::is_void_v<T>, Done, T>> result;
        petstore::store::run(running, std::move(task), result);
        world.run();
        REQUIRE(result.calls == 1);
        return result;
    }

    KeyWorld world;
    petstore::store::Operations running;
};

// Runs `operation` on a new Subject, which has a KeyWorld, with the reply to
// each of its commands lost, and again until it succeeds. `check` then examines
// the result. `prepare` comes first. The operation has fewer commands than
// `most`.
template <typename Subject, typename Prepare, typename Operation,
          typename Check>
void at_each_command(int most, const Prepare& prepare,
                     const Operation& operation, const Check& check)
{
    for (const auto how : {KeyWorld::Lost::before, KeyWorld::Lost::after}) {
        for (int number = 1;; ++number) {
            REQUIRE(number < most);
            CAPTURE(number, how == KeyWorld::Lost::after);
            Subject subject;
            prepare(subject);
            subject.world.cut(number, how);
            const bool done = operation(subject);
            const bool cut = subject.world.was_cut();
            CHECK(done != cut);
            subject.world.cut(0, how);
            if (!done) {
                CHECK(operation(subject));
            }
            check(subject);
            if (!cut) {
                CHECK(number > 2);
                break;
            }
        }
    }
}
