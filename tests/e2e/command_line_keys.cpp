// petstorectl key: lookup, filters, terminal output and backup.
#include "chaos/cut_redis.h"
#include "chaos/fake_redis.h"
#include "support/terminal.h"

using namespace petstore::e2e;

namespace {

// The lines of an export that are keys; before them come the accounts.
Words key_lines(const std::string& exported)
{
    Words keys;
    for (const auto& line : split(exported, '\n')) {
        if (nlohmann::json::parse(line).contains("sha256")) {
            keys.push_back(line);
        }
    }
    return keys;
}

Words listed(const RedisServer& redis, Words filter)
{
    filter.insert(filter.begin(), {"key", "list", "--json"});
    const auto output = ctl(redis.url(), filter);
    REQUIRE(output.code == 0);
    Words labels;
    for (const auto& key : nlohmann::json::parse(output.out)) {
        const auto& label = key.at("label");
        labels.push_back(label.is_null() ? "" : label.get<std::string>());
    }
    std::sort(labels.begin(), labels.end());
    return labels;
}

nlohmann::json all_keys(const RedisServer& redis)
{
    return nlohmann::json::parse(
        ctl(redis.url(), {"key", "list", "--json"}).out);
}

}  // namespace

TEST_CASE("command line: key find prints the id of a key")
{
    RedisServer redis;
    const auto key = create_key(redis);
    create_key(redis);
    for (const Words& form : {Words{"key", "find", "-"}, {"key", "find"}}) {
        const auto found = ctl(redis.url(), form, key.secret + "\n");
        CHECK(found.code == 0);
        CHECK(found.out == key.id + "\n");
        CHECK(found.err.empty());
    }
    const auto json =
        ctl(redis.url(), {"key", "find", "-", "--json"}, key.secret);
    CHECK(nlohmann::json::parse(json.out).at("id") == key.id);
    CHECK_FALSE(contains(json.out, key.secret));

    const auto exported = ctl(redis.url(), {"key", "export"});
    for (const auto& line : key_lines(exported.out)) {
        const auto record = nlohmann::json::parse(line);
        CHECK(ctl(redis.url(), {"key", "find", "--sha256", record.at("sha256")})
                  .out
              == record.at("id").get<std::string>() + "\n");
    }

    const std::string unknown = "an-unknown-key-made-elsewhere";
    remember_secret(unknown);
    const auto none = ctl(redis.url(), {"key", "find"}, unknown);
    CHECK(none.code == 3);
    CHECK(none.out.empty());
    CHECK(none.err == "petstorectl: there is no such key\n");
    auto mistyped = key.secret;
    mistyped.back() = mistyped.back() == 'a' ? 'b' : 'a';
    const auto wrong = ctl(redis.url(), {"key", "find"}, mistyped);
    CHECK(wrong.code == 1);
    CHECK(contains(wrong.err, "checksum is wrong"));
    CHECK_FALSE(contains(wrong.err, mistyped));
}

TEST_CASE("command line: a malformed key as an argument is a usage error")
{
    RedisServer redis;
    auto mistyped = create_key(redis).secret;
    mistyped.back() = mistyped.back() == 'a' ? 'b' : 'a';
    for (const auto& secret :
         {mistyped, std::string("a key with spaces"), std::string(513, 'x')}) {
        for (const std::string verb : {"import", "find"}) {
            const auto argument = ctl(redis.url(), {"key", verb, secret});
            CHECK(argument.code == 2);
            CHECK_FALSE(contains(argument.err, secret));
            const auto input = ctl(redis.url(), {"key", verb}, secret);
            CHECK(input.code == 1);
            CHECK(input.err == argument.err);
        }
    }
}

TEST_CASE("command line: several keys on standard input are refused")
{
    RedisServer redis;
    const std::string first = "a-key-made-elsewhere-1";
    const std::string second = "a-key-made-elsewhere-2";
    remember_secret(first);
    remember_secret(second);
    for (const std::string verb : {"import", "find"}) {
        const auto result =
            ctl(redis.url(), {"key", verb}, first + "\n" + second + "\n");
        CHECK(result.code == 1);
        CHECK(result.out.empty());
        CHECK(
            result.err
            == "petstorectl: standard input has several lines: give one key\n");
    }
    CHECK(redis.command({"DBSIZE"}).integer == 0);

    for (const std::string verb : {"import", "find"}) {
        for (const char* none : {"", "\n"}) {
            const auto result = ctl(redis.url(), {"key", verb}, none);
            CHECK(result.code == 1);
            CHECK(result.err
                  == "petstorectl: there is no key on standard input\n");
        }
    }

    // Trailing blank lines are ignored.
    const auto imported = ctl(redis.url(), {"key", "import"}, first + "\r\n\n");
    REQUIRE(imported.code == 0);
    CHECK(ctl(redis.url(), {"key", "find"}, first).out == imported.out);
}

TEST_CASE("command line: a key is read from any standard input")
{
    RedisServer redis;
    const auto key = create_key(redis);
    const auto in_bash = [&](const std::string& script) {
        return run(
            {"bash", "-c", script, ctl_binary(), redis.url(), key.secret});
    };
    // A program that keeps the pipe open until it has the id.
    CHECK(in_bash(R"(coproc find { "$0" --redis "$1" key find -; }
                     echo "$2" >&${find[1]}
                     read -r -t 20 id <&${find[0]}
                     echo "$id")")
              .out
          == key.id + "\n");
    CHECK(in_bash(R"("$0" --redis "$1" key find - </)").err
          == "petstorectl: cannot read: Is a directory\n");
    CHECK(ctl(redis.url(), {"key", "find"}, std::string(70'000, 'x')).err
          == "petstorectl: line 1: longer than 64 KiB\n");
}

TEST_CASE("command line: key list has filters")
{
    RedisServer redis;
    const auto one =
        create_key(redis, {"--label", "Acme one", "--plan", "pro"});
    create_key(redis, {"--label", "acme two", "--expires", "2000-01-01"});
    create_key(redis, {"--label", "other", "--expires", "2999-01-01"});
    const auto off = create_key(redis, {"--label", "off", "--plan", "pro"});
    REQUIRE(ctl(redis.url(), {"key", "disable", off.id}).code == 0);

    CHECK(listed(redis, {}) == Words{"Acme one", "acme two", "off", "other"});
    CHECK(listed(redis, {"--plan", "pro"}) == Words{"Acme one", "off"});
    CHECK(listed(redis, {"--label", "ACME"}) == Words{"Acme one", "acme two"});
    CHECK(listed(redis, {"--state", "usable"}) == Words{"Acme one", "other"});
    CHECK(listed(redis, {"--state", "disabled"}) == Words{"off"});
    CHECK(listed(redis, {"--state", "expired"}) == Words{"acme two"});
    CHECK(listed(redis, {"--state", "unfinished"}).empty());
    CHECK(listed(redis, {"--account", one.account}) == Words{"Acme one"});
    CHECK(listed(redis, {"--expires-before", "30d"}) == Words{"acme two"});
    CHECK(listed(redis, {"--expires-before", "3000-01-01"})
          == Words{"acme two", "other"});
    CHECK(listed(redis, {"--plan", "pro", "--state", "usable"})
          == Words{"Acme one"});

    const auto table = ctl(redis.url(), {"key", "list", "--plan", "pro"}).out;
    CHECK(split(table, '\n').size() == 3);
    CHECK(contains(table, "T"));
    for (const Words& wrong : {Words{"--state", "off"},
                               {"--plan", "Not a plan"},
                               {"--expires-before", "soon"},
                               {"--expires-before", "99999999999999999d"}}) {
        auto words = wrong;
        words.insert(words.begin(), {"key", "list"});
        CHECK(ctl(redis.url(), words).code == 2);
    }
}

TEST_CASE("command line: key delete asks for confirmation on a terminal")
{
    RedisServer redis;
    const auto key = create_key(redis, {"--label", "acme"});
    for (const char* answer : {"n\n", "\n", "\x04"}) {
        const auto kept =
            on_terminal(redis.url(), "key delete " + key.id, answer);
        CHECK(kept.code == 1);
        CHECK(contains(kept.out, "Delete the key " + key.id));
        CHECK(contains(kept.out, "label acme"));
        CHECK(contains(kept.out, "nothing was deleted"));
        CHECK(all_keys(redis).size() == 1);
    }
    const auto gone = on_terminal(redis.url(), "key delete " + key.id, "y\n");
    CHECK(gone.code == 0);
    CHECK(all_keys(redis).empty());

    for (const char* flag : {"--yes", "-y", "--force"}) {
        const auto other = create_key(redis);
        const auto deleted =
            on_terminal(redis.url(), "key delete " + other.id + ' ' + flag);
        CHECK(deleted.code == 0);
        CHECK_FALSE(contains(deleted.out, "[y/N]"));
        CHECK(all_keys(redis).empty());
    }
    const auto scripted = create_key(redis);
    CHECK(ctl(redis.url(), {"key", "delete", scripted.id}).code == 0);
    CHECK(all_keys(redis).empty());

    // What Redis refuses is not damaged.
    const auto unread = create_key(redis);
    redis.command({"ACL", "SETUSER", "default", "-hgetall"});
    const auto refused =
        on_terminal(redis.url(), "key delete " + unread.id, "y\n");
    CHECK(refused.code == 4);
    CHECK(contains(refused.out, "NOPERM"));
    CHECK_FALSE(contains(refused.out, "[y/N]"));
}

TEST_CASE("command line: exported keys work in another Redis")
{
    RedisServer old;
    const auto key = create_key(old, {"--plan", "pro", "--label", "acm\u00e9",
                                      "--scopes", "read", "--per-day", "777",
                                      "--expires", "2999-01-01"});
    const auto off = create_key(old);
    REQUIRE(ctl(old.url(), {"key", "disable", off.id}).code == 0);
    const auto rotated =
        ctl(old.url(), {"key", "rotate", create_key(old).id, "--json"});
    remember_secret(nlohmann::json::parse(rotated.out).at("key"));
    const auto backup = ctl(old.url(), {"key", "export"});
    CHECK(backup.code == 0);
    CHECK(key_lines(backup.out).size() == 4);
    CHECK_FALSE(contains(backup.out, key.secret));

    Store store;
    const auto before = all_keys(store.redis).size();
    const auto restored =
        ctl(store.redis.url(), {"key", "restore", "-", "--json"}, backup.out);
    CHECK(restored.code == 0);
    CHECK(nlohmann::json::parse(restored.out)
          == nlohmann::json{{"restored", 4}, {"unchanged", 0}});
    CHECK(all_keys(store.redis).size() == before + 4);
    for (const auto& record : all_keys(old)) {
        const std::string id = record.at("id");
        CHECK(nlohmann::json::parse(
                  ctl(store.redis.url(), {"key", "show", id, "--json"}).out)
              == record);
    }
    // Also the fields that `key list` does not show.
    const auto again = ctl(store.redis.url(), {"key", "export"}).out;
    for (const auto& line : split(backup.out, '\n')) {
        CHECK(contains(again, line));
    }
    Http with_key(store.nginx.url(), key.secret);
    CHECK(with_key.get("/v1/pets").status == 200);
    Http with_off(store.nginx.url(), off.secret);
    CHECK(with_off.get("/v1/pets").status == 401);

    // Restoring does not undo later changes.
    REQUIRE(
        ctl(store.redis.url(), {"key", "set", key.id, "--label", "new"}).code
        == 0);
    const auto repeated =
        ctl(store.redis.url(), {"key", "restore", "-"}, backup.out);
    CHECK(repeated.code == 0);
    CHECK(repeated.err == "0 keys restored, 4 existed already.\n");
    CHECK(contains(ctl(store.redis.url(), {"key", "show", key.id}).out, "new"));
}

TEST_CASE("command line: damaged keys are listed, and missing in no backup")
{
    RedisServer redis;
    const auto whole = create_key(redis);
    const auto key = create_key(redis);
    const std::string digest =
        redis.command({"HGET", "petstore:keys", key.id}).text;
    const std::string record = "petstore:key:" + digest;
    const auto expect_not_exported = [&] {
        const auto backup = ctl(redis.url(), {"key", "export"});
        CHECK(backup.code == 1);
        CHECK(key_lines(backup.out).size() == 1);
        CHECK(contains(backup.out, whole.id));
        CHECK(contains(backup.err,
                       "key " + key.id
                           + " is damaged and not exported, 1 key in total"));
    };

    // What `key restore` refuses, a backup must not contain.
    for (const auto& [field, value] :
         {std::pair("plan", "No Plan"), std::pair("account", "a\r\nb"),
          std::pair("last4", "12345")}) {
        INFO(field);
        const auto before = redis.command({"HGET", record, field}).text;
        redis.command({"HSET", record, field, value});
        expect_not_exported();
        redis.command({"HSET", record, field, before});
    }
    CHECK(ctl(redis.url(), {"key", "export"}).code == 0);

    // An entry of the index that names no record.
    redis.command({"HSET", "petstore:keys", key.id, "zz"});
    expect_not_exported();
    const std::string damaged =
        "the entry of key " + key.id + " in petstore:keys is damaged";
    const auto listed = ctl(redis.url(), {"key", "list"});
    CHECK(listed.code == 1);
    CHECK(contains(listed.out, whole.id));
    CHECK(contains(listed.err, damaged));
    CHECK(contains(listed.err, "1 key left out"));
    for (const char* command : {"show", "disable", "rotate"}) {
        INFO(command);
        const auto output = ctl(redis.url(), {"key", command, key.id});
        CHECK(output.code == 1);
        CHECK(contains(output.err, damaged));
    }
    const auto deleted = ctl(redis.url(), {"key", "delete", key.id, "--yes"});
    CHECK(deleted.code == 1);
    CHECK(contains(deleted.err, damaged));
    CHECK(redis.command({"EXISTS", record}).integer == 1);
}

TEST_CASE("command line: keys of a damaged account are not shown as usable")
{
    RedisServer redis;
    const auto good = create_key(redis);
    const auto key = create_key(redis);
    redis.command(
        {"HSET", "petstore:account:" + key.account, "disabled", "maybe"});
    for (const bool json : {false, true}) {
        Words command = {"key", "list"};
        if (json) {
            command.emplace_back("--json");
        }
        const auto listed = ctl(redis.url(), command);
        CHECK(listed.code == 1);
        CHECK(contains(listed.out, good.id));
        CHECK_FALSE(contains(listed.out, key.id));
        CHECK(contains(listed.err, "the record of the account of key " + key.id
                                       + " is damaged"));
    }
}

TEST_CASE("command line: keys without an account are not shown as usable")
{
    RedisServer redis;
    const auto good = create_key(redis, {"--plan", "pro"});
    const auto key = create_key(redis);
    redis.command({"DEL", "petstore:account:" + key.account});
    // An account that only the index lacks is found.
    redis.command({"HDEL", "petstore:accounts", good.account});
    const auto listed = ctl(redis.url(), {"key", "list"});
    CHECK(listed.code == 1);
    CHECK(contains(listed.out, good.id));
    CHECK(contains(listed.out, "pro"));
    CHECK_FALSE(contains(listed.out, key.id));
    CHECK(contains(listed.err, "the record of the account of key " + key.id
                                   + " does not exist"));
    CHECK(contains(listed.err, "1 key left out"));
    for (const Words& command :
         {Words{"key", "show", key.id}, {"key", "disable", key.id, "--json"}}) {
        const auto output = ctl(redis.url(), command);
        CHECK(output.code == 1);
        CHECK(contains(output.err, "the account " + key.account + " of key "
                                       + key.id + " does not exist"));
    }
    for (const std::string done : {"disable", "enable"}) {
        const auto changed = ctl(redis.url(), {"key", done, key.id, "--json"});
        CHECK(changed.code == 1);
        CHECK(nlohmann::json::parse(changed.err).at("message")
              == "the key is " + done + "d; the account " + key.account
                     + " of key " + key.id + " does not exist");
        CHECK(ctl(redis.url(), {"key", done, key.id}).code == 0);
    }
}

TEST_CASE("command line: a key that was shown is enabled, not created again")
{
    RedisServer redis;
    CutRedis cut(redis);
    int shown = 0;
    for (const auto how : {CutRedis::How::before, CutRedis::How::after}) {
        bool was_cut = true;
        for (int number = 1; was_cut; ++number) {
            REQUIRE(number < 60);
            cut.cut_at(number, how);
            const auto created = ctl(cut.url(), {"key", "create", "--json"});
            was_cut = cut.was_cut();
            CHECK((created.code == 0) != was_cut);
            if (created.out.empty()) {
                continue;
            }
            const auto key = nlohmann::json::parse(created.out);
            remember_secret(key.at("key"));
            if (was_cut) {
                ++shown;
                INFO(created.err);
                CHECK(contains(created.err,
                               "petstorectl key enable "
                                   + key.at("id").get<std::string>()));
                CHECK_FALSE(contains(created.err, "run again"));
                CHECK_FALSE(contains(created.err, "not_in_effect"));
            }
        }
    }
    CHECK(shown > 0);
}

TEST_CASE("command line: key restore stops at a line without a key")
{
    RedisServer old;
    create_key(old);
    create_key(old);
    const auto exported = ctl(old.url(), {"key", "export"}).out;
    const auto lines = key_lines(exported);
    REQUIRE(lines.size() == 2);
    const auto accounts = exported.substr(0, exported.find(lines[0]));
    REQUIRE(split(accounts, '\n').size() == 2);
    const auto changed = [&](const char* member, nlohmann::json value) {
        auto line = nlohmann::json::parse(lines[1]);
        line[member] = std::move(value);
        return line.dump();
    };
    const auto own = [&](const char* member, nlohmann::json value) {
        auto line = nlohmann::json::parse(lines[1]);
        line.at("own").at(member) = std::move(value);
        return line.dump();
    };
    for (const std::string& bad :
         {std::string("{"), std::string("[]"), changed("sha256", "ab"),
          changed("id", "a}b"), changed("id", nullptr),
          changed("account", "a b"), own("plan", ""), own("per_minute", 0),
          own("per_day", 1.5), own("per_month", "9"), changed("own", 7),
          changed("label", 7), changed("scopes", nlohmann::json::array()),
          changed("created", "yesterday"), changed("expires", "never"),
          changed("disabled", "no"), changed("last4", "12345"),
          changed("replaced_by", "{}")}) {
        INFO(bad);
        RedisServer redis;
        const auto output = ctl(redis.url(), {"key", "restore", "-"},
                                accounts + lines[0] + "\n" + bad + "\n");
        CHECK(output.code == 1);
        CHECK(contains(output.err, "restored 1 key; line 4: "));
        CHECK(all_keys(redis).size() == 1);
    }
    RedisServer redis;
    CHECK(ctl(redis.url(), {"key", "restore", "/nowhere"}).code == 1);
}

TEST_CASE("command line: dates are dates, times or durations")
{
    RedisServer redis;
    const auto key = create_key(redis);
    const auto expires = [&](const std::string& value) {
        const auto changed = ctl(
            redis.url(), {"key", "set", key.id, "--expires", value, "--json"});
        INFO(value << ": " << changed.err);
        REQUIRE(changed.code == 0);
        return nlohmann::json::parse(changed.out).at("expires");
    };
    CHECK(expires("2030-12-31") == "2030-12-31T00:00:00Z");
    CHECK(expires("2030-12-31T12:00:00Z") == "2030-12-31T12:00:00Z");
    CHECK(expires("2030-12-31T12:00:00.25+01:00") == "2030-12-31T11:00:00Z");
    CHECK(expires("none").is_null());
    CHECK(expires("400d").is_string());
    const auto within = [&](const std::string& time) {
        return listed(redis, {"--expires-before", time}).size();
    };
    CHECK(within("399d") == 0);
    CHECK(within("401d") == 1);
    CHECK(within("2999-12-31T00:00:00-01:00") == 1);
    const auto made =
        create_key(redis, {"--label", "trial", "--expires", "30d"});
    CHECK(within("31d") == 1);
    CHECK(within("29d") == 0);
    REQUIRE(expires("2020-01-01") == "2020-01-01T00:00:00Z");
    const auto enabled = ctl(redis.url(), {"key", "enable", key.id});
    CHECK(enabled.code == 0);
    CHECK(contains(enabled.err,
                   "is enabled, but it expired on 2020-01-01T00:00:00Z"));
    for (const char* wrong : {"2030", "30", "d", "soon", "36501d"}) {
        CHECK(ctl(redis.url(), {"key", "create", "--expires", wrong}).code
              == 2);
        CHECK(ctl(redis.url(), {"key", "list", "--expires-before", wrong}).code
              == 2);
    }
}

TEST_CASE("command line: ls is list, and revoke is disable")
{
    RedisServer redis;
    const auto key = create_key(redis);
    CHECK(ctl(redis.url(), {"key", "ls"}).out
          == ctl(redis.url(), {"key", "list"}).out);
    CHECK(ctl(redis.url(), {"key", "revoke", key.id}).code == 0);
    CHECK(all_keys(redis).at(0).at("disabled") == true);
    CHECK(ctl(redis.url(), {"help", "key", "revoke"}).out
          == ctl(redis.url(), {"help", "key", "disable"}).out);
}

TEST_CASE("command line: key list shows the account of each key")
{
    RedisServer redis;
    const auto key = create_key(redis);
    const auto lines = split(ctl(redis.url(), {"key", "list"}).out, '\n');
    CHECK(lines.at(0).rfind("ID                ACCOUNT           PLAN", 0)
          == 0);
    CHECK(lines.at(1).rfind(key.id + "  " + key.account + "  ", 0) == 0);
}

TEST_CASE("command line: a minute limit above the day's is a warning")
{
    RedisServer redis;
    const auto warns = [&](const Words& numbers) {
        Words words = {"key", "create"};
        words.insert(words.end(), numbers.begin(), numbers.end());
        const auto output = ctl(redis.url(), words);
        CHECK(output.code == 0);
        return contains(output.err, "exceeds that of");
    };
    CHECK(warns({"--per-minute", "100", "--per-day", "10"}));
    CHECK(warns({"--per-minute", "1001"}));
    CHECK(warns({"--plan", "pro", "--per-day", "299"}));
    CHECK(warns({"--plan", "partner", "--per-minute", "9", "--per-day", "8"}));
    CHECK_FALSE(warns({"--plan", "partner", "--per-day", "8"}));
    CHECK_FALSE(warns({"--per-minute", "10", "--per-day", "10"}));
}

TEST_CASE("command line: a change made again warns once")
{
    RedisServer redis;
    const auto key = create_key(redis);
    const auto warnings = [&](const std::string& record, const Words& command) {
        // Another write is faster than the command's first one.
        auto forward = forward_to(redis);
        bool raced = false;
        const FakeRedis fake([&](const Words& words) {
            if (words[0].rfind("EVAL", 0) == 0
                && std::find(words.begin(), words.end(), record) != words.end()
                && !std::exchange(raced, true)) {
                redis.command({"HSET", record, "epoch", "9000"});
            }
            return forward(words);
        });
        const auto output = ctl(fake.url(), command);
        INFO(output.err);
        CHECK(output.code == 0);
        CHECK(raced);
        return split(output.err, '\n');
    };
    const auto of_key = warnings(
        redis.command({"KEYS", "petstore:key:*"}).items.at(0).text,
        {"key", "set", key.id, "--plan", "partner", "--expires", "2020-01-01"});
    REQUIRE(of_key.size() == 3);
    CHECK(contains(of_key[0], "defines the plan partner"));
    CHECK(contains(of_key[1], "the key expired on"));
    const auto of_account =
        warnings("petstore:account:" + key.account,
                 {"account", "set", key.account, "--plan", "partner"});
    CHECK(contains(of_account.at(0), "defines the plan partner"));
    CHECK_FALSE(contains(of_account.at(1), "defines the plan partner"));
}
