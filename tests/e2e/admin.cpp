// docs/admin.md: what the admin API answers.
#include <chrono>
#include <future>
#include <set>
#include <tuple>

#include "support/admin_store.h"
#include "support/limits.h"

using namespace petstore::e2e;
using nlohmann::json;

namespace {

json by_ctl(const Store& store, std::vector<std::string> arguments)
{
    arguments.emplace_back("--json");
    const auto output = ctl(store.redis.url(), arguments);
    INFO(output.err);
    REQUIRE(output.code == 0);
    return json::parse(output.out);
}

// All entries of a list, by following its links.
std::vector<json> all_of(AdminStore& store, const std::string& path)
{
    return walk(store.admin, "/admin/v1" + path);
}

void check_error(AdminStore& store, const std::string& method,
                 const std::string& path, const std::string& body, int status,
                 const std::string& code)
{
    INFO(method << ' ' << path << ' ' << body);
    expect_error(store.send(method, path, body), status, code);
}

}  // namespace

TEST_CASE("admin: petstorectl and the API show the same objects")
{
    AdminStore store;
    const json account = store.made(
        "/accounts",
        R"({"external_id":"cust_42","label":"Acm\u00e9","plan":"pro","per_month":9000})");
    const std::string id = account["id"];
    const json key = store.made(
        "/keys",
        R"({"external_id":"cust_42","label":"production","scopes":["read","orders:write"],"expires":"2031-01-01","per_minute":7})");
    Http customer(store.nginx.url(), key["key"]);
    CHECK(customer.get("/v1/pets").status == 200);

    CHECK(store.get("/accounts/" + id)
          == by_ctl(store, {"account", "show", id}));
    CHECK(store.get("/accounts?external_id=cust_42")
          == json::array({by_ctl(store, {"account", "show", id})}));
    const std::string key_id = key["id"];
    CHECK(store.get("/keys/" + key_id)
          == by_ctl(store, {"key", "show", key_id}));
    json shown = key;
    shown.erase("key");
    CHECK(store.get("/keys/" + key_id) == shown);
    CHECK(store.get("/keys?account=" + id) == json::array({shown}));
    CHECK(store.get("/keys?external_id=cust_42") == json::array({shown}));
    CHECK(store.get("/plans") == by_ctl(store, {"plan", "list"}));
    const auto usage = store.get("/accounts/" + id + "/usage");
    CHECK(usage == by_ctl(store, {"usage", id}));
    CHECK(usage["days"].back()["admitted"] == 1);
    CHECK(usage["last_used"] == usage["days"].back()["date"]);
    CHECK(store.get("/accounts/" + id + "/usage?by=month")
          == by_ctl(store, {"usage", id, "--by", "month"}));
    auto listed = all_of(store, "/usage?limit=1");
    CHECK(listed.size() == 3);
    CHECK(std::count(listed.begin(), listed.end(), usage) == 1);
}

TEST_CASE("admin: a created key works at once, and its changes within a second")
{
    AdminStore store;
    const json key = store.made("/keys", R"({"plan":"pro"})");
    const std::string path = "/keys/" + key["id"].get<std::string>();
    Http customer(store.nginx.url(), key["key"]);
    CHECK(customer.get("/v1/pets").status == 200);

    CHECK(store.send("PATCH", path, R"({"scopes":["write"]})").status == 200);
    CHECK(wait_until([&] { return customer.get("/v1/pets").status == 403; }));
    CHECK(store.send("PATCH", path, R"({"scopes":null,"disabled":true})")
              .json()["state"]
          == "disabled");
    CHECK(wait_until([&] { return customer.get("/v1/pets").status == 401; }));
    CHECK(store.send("PATCH", path, R"({"disabled":false})").status == 200);
    CHECK(wait_until([&] { return customer.get("/v1/pets").status == 200; }));

    const json next = store.made(path + "/rotate", R"({"grace":"1h"})");
    CHECK(next["account"] == key["account"]);
    Http renewed(store.nginx.url(), next["key"]);
    CHECK(renewed.get("/v1/pets").status == 200);
    CHECK(customer.get("/v1/pets").status == 200);
    check_error(store, "POST", path + "/rotate", "", 409, "already_rotated");

    CHECK(store.send("DELETE", path).status == 204);
    CHECK(wait_until([&] { return customer.get("/v1/pets").status == 401; }));
    check_error(store, "GET", path, "", 404, "not_found");
    CHECK(renewed.get("/v1/pets").status == 200);
}

TEST_CASE("admin: a revoked key completes no request whose body is late")
{
    AdminStore store;
    const std::string new_key = R"({"scopes":["admin"]})";
    const std::string pet =
        R"({"name":"Rex","categoryId":7,"status":"available"})";
    // Admitted; the rest of the body is to follow.
    const auto begin = [&](const std::string& path, const Key& key,
                           const std::string& body) {
        RawClient client(store.nginx.port());
        client.send("POST " + path
                    + " HTTP/1.1\r\nHost: a\r\nAuthorization: "
                      "Bearer "
                    + key.secret
                    + "\r\nExpect: 100-continue\r\nContent-Length: "
                    + std::to_string(body.size()) + "\r\n\r\n");
        CHECK(client.read().status == 100);
        client.send(body.substr(0, 1));
        return client;
    };
    const auto end = [](RawClient& client, const std::string& body) {
        client.send(body.substr(1));
        return client.read();
    };
    const Key leaked = create_key(store.redis, {"--scopes", "admin"});
    const Key valid = create_key(store.redis, {"--scopes", "admin"});
    const Key disabled = create_key(store.redis, {"--scopes", "admin"});
    auto by_leaked = begin("/admin/v1/keys", leaked, new_key);
    auto by_valid = begin("/admin/v1/keys", valid, new_key);
    auto by_disabled = begin("/admin/v1/keys", disabled, new_key);
    const Key customer = create_key(store.redis);
    auto by_customer = begin("/v1/pets", customer, pet);
    auto by_other = begin("/v1/pets", store.key, pet);

    by_ctl(store, {"key", "delete", leaked.id, "--yes"});
    by_ctl(store, {"account", "disable", disabled.account});
    by_ctl(store, {"key", "disable", customer.id});
    const auto before = by_ctl(store, {"key", "list"}).size();
    const auto revoked = std::chrono::steady_clock::now();
    REQUIRE(wait_until(
        [&] { return std::chrono::steady_clock::now() - revoked >= 1s; }));

    expect_error(end(by_leaked, new_key), 401, "invalid_api_key");
    expect_error(end(by_disabled, new_key), 401, "invalid_api_key");
    expect_error(end(by_customer, pet), 401, "invalid_api_key");
    CHECK(by_ctl(store, {"key", "list"}).size() == before);
    expect_json(store.http.get("/v1/pets"), 200, "[]");

    const auto made = end(by_valid, new_key);
    CHECK(made.status == 201);
    remember_secret(made.json()["key"]);
    CHECK(end(by_other, pet).status == 201);
    const auto usage = by_ctl(store, {"usage", valid.account});
    CHECK(usage["days"].back()["admitted"] == 1);
}

TEST_CASE("admin: a customer's key is imported by its digest")
{
    AdminStore store;
    const std::string secret = "key-of-another-gateway-1";
    remember_secret(secret);
    const std::string digest =
        "fd9b895b04471efa41074ca41786e4e2a12381825647f0a486c5d8c78d3b5b03";
    const std::string body = R"({"sha256":")" + digest + R"("})";
    const json key = store.made("/keys", body);
    CHECK_FALSE(key.contains("key"));
    Http customer(store.nginx.url(), secret);
    CHECK(customer.get("/v1/pets").status == 200);
    check_error(store, "POST", "/keys", body, 409, "key_exists");
    CHECK(store.get("/keys?sha256=" + digest) == json::array({key}));
    CHECK(store.get("/keys?sha256=" + std::string(64, '0')) == json::array());
}

TEST_CASE("admin: accounts have unique external ids and are deleted last")
{
    AdminStore store;
    const json account = store.made("/accounts", R"({"external_id":"c1"})");
    const std::string path = "/accounts/" + account["id"].get<std::string>();
    check_error(store, "POST", "/accounts", R"({"external_id":"c1"})", 409,
                "external_id_taken");
    const json other = store.made("/accounts", "{}");
    check_error(store, "PATCH", "/accounts/" + other["id"].get<std::string>(),
                R"({"external_id":"c1"})", 409, "external_id_taken");
    const json key = store.made("/keys", R"({"external_id":"c1"})");
    check_error(store, "DELETE", path, "", 409, "account_in_use");
    CHECK(store.send("DELETE", "/keys/" + key["id"].get<std::string>()).status
          == 204);
    CHECK(store.send("DELETE", path).status == 204);
    check_error(store, "GET", path, "", 404, "not_found");
    check_error(store, "DELETE", path, "", 404, "not_found");
    // Usage is kept, and the external id is free.
    CHECK(store.get(path + "/usage")["external_id"] == "c1");
    CHECK(store.made("/accounts", R"({"external_id":"c1"})")["id"]
          != account["id"]);
}

TEST_CASE("admin: plans in Redis")
{
    AdminStore store;
    const auto put =
        store.send("PUT", "/plans/startup",
                   R"({"per_minute":5,"per_day":50,"per_month":500})");
    CHECK(put.status == 200);
    CHECK(put.json()
          == json{{"name", "startup"},
                  {"per_minute", 5},
                  {"per_day", 50},
                  {"per_month", 500},
                  {"source", "redis"}});
    for (const char* name : {"Startup", "none", "all", "unknown"}) {
        check_error(store, "PUT", std::string("/plans/") + name,
                    R"({"per_minute":5,"per_day":5})", 400, "invalid_field");
    }
    check_error(store, "POST", "/accounts", R"({"plan":"nobody"})", 400,
                "invalid_field");
    const json key = store.made("/keys", R"({"plan":"startup"})");
    Http customer(store.nginx.url(), key["key"]);
    CHECK(wait_until(
        [&] { return rate_headers_of(customer.get("/v1/pets")).limit == 5; }));
    check_error(store, "DELETE", "/plans/startup", "", 409, "plan_in_use");
    CHECK(store
              .send("PATCH", "/accounts/" + key["account"].get<std::string>(),
                    R"({"plan":"pro"})")
              .status
          == 200);
    CHECK(store.send("DELETE", "/plans/startup").status == 204);
    check_error(store, "DELETE", "/plans/startup", "", 404, "not_found");
}

TEST_CASE("admin: unban and reset")
{
    NginxOptions options;
    options.http = "petstore_ban threshold=1 window=60s duration=300s max=1h;";
    AdminStore store(options);
    const json key = store.made(
        "/keys", R"({"plan":"enterprise","per_minute":1,"per_day":9})");
    const std::string account =
        "/accounts/" + key["account"].get<std::string>();
    Http customer(store.nginx.url(), key["key"]);
    CHECK(customer.get("/v1/pets").status == 200);
    CHECK(wait_until([&] {
        return customer.get("/v1/pets").json()["code"] == "api_key_banned";
    }));
    CHECK(store.send("POST", account + "/unban").status == 204);
    CHECK(wait_until([&] {
        return customer.get("/v1/pets").json()["code"] == "rate_limit_exceeded";
    }));
    CHECK(store.send("POST", account + "/unban", "{}").status == 204);
    CHECK(store.send("POST", account + "/reset").status == 204);
    CHECK(wait_until([&] { return customer.get("/v1/pets").status == 200; }));
    CHECK(store.get(account + "/usage")["days"].back()["admitted"] == 2);
}

TEST_CASE("admin: only a key with the scope is served, and is charged")
{
    AdminStore store;
    Http nobody(store.nginx.url());
    expect_error(nobody.get("/admin/v1/keys"), 401, "missing_api_key");
    Http unknown(store.nginx.url(), "unknown");
    expect_error(unknown.get("/admin/v1/keys"), 401, "invalid_api_key");
    // A path that does not exist comes first, then the method, then the scope.
    auto& plain = store.http;
    expect_error(plain.get("/admin/v1/nope"), 404, "not_found");
    const auto method = plain.request("PUT", "/admin/v1/keys");
    expect_error(method, 405, "method_not_allowed");
    CHECK(method.header("allow") == "GET, HEAD, POST, OPTIONS");
    for (const char* path :
         {"/keys", "/accounts", "/usage", "/plans", "/openapi.json"}) {
        expect_error(plain.get(std::string("/admin/v1") + path), 403,
                     "insufficient_scope");
    }
    CHECK(AdminStore::send_to(plain, "POST", "/keys", "{broken").status == 403);

    const auto before = number_of(store.redis, store.admin_key, Number::minute);
    CHECK(store.send("GET", "/keys").status == 200);
    CHECK(store.send("POST", "/keys", "{broken").status == 400);
    CHECK(number_of(store.redis, store.admin_key, Number::minute)
          == before + 2);
    const auto options = nobody.request("OPTIONS", "/admin/v1/keys/x");
    CHECK(options.status == 204);
    CHECK(options.header("allow") == "GET, HEAD, PATCH, DELETE, OPTIONS");

    // The scope is never implied, also not by a store's own key.
    CHECK(store.made("/keys", "{}")["scopes"] == json({"read", "write"}));
}

TEST_CASE("admin: a limited key is limited here, too")
{
    AdminStore store;
    const auto key =
        create_key(store.redis, {"--scopes", "admin", "--plan", "enterprise",
                                 "--per-minute", "2", "--per-day", "100"});
    Http http(store.nginx.url(), key.secret);
    CHECK(http.get("/admin/v1/plans").status == 200);
    CHECK(http.get("/admin/v1/plans").status == 200);
    expect_error(http.get("/admin/v1/plans"), 429, "rate_limit_exceeded");
}

TEST_CASE("admin: own key and account")
{
    AdminStore store;
    const std::string key = "/keys/" + store.admin_key.id;
    const std::string account = "/accounts/" + store.admin_key.account;
    check_error(store, "PATCH", key, R"({"label":"x"})", 409, "own_key");
    check_error(store, "DELETE", key, "", 409, "own_key");
    check_error(store, "PATCH", account, R"({"label":"x"})", 409, "own_key");
    check_error(store, "DELETE", account, "", 409, "own_key");
    CHECK(store.send("POST", account + "/reset").status == 204);
    const json next = store.made(key + "/rotate", R"({"grace":"1h"})");
    CHECK(next["scopes"] == json({"admin"}));
    CHECK(store.send("GET", "/keys").status == 200);
}

TEST_CASE("admin: bodies and headers that are refused")
{
    NginxOptions options;
    options.http = "petstore_max_body_size 1k;";
    AdminStore store(options);
    const auto with = [&](const std::string& method, const std::string& path,
                          const Headers& headers, const std::string& body) {
        return store.admin.send({method, "/admin/v1" + path, headers, body});
    };
    CHECK(with("PATCH", "/keys/x",
               {{"Content-Type", "application/merge-patch+json"}}, "{}")
              .status
          == 404);
    CHECK(with("POST", "/keys",
               {{"Content-Type", "application/merge-patch+json"}}, "{}")
              .status
          == 415);
    CHECK(with("POST", "/keys", {{"Content-Type", "text/plain"}}, "{}").status
          == 415);
    CHECK(with("POST", "/keys", {{"Content-Encoding", "gzip"}}, "{}").status
          == 415);
    CHECK(with("POST", "/keys", {}, std::string(2000, ' ')).status == 413);
    CHECK(store
              .send("POST", "/keys", "{}",
                    {{"Idempotency-Key", std::string(256, 'x')}})
              .status
          == 400);
    check_error(store, "POST", "/accounts", R"({"id":"x"})", 400,
                "read_only_field");
    check_error(store, "POST", "/accounts", R"({"x":1})", 400, "invalid_field");
    check_error(store, "POST", "/accounts", "[]", 400, "invalid_json");
    CHECK(store.send("POST", "/keys").status == 400);
    check_error(store, "GET", "/keys?limit=0", "", 400, "invalid_parameter");
    check_error(store, "GET", "/usage?from=2026-11-31", "", 400,
                "invalid_parameter");
}

TEST_CASE("admin: a change whose condition does not hold is not made")
{
    AdminStore store;
    const std::string account = "/accounts/"
                                + store.made("/accounts", R"({"label":"a"})")
                                      .at("id")
                                      .get<std::string>();
    const json before = store.get(account);
    const std::size_t accounts = all_of(store, "/accounts").size();
    for (const auto& [header, value] : {std::pair("If-Match", "\"x\""),
                                        {"If-None-Match", "*"},
                                        {"If-None-Match", "*\t"}}) {
        const Headers condition{{header, value}};
        INFO(header);
        for (const auto& [method, path, body] :
             {std::tuple("PATCH", account, R"({"label":"b"})"),
              {"PUT", "/plans/p1", R"({"per_minute":1,"per_day":1})"},
              {"POST", "/accounts", "{}"},
              {"DELETE", account, ""}}) {
            INFO(method);
            expect_error(store.send(method, path, body, condition), 412,
                         "bad_request");
        }
        CHECK(store.get(account) == before);
        CHECK(all_of(store, "/accounts").size() == accounts);
    }
    const Headers any{{"If-Match", "*"}};
    expect_error(
        store.send("PUT", "/plans/p1", R"({"per_minute":1,"per_day":1})", any),
        412, "bad_request");
    CHECK(by_ctl(store, {"plan", "list"}).size() == 4);
    for (const Headers& holds : {any, Headers{{"If-None-Match", "\"x\""}}}) {
        CHECK(store.send("PATCH", account, R"({"label":"b"})", holds).status
              == 200);
    }
}

TEST_CASE("admin: a walk misses nothing although entries are deleted meanwhile")
{
    AdminStore store;
    // Copies of a key, more than one reply to HSCAN has.
    constexpr int kCopies = 2'000;
    const auto key = create_key(store.redis);
    const char* const copy =
        "local record, ids = redis.call('HGETALL', KEYS[1]), {} "
        "for i = 1, tonumber(ARGV[1]) do"
        "  local hash = redis.sha1hex(i) "
        "  local digest = hash .. string.sub(hash, 1, 24) "
        "  ids[i] = string.sub(hash, 1, 16) "
        "  redis.call('HSET', 'petstore:key:' .. digest, unpack(record)) "
        "  redis.call('HSET', 'petstore:key:' .. digest, 'id', ids[i]) "
        "  redis.call('HSET', 'petstore:keys', ids[i], digest) "
        "end return ids";
    const auto ids = store.redis.command(
        {"EVAL", copy, "1",
         "petstore:key:"
             + store.redis.command({"HGET", "petstore:keys", key.id}).text,
         std::to_string(kCopies)});
    std::set<std::string> unseen;
    for (const auto& id : ids.items) {
        unseen.insert(id.text);
    }
    REQUIRE(unseen.size() == kCopies);

    // Pages are deleted as they are seen, and then no more.
    std::string path = "/admin/v1/keys?limit=100";
    for (int page = 0; !path.empty(); ++page) {
        const auto response = store.admin.get(path);
        REQUIRE(response.status == 200);
        Words seen{"HDEL", "petstore:keys"};
        for (const json& object : response.json()) {
            seen.push_back(object["id"]);
            unseen.erase(seen.back());
        }
        if (page < 4) {
            store.redis.command(seen);
        }
        path = next_of(response);
    }
    CHECK(unseen.empty());
}

TEST_CASE("admin: one of two gets the external id that both want")
{
    AdminStore store;
    const std::string account = store.made("/accounts", "{}").at("id");
    for (int i = 0; i < 20; ++i) {
        const std::string body =
            R"({"external_id":"x)" + std::to_string(i) + R"("})";
        auto changing = std::async(std::launch::async, [&] {
            Http other(store.nginx.url(), store.admin_key.secret);
            return AdminStore::send_to(other, "PATCH", "/accounts/" + account,
                                       body)
                .status;
        });
        const int created = store.send("POST", "/accounts", body).status;
        const int changed = changing.get();
        INFO(created << ' ' << changed);
        CHECK((created == 201) + (changed == 200) == 1);
        CHECK((created == 409) + (changed == 409) == 1);
    }
}

TEST_CASE("admin: lists have links, and a walk finds each entry")
{
    AdminStore store;
    std::set<std::string> accounts;
    std::set<std::string> keys;
    for (int i = 0; i < 150; ++i) {
        const json key = store.made("/keys", i % 3 == 0 ? R"({"plan":"pro"})"
                                                        : R"({"label":"k"})");
        keys.insert(key["id"]);
        accounts.insert(key["account"]);
    }
    std::set<std::string> found;
    for (const json& key : all_of(store, "/keys?limit=7")) {
        found.insert(key["id"]);
    }
    CHECK(std::includes(found.begin(), found.end(), keys.begin(), keys.end()));
    found.clear();
    for (const json& account : all_of(store, "/accounts?limit=100")) {
        found.insert(account["id"]);
    }
    CHECK(std::includes(found.begin(), found.end(), accounts.begin(),
                        accounts.end()));
    std::size_t pro = 0;
    for (const json& account : all_of(store, "/accounts?plan=pro&limit=9")) {
        CHECK(account["plan"] == "pro");
        ++pro;
    }
    CHECK(pro == 50);
    const auto page = store.send("GET", "/keys?limit=5");
    CHECK(page.json().size() == 5);
    CHECK(contains(page.header("link"), "</admin/v1/keys?limit=5&cursor="));
    CHECK(page.header("cache-control") == "no-store");
    check_error(store, "GET", "/keys?limit=5&cursor=x", "", 400,
                "invalid_parameter");
}

TEST_CASE("admin: the access log and the metrics name operations")
{
    NginxOptions options;
    options.http = "log_format operations '$petstore_operation $status';";
    options.server = "access_log %DIR%/operations.log operations; "
                     "location = /status { petstore_status; }";
    AdminStore store(options);
    store.made("/keys", "{}");
    CHECK(store.send("GET", "/plans").status == 200);
    CHECK(store.send("DELETE", "/keys/nope").status == 404);
    CHECK(wait_until([&] {
        return read_file(store.nginx.path("operations.log"))
               == "createKey 201\nlistPlans 200\ndeleteKey 404\n";
    }));
    const std::string metrics = store.http.get("/status").body;
    CHECK(contains(
        metrics,
        "petstore_requests_total{operation=\"admin\",status=\"201\"} 1\n"));
}

TEST_CASE("admin: an index that Redis returns whole is listed")
{
    AdminStore store;
    store.redis.command({"CONFIG", "SET", "hash-max-listpack-entries", "8192"});
    // Entries without a record, after all keys.
    Words entries = {"HSET", "petstore:keys"};
    for (int i = 0; i < 4200; ++i) {
        entries.push_back("~" + std::to_string(i));
        entries.push_back(std::string(64, 'a'));
    }
    REQUIRE(store.redis.command(entries).integer == 4200);
    REQUIRE(store.redis.command({"OBJECT", "ENCODING", "petstore:keys"}).text
            == "listpack");
    const json page = store.get("/keys?limit=1");
    REQUIRE(page.size() == 1);
    const std::string id = page[0]["id"];
    CHECK(id.front() != '~');
}

TEST_CASE("admin: a damaged record is a 500 and a line in the log")
{
    AdminStore store;
    const json key = store.made("/keys", "{}");
    const std::string account = key["account"];
    store.redis.command(
        {"HSET", "petstore:account:" + account, "created", "x"});
    expect_error(store.send("GET", "/accounts/" + account), 500,
                 "internal_error");
    CHECK(wait_until([&] {
        return contains(store.nginx.error_log(),
                        "the record of account " + account + " is damaged");
    }));
    // Lists leave it out.
    for (const json& each : all_of(store, "/accounts")) {
        CHECK(each["id"] != account);
    }
}
