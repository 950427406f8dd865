// petstorectl account, and keys of accounts.
#include <set>

#include "support/limits.h"
#include "support/terminal.h"

using namespace petstore::e2e;
using nlohmann::json;

namespace {

json object_of(const Output& output)
{
    INFO(output.err);
    REQUIRE(output.code == 0);
    return json::parse(output.out);
}

// Runs a command that prints JSON.
json call(const RedisServer& redis, Words words)
{
    words.emplace_back("--json");
    return object_of(ctl(redis.url(), words));
}

Words joined(Words words, const Words& more)
{
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

std::string create_account(const RedisServer& redis, const Words& options = {})
{
    return call(redis, joined({"account", "create"}, options)).at("id");
}

json show_key(const RedisServer& redis, const std::string& id)
{
    return call(redis, {"key", "show", id});
}

// Checks exit code and code of the error, and that nothing was printed.
void fails(const RedisServer& redis, Words words, int exit_code,
           const std::string& code)
{
    words.emplace_back("--json");
    const auto output = ctl(redis.url(), words);
    INFO(output.err);
    CHECK(output.code == exit_code);
    CHECK(output.out.empty());
    CHECK(json::parse(split(output.err, '\n').back()).at("code") == code);
}

std::set<std::string> names_of(const json& object)
{
    std::set<std::string> names;
    for (const auto& item : object.items()) {
        names.insert(item.key());
    }
    return names;
}

const std::set<std::string> kAccountMembers = {
    "id",      "external_id", "label",    "plan",    "per_minute",
    "per_day", "per_month",   "disabled", "created", "last_used"};
const std::set<std::string> kKeyMembers = {
    "id",      "account",   "external_id", "plan",  "per_minute",
    "per_day", "per_month", "overrides",   "label", "scopes",
    "created", "expires",   "disabled",    "state", "last4"};

}  // namespace

TEST_CASE("command line accounts: an object has the documented members")
{
    RedisServer redis;
    const auto made =
        call(redis, {"account", "create", "--external-id", "cust_42", "--plan",
                     "pro", "--label", "Acme", "--per-month", "5000"});
    CHECK(names_of(made) == kAccountMembers);
    CHECK(made.at("external_id") == "cust_42");
    CHECK(made.at("label") == "Acme");
    CHECK(made.at("plan") == "pro");
    CHECK(made.at("per_minute").is_null());
    CHECK(made.at("per_day").is_null());
    CHECK(made.at("per_month") == 5000);
    CHECK(made.at("disabled") == false);
    CHECK(made.at("last_used").is_null());
    const std::string created = made.at("created");
    CHECK(created.size() == 20);
    CHECK(created.back() == 'Z');

    const std::string id = made.at("id");
    CHECK(call(redis, {"account", "show", id}) == made);
    CHECK(call(redis, {"account", "show", "--external-id", "cust_42"}) == made);
    CHECK(call(redis, {"account", "list"}) == json::array({made}));

    const auto bare = call(redis, {"account", "create"});
    for (const char* member :
         {"external_id", "label", "per_minute", "per_day", "per_month"}) {
        CHECK(bare.at(member).is_null());
    }
    CHECK(bare.at("plan") == "free");
    // Without --json, only the id is data.
    const auto plain = ctl(redis.url(), {"account", "create"});
    CHECK(plain.out.size() == id.size() + 1);
}

TEST_CASE("command line accounts: a key object has the documented members")
{
    RedisServer redis;
    const auto account =
        create_account(redis, {"--external-id", "cust_42", "--plan", "pro",
                               "--per-day", "77"});
    auto made = call(redis, {"key", "create", "--account", account, "--label",
                             "ci", "--expires", "2999-01-01"});
    remember_secret(made.at("key"));
    auto with_secret = kKeyMembers;
    with_secret.insert("key");
    CHECK(names_of(made) == with_secret);
    made.erase("key");
    CHECK(show_key(redis, made.at("id")) == made);
    CHECK(call(redis, {"key", "list"}) == json::array({made}));
    CHECK(made.at("account") == account);
    CHECK(made.at("external_id") == "cust_42");
    CHECK(made.at("plan") == "pro");
    CHECK(made.at("per_minute").is_null());
    CHECK(made.at("per_day") == 77);  // the account's
    CHECK(made.at("overrides") == false);
    CHECK(made.at("label") == "ci");
    CHECK(made.at("scopes") == json{"read", "write"});
    CHECK(made.at("expires") == "2999-01-01T00:00:00Z");
    CHECK(made.at("disabled") == false);
    CHECK(made.at("state") == "usable");

    auto rotated = call(redis, {"key", "rotate", made.at("id")});
    remember_secret(rotated.at("key"));
    CHECK(names_of(rotated) == with_secret);
    CHECK(rotated.at("account") == account);
}

TEST_CASE("command line accounts: whose plan a key has")
{
    RedisServer redis;
    const auto account = create_account(
        redis, {"--plan", "pro", "--per-day", "77", "--per-month", "900"});
    const auto shown = [&](const Words& options) {
        const auto key =
            create_key(redis, joined({"--account", account}, options));
        const auto object = show_key(redis, key.id);
        return json{object.at("plan"), object.at("per_minute"),
                    object.at("per_day"), object.at("per_month"),
                    object.at("overrides")};
    };
    CHECK(shown({}) == json{"pro", nullptr, 77, 900, false});
    CHECK(shown({"--per-minute", "5"}) == json{"pro", 5, 77, 900, true});
    // A plan of its own decides for every window.
    CHECK(shown({"--plan", "business"})
          == json{"business", nullptr, nullptr, nullptr, true});
    CHECK(shown({"--plan", "business", "--per-month", "8"})
          == json{"business", nullptr, nullptr, 8, true});

    // Without an account, plan and numbers become the new account's.
    const auto made = call(redis, {"key", "create", "--plan", "pro",
                                   "--per-month", "9", "--label", "solo"});
    remember_secret(made.at("key"));
    CHECK(made.at("overrides") == false);
    CHECK(made.at("per_month") == 9);
    const auto own = call(redis, {"account", "show", made.at("account")});
    CHECK(own.at("plan") == "pro");
    CHECK(own.at("per_month") == 9);
    CHECK(own.at("label") == "solo");

    // `none` removes the key's own.
    const std::string id = made.at("id");
    CHECK(call(redis, {"key", "set", id, "--plan", "business"}).at("overrides")
          == true);
    const auto back = call(
        redis, {"key", "set", id, "--plan", "none", "--per-month", "none"});
    CHECK(back.at("plan") == "pro");
    CHECK(back.at("per_month") == 9);
    CHECK(back.at("overrides") == false);
}

TEST_CASE("command line accounts: a change reaches all keys of the account")
{
    Store store;
    const auto account = create_account(store.redis, {"--plan", "pro"});
    const auto one = create_key(store.redis, {"--account", account});
    const auto two = create_key(store.redis, {"--account", account});
    const auto own =
        create_key(store.redis, {"--account", account, "--per-minute", "7"});
    const auto limit = [&](const Key& key) {
        Http http(store.nginx.url(), key.secret);
        return number(http.get("/v1/pets"), "x-ratelimit-limit");
    };
    CHECK(limit(one) == 300);
    CHECK(limit(two) == 300);
    CHECK(limit(own) == 7);
    const auto set = ctl(store.redis.url(),
                         {"account", "set", account, "--per-minute", "150"});
    CHECK(set.code == 0);
    CHECK(contains(set.err, "Account " + account + " is changed."));
    CHECK(contains(
        set.err, "Key " + own.id
                     + " is unaffected: it has its own number per minute.\n"));
    CHECK_FALSE(contains(set.err, one.id));
    const auto named = [&](const Words& options) {
        Words command = {"account", "set", account};
        command.insert(command.end(), options.begin(), options.end());
        const auto result = ctl(store.redis.url(), command);
        CHECK(result.code == 0);
        const auto key = result.err.find("Key ");
        return key == std::string::npos ? "" : result.err.substr(key);
    };
    CHECK(named({"--per-day", "15000"}).empty());
    CHECK(named({"--plan", "pro"})
          == "Key " + own.id + " keeps its own number per minute.\n");
    for (const Key& key : {one, two}) {
        CHECK(wait_until([&] { return limit(key) == 150; }));
    }
    CHECK(limit(own) == 7);
    // A label reaches no key, so no key is named.
    const auto label =
        ctl(store.redis.url(), {"account", "set", account, "--label", "Acme"});
    CHECK(label.err == "Account " + account + " is changed.\n");
}

TEST_CASE("command line accounts: a disabled account refuses all its keys")
{
    Store store;
    const auto account = create_account(store.redis);
    const auto one = create_key(store.redis, {"--account", account});
    const auto two = create_key(store.redis, {"--account", account});
    const auto status = [&](const Key& key) {
        Http http(store.nginx.url(), key.secret);
        return http.get("/v1/pets").status;
    };
    CHECK(status(one) == 200);
    CHECK(status(two) == 200);
    CHECK(call(store.redis, {"account", "disable", account}).at("disabled")
          == true);
    CHECK(wait_until([&] { return status(one) == 401 && status(two) == 401; }));
    const auto enabled = ctl(store.redis.url(), {"key", "enable", one.id});
    CHECK(enabled.code == 0);
    CHECK(contains(enabled.err, "is enabled, but its account is disabled: "
                                "petstorectl account enable "
                                    + account));
    CHECK(contains(ctl(store.redis.url(), {"key", "show", one.id}).out,
                   "by its account"));
    const auto key = show_key(store.redis, one.id);
    CHECK(key.at("state") == "disabled");
    CHECK(key.at("disabled") == false);
    CHECK(call(store.redis, {"key", "list", "--state", "disabled"}).size()
          == 2);
    CHECK(call(store.redis, {"account", "list", "--disabled"}).size() == 1);
    CHECK(call(store.redis, {"account", "enable", account}).at("disabled")
          == false);
    CHECK(wait_until([&] { return status(one) == 200 && status(two) == 200; }));
}

TEST_CASE("command line accounts: a change is reported if its usage is damaged")
{
    Store store;
    const auto account = create_account(store.redis);
    store.redis.command({"SET",
                         "petstore:{" + account
                             + "}:usage:" + month_text(redis_now(store.redis)),
                         "damaged"});
    for (const auto& [word, done] :
         {std::pair("disable", "disabled, with all its keys"),
          std::pair("enable", "enabled")}) {
        const auto changed =
            ctl(store.redis.url(), {"account", word, account, "--json"});
        CHECK(changed.code == 1);
        const std::string message =
            nlohmann::json::parse(changed.err).at("message");
        CHECK(contains(message, std::string("the account is ") + done + "; "));
    }
}

TEST_CASE(
    "command line accounts: an external id is unique, and names the account")
{
    RedisServer redis;
    const auto first = create_account(redis, {"--external-id", "cust_1"});
    const auto second = create_account(redis);
    const auto external_id = [&](const std::string& account) {
        return call(redis, {"account", "show", account}).at("external_id");
    };
    fails(redis, {"account", "create", "--external-id", "cust_1"}, 1,
          "external_id_taken");
    fails(redis, {"account", "set", second, "--new-external-id", "cust_1"}, 1,
          "external_id_taken");
    CHECK(external_id(second).is_null());

    // Freed by a change, and by a deletion.
    CHECK(call(redis, {"account", "set", "--external-id", "cust_1",
                       "--new-external-id", "cust_2"})
              .at("id")
          == first);
    fails(redis, {"account", "show", "--external-id", "cust_1"}, 3,
          "not_found");
    call(redis, {"account", "set", second, "--new-external-id", "cust_1"});
    CHECK(external_id(second) == "cust_1");
    CHECK(call(redis, {"account", "delete", "--external-id", "cust_1"})
          == json{{"id", second}, {"deleted", true}});
    call(redis, {"account", "set", first, "--new-external-id", "cust_1"});
    CHECK(external_id(first) == "cust_1");
    CHECK(call(redis, {"account", "set", first, "--new-external-id", "none"})
              .at("external_id")
              .is_null());
    fails(redis, {"account", "show", "--external-id", "cust_1"}, 3,
          "not_found");

    call(redis, {"account", "set", first, "--new-external-id", "{x}:*"});
    const auto key = create_key(redis, {"--external-id", "{x}:*"});
    CHECK(key.account == first);
    CHECK(call(redis, {"key", "list", "--external-id", "{x}:*"}).size() == 1);
    for (const char* command :
         {"disable", "enable", "unban", "reset", "show"}) {
        INFO(command);
        CHECK(ctl(redis.url(), {"account", command, "--external-id", "{x}:*"})
                  .code
              == 0);
    }
    for (const char* wrong : {"", "a b", "\u00e9", "a\n"}) {
        CHECK(
            ctl(redis.url(), {"account", "create", "--external-id", wrong}).code
            == 2);
    }
    CHECK(ctl(redis.url(),
              {"account", "create", "--external-id", std::string(129, 'x')})
              .code
          == 2);
    create_account(redis, {"--external-id", std::string(128, 'x')});
}

TEST_CASE("command line accounts: an account with keys is not deleted")
{
    RedisServer redis;
    const auto account = create_account(redis, {"--label", "Acme"});
    const auto key = create_key(redis, {"--account", account});
    fails(redis, {"account", "delete", account}, 1, "account_in_use");
    REQUIRE(ctl(redis.url(), {"key", "delete", key.id}).code == 0);
    // It did not come into being with the key.
    CHECK(call(redis, {"account", "show", account}).at("id") == account);
    const auto kept =
        on_terminal(redis.url(), "account delete " + account, "n\n");
    CHECK(kept.code == 1);
    CHECK(contains(kept.out, "label Acme"));
    const auto gone =
        on_terminal(redis.url(), "account delete " + account, "y\n");
    CHECK(gone.code == 0);
    for (const char* command : {"show", "set --label x", "disable", "enable",
                                "delete", "unban", "reset"}) {
        INFO(command);
        Words words = {"account"};
        for (const auto& word : split(command, ' ')) {
            words.push_back(word);
        }
        words.push_back(account);
        fails(redis, words, 3, "not_found");
    }
    fails(redis, {"key", "create", "--account", account}, 3, "not_found");
    CHECK(call(redis, {"account", "list"}).empty());
}

TEST_CASE("command line accounts: an account that came with a key goes with it")
{
    RedisServer redis;
    const auto alone = create_key(redis);
    const auto named = create_key(redis);
    const auto shared = create_key(redis);
    call(redis, {"account", "set", named.account, "--label", "kept"});
    call(redis, {"account", "disable", alone.account});
    call(redis, {"account", "enable", alone.account});
    const auto further = create_key(redis, {"--account", shared.account});
    for (const Key& key : {alone, named, shared, further}) {
        CHECK(call(redis, {"account", "show", key.account}).at("id")
              == key.account);
        REQUIRE(ctl(redis.url(), {"key", "delete", key.id}).code == 0);
    }
    fails(redis, {"account", "show", alone.account}, 3, "not_found");
    CHECK(call(redis, {"account", "list"}).size() == 2);
}

TEST_CASE("command line accounts: key import takes an account")
{
    Store store;
    const auto account = create_account(
        store.redis, {"--external-id", "cust_1", "--plan", "business"});
    const auto key = import_key(store.redis, "a-key-made-elsewhere",
                                {"--external-id", "cust_1"});
    CHECK(key.account == account);
    Http http(store.nginx.url(), key.secret);
    CHECK(number(http.get("/v1/pets"), "x-ratelimit-limit") == 1000);
    fails(store.redis,
          {"key", "import", "--account", account, "--sha256",
           "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a0"},
          2, "usage");
    const auto again =
        ctl(store.redis.url(),
            {"key", "import", "--account", account, "--json"}, key.secret);
    CHECK(again.code == 1);
    CHECK(json::parse(again.err).at("code") == "key_exists");
    fails(store.redis, {"key", "create", "--account", "no-such"}, 3,
          "not_found");
    fails(store.redis,
          {"key", "create", "--account", account, "--external-id", "cust_1"}, 2,
          "usage");
}

TEST_CASE("command line accounts: values are checked")
{
    RedisServer redis;
    const auto account = create_account(redis);
    for (const Words& wrong : {Words{"--per-month", "0"},
                               {"--per-month", "x"},
                               {"--per-minute", "1000000000001"},
                               {"--plan", "No Plan"},
                               {"--plan", "enterprise"},
                               {"--label", "a\x1b"},
                               {"--label", "\u202e"}}) {
        INFO(wrong.front());
        CHECK(ctl(redis.url(), joined({"account", "create"}, wrong)).code == 2);
        CHECK(ctl(redis.url(), joined({"account", "set", account}, wrong)).code
              == 2);
    }
    CHECK(ctl(redis.url(), {"account", "set", account}).code == 2);
    CHECK(ctl(redis.url(), {"account", "create", "--external-id", "none"}).code
          == 2);
    CHECK(ctl(redis.url(), {"account", "show"}).code == 2);
    CHECK(ctl(redis.url(), {"account", "show", account, "--external-id", "x"})
              .code
          == 2);
    const auto warned =
        ctl(redis.url(),
            {"account", "set", account, "--per-day", "9", "--per-month", "8"});
    CHECK(warned.code == 0);
    CHECK(contains(warned.err, "9 per day exceeds that of 8 per month"));
    CHECK(
        contains(ctl(redis.url(), {"account", "create", "--plan", "prо-x"}).err,
                 "--plan"));
    CHECK(contains(ctl(redis.url(), {"account", "create", "--plan", "prp"}).err,
                   "Did you mean 'pro'?"));
}

TEST_CASE("command line accounts: an empty value is not the same as none")
{
    RedisServer redis;
    for (const Words& words : {Words{"key", "create", "--account", ""},
                               {"key", "create", "--external-id", ""},
                               {"key", "create", "--external-id", "a b"},
                               {"key", "import", "--external-id", "", "a-key"},
                               {"key", "import", "--sha256", ""},
                               {"key", "find", "--sha256", ""},
                               {"key", "list", "--account", ""},
                               {"key", "list", "--external-id", ""},
                               {"account", "show", "--external-id", ""},
                               {"usage", "--external-id", ""},
                               {"plan", "set", "gold", "--per-minute", "1",
                                "--per-day", "2", "--per-month", ""},
                               {"move", "--to", ""}}) {
        INFO(words[0] << ' ' << words[1] << ' ' << words[2]);
        const auto refused = ctl(redis.url(), words, "a-key\n");
        CHECK(refused.code == 2);
        CHECK(refused.out.empty());
    }
    CHECK(call(redis, {"account", "list"}).empty());
    CHECK(call(redis, {"key", "list"}).empty());
}

TEST_CASE("command line accounts: words of the command line name nothing")
{
    RedisServer redis;
    for (const std::string name : {"none", "all", "unknown"}) {
        CHECK(ctl(redis.url(),
                  {"plan", "set", name, "--per-minute", "1", "--per-day", "2"})
                  .code
              == 2);
    }
    const auto key = create_key(redis, {"--scopes", "admin"});
    call(redis, {"key", "set", key.id, "--scopes", "none"});
    CHECK(show_key(redis, key.id).at("scopes") == json({"read", "write"}));
}

TEST_CASE("command line accounts: what lacks numbers of enterprise can change")
{
    RedisServer redis;
    const auto account =
        create_account(redis, {"--plan", "enterprise", "--per-minute", "5",
                               "--per-day", "50"});
    redis.command({"HDEL", "petstore:account:" + account, "per_day"});
    call(redis, {"account", "set", account, "--label", "left"});
    fails(redis, {"account", "set", account, "--per-minute", "6"}, 2, "usage");
}

TEST_CASE("command line accounts: a plan enterprise in Redis gives its numbers")
{
    RedisServer redis;
    const Words enterprise = {"account", "create", "--plan", "enterprise"};
    CHECK(ctl(redis.url(), enterprise).code == 2);
    call(redis,
         {"plan", "set", "enterprise", "--per-minute", "5", "--per-day", "6"});
    CHECK(ctl(redis.url(), enterprise).code == 0);
}

TEST_CASE("command line accounts: exported keys have their own, and come back")
{
    RedisServer old;
    const auto account =
        create_account(old, {"--external-id", "cust_1", "--plan", "pro",
                             "--per-month", "900"});
    const auto plain = create_key(old, {"--account", account});
    const auto own = create_key(
        old, {"--account", account, "--plan", "business", "--per-day", "5"});
    ctl(old.url(), {"plan", "set", "gold", "--per-minute", "7", "--per-day",
                    "70", "--per-month", "700"});
    ctl(old.url(),
        {"plan", "set", "tin", "--per-minute", "1", "--per-day", "2"});
    const auto exported = ctl(old.url(), {"key", "export"}).out;
    for (const auto& line : split(exported, '\n')) {
        const auto object = json::parse(line);
        if (!object.contains("sha256")) {
            continue;  // a plan or an account
        }
        const bool is_own = object.at("id") == own.id;
        CHECK(object.at("own")
              == (is_own ? json{{"plan", "business"},
                                {"per_minute", nullptr},
                                {"per_day", 5},
                                {"per_month", nullptr}}
                         : json{{"plan", nullptr},
                                {"per_minute", nullptr},
                                {"per_day", nullptr},
                                {"per_month", nullptr}}));
    }
    RedisServer redis;
    ctl(redis.url(),
        {"plan", "set", "tin", "--per-minute", "8", "--per-day", "9"});
    const auto restored =
        ctl(redis.url(), {"key", "restore", "-", "--json"}, exported);
    INFO(restored.err);
    CHECK(restored.code == 0);
    // What is there already stays.
    CHECK(redis.command({"HGET", "petstore:plans", "tin"}).text == "8 9");
    CHECK(redis.command({"HGET", "petstore:plans", "gold"}).text == "7 70 700");
    const auto refused = ctl(
        redis.url(), {"key", "restore", "-"},
        R"({"plan":{"name":"gold","per_minute":0,"per_day":1,"per_month":null}})");
    CHECK(refused.code == 1);
    CHECK(
        contains(refused.err, "line 1: \"per_minute\" is missing or invalid"));
    for (const Key& key : {plain, own}) {
        const auto before = show_key(old, key.id);
        const auto after = show_key(redis, key.id);
        CHECK(after.at("account") == account);
        CHECK(after.at("overrides") == before.at("overrides"));
    }
    CHECK(show_key(redis, own.id).at("per_day") == 5);
}
