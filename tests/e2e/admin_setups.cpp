// docs/admin.md and docs/directives.md: where the admin API works, with whose
// rights, and what `nginx -t` says.
#include "support/admin_store.h"
#include "support/cluster_world.h"
#include "support/two_redis.h"

using namespace petstore::e2e;
using nlohmann::json;

namespace {

// Every operation, with one key.
void exercise(Http& http, const std::string& label)
{
    const auto send = [&](const std::string& method, const std::string& path,
                          const std::string& body = "") {
        const auto response = AdminStore::send_to(http, method, path, body);
        INFO(method << ' ' << path << ' ' << response.body);
        CHECK(response.status / 100 == 2);
        const auto object = response.json();
        if (object.is_object() && object.contains("key")) {
            remember_secret(object["key"]);
        }
        return object;
    };
    const json account =
        send("POST", "/accounts", "{\"external_id\":\"" + label + "\"}");
    const std::string at = "/accounts/" + account["id"].get<std::string>();
    const json key =
        send("POST", "/keys", "{\"external_id\":\"" + label + "\"}");
    const std::string key_at = "/keys/" + key["id"].get<std::string>();
    send("PUT", "/plans/" + label, R"({"per_minute":7,"per_day":70})");
    send("PATCH", at, "{\"plan\":\"" + label + "\",\"label\":\"L\"}");
    send("PATCH", key_at, R"({"label":"L"})");
    send("GET", at);
    send("GET", key_at);
    send("GET", at + "/usage");
    const json next = send("POST", key_at + "/rotate");
    CHECK(next["plan"] == label);
    send("POST", at + "/unban");
    send("POST", at + "/reset");
    send("GET", "/usage");
    send("GET", "/plans");
    CHECK(send("GET", "/accounts?external_id=" + label).size() == 1);
    CHECK(send("GET", "/keys?external_id=" + label).size() == 2);
    send("PATCH", at, R"({"plan":null})");
    send("DELETE", "/plans/" + label);
    send("DELETE", key_at);
    send("DELETE", "/keys/" + next["id"].get<std::string>());
    send("DELETE", at);
}

// The text of `nginx -t` for a location with these lines.
Output check(const std::string& lines)
{
    NginxOptions options;
    options.redis = "redis://127.0.0.1:6379";
    options.server = lines;
    return NginxServer::check(options);
}

std::string rules(const std::string& heading)
{
    const auto page =
        read_file(std::string(E2E_SUPPORT) + "/../../../docs/redis-keys.md");
    const auto start = page.find("```\n", page.find(heading)) + 4;
    auto text = page.substr(start, page.find("```", start) - start);
    replace_all(text, "\n", " ");
    return text;
}

}  // namespace

TEST_CASE("admin setups: two Redis")
{
    const TwoRedis redis;
    const auto key = redis.create_key({"--scopes", "admin"});
    NginxServer nginx(redis.with(with_admin()));
    Http http(nginx.url(), key.secret);
    exercise(http, "one");
    // Counters live in the limit Redis, records in the main one.
    CHECK(redis.limits.command({"KEYS", "petstore:account:*"}).items.empty());
}

TEST_CASE("admin setups: a Cluster")
{
    ClusterWorld world({}, with_admin());
    const auto key = world.redis.create_key({"--scopes", "admin"});
    Http http(world.nginx.url(), key.secret);
    exercise(http, "one");
    exercise(http, "two");
}

TEST_CASE("admin setups: a user of its own has the rights of petstorectl")
{
    const RedisServer redis;
    const auto key = create_key(redis, {"--scopes", "admin"});
    // Workers may read keys and accounts, and count.
    std::vector<std::string> worker = {"ACL", "SETUSER", "worker", "on", ">w1"};
    for (const auto& rule :
         split("%R~petstore:key:* %R~petstore:account:* ~petstore:{*}:* "
               "%R~petstore:limits-place %R~petstore:plans ~petstore:hosts "
               "+@all -@dangerous +info",
               ' ')) {
        worker.push_back(rule);
    }
    REQUIRE(redis.command(worker).text == "OK");
    std::vector<std::string> admin = {"ACL", "SETUSER", "admin", "on", ">a1"};
    std::string text = rules("## Access rules");
    text = text.substr(text.find("resetkeys"));
    for (const auto& rule :
         split(text + rules("`petstorectl` needs these rules"), ' ')) {
        if (!rule.empty()) {
            admin.push_back(rule);
        }
    }
    const auto made = redis.command(admin);
    INFO(made.text);
    REQUIRE(made.text == "OK");
    TempDir dir;
    write_file(dir / "password", "a1\n");
    NginxOptions options;
    options.redis = "redis://worker:w1@" + redis.address();
    NginxServer without(with_admin(options));
    Http refused(without.url(), key.secret);
    CHECK(AdminStore::send_to(refused, "POST", "/keys", "{}").status == 503);

    options.http = "petstore_admin_redis_user admin; "
                   "petstore_admin_redis_password_file "
                   + (dir / "password") + ";";
    options.server = "location = /ready { petstore_health ready; } "
                     "location = /status { petstore_status; }";
    NginxServer nginx(with_admin(options));
    Http http(nginx.url(), key.secret);
    exercise(http, "one");
    CHECK(contains(http.get("/status").body,
                   "petstore_redis_up{redis=\"redis://" + redis.address()
                       + "/0 (admin)\"} 1\n"));

    // Without its rights only administration fails.
    redis.command({"ACL", "SETUSER", "admin", "off"});
    redis.command({"CLIENT", "KILL", "USER", "admin"});
    CHECK(wait_until([&] {
        return AdminStore::send_to(http, "POST", "/keys", "{}").status == 503;
    }));
    CHECK(http.get("/v1/pets").status == 403);
    CHECK(http.get("/ready").status == 204);
}

TEST_CASE("admin setups: the base path, links and other settings")
{
    NginxOptions options;
    options.http =
        "petstore_base_url https://api.example; petstore_key_header X-API-Key;"
        "petstore_cors https://shop.example;";
    options.server = "location /store/ { petstore_admin /store/admin; "
                     "if ($arg_b) { set $b 1; } "
                     "location /store/v1/ { petstore /store/v1; } } "
                     "location /own/ { petstore_admin; petstore_cors *; "
                     "petstore_base_url https://admin.example; "
                     "if ($arg_b) { set $b 1; } } "
                     "location /led/ { petstore_guard on; "
                     "petstore_scope admin; petstore_cors *; "
                     "try_files /none /store/admin/plans; } "
                     "location /business/ { petstore_admin; "
                     "petstore_allow_plans business; }";
    Store store(options);
    const auto key = create_key(store.redis, {"--scopes", "admin"});
    Http http(store.nginx.url(), key.secret);
    const auto made = http.post("/store/admin/accounts", "{}");
    CHECK(made.status == 201);
    const std::string id = made.json()["id"];
    // The public API's URL is not that of the admin API.
    CHECK(made.header("location") == "/store/admin/accounts/" + id);
    const auto in_if = http.post("/store/admin/accounts?b=1", "{}");
    CHECK(contains(in_if.header("location"), "/store/admin/accounts/"));
    CHECK_FALSE(contains(in_if.header("location"), "api.example"));
    const auto shop = create_key(store.redis);
    const auto nested = Http(store.nginx.url(), shop.secret)
                            .get("/store/v1/pets?limit=1&status=available");
    CHECK(nested.status == 200);
    CHECK(Http(store.nginx.url())
              .get("/store/v1/openapi.json")
              .json()["servers"][0]["url"]
          == "https://api.example/store/v1");
    CHECK(contains(http.get("/store/admin/accounts?limit=1").header("link"),
                   "</store/admin/accounts?limit=1"));
    CHECK(http.get("/store/admin/openapi.json").json()["servers"][0]["url"]
          == "/store/admin");
    const std::string own = "https://admin.example/own/accounts/";
    for (const char* path : {"/own/accounts", "/own/accounts?b=1"}) {
        const auto by_own = http.post(path, "{}");
        CHECK(contains(by_own.header("location"), own));
    }
    expect_error(http.get("/store/keys"), 404, "not_found");
    expect_error(http.get("/business/keys"), 403, "plan_not_allowed");
    Http by_header(store.nginx.url());
    CHECK(by_header.get("/own/plans", {{"X-API-Key", key.secret}}).status
          == 200);
    // CORS is off unless this location has it.
    const Headers from_shop = {{"Origin", "https://shop.example"}};
    for (const char* path : {"/store/admin/plans", "/led/x"}) {
        const auto hidden = http.get(path, from_shop);
        CHECK(hidden.status == 200);
        CHECK_FALSE(hidden.has("access-control-allow-origin"));
    }
    CHECK(
        http.get("/own/plans", from_shop).header("access-control-allow-origin")
        == "*");
    const auto preflight =
        store.http.send({"OPTIONS",
                         "/own/keys/x",
                         {{"Origin", "https://shop.example"},
                          {"Access-Control-Request-Method", "PATCH"}}});
    CHECK(preflight.status == 204);
    CHECK(preflight.header("access-control-allow-methods")
          == "GET, HEAD, PATCH, DELETE, OPTIONS");
    // A page that mistypes a path sees the 404.
    CHECK(store.http
              .send({"OPTIONS",
                     "/own/nosuch",
                     {{"Origin", "https://shop.example"},
                      {"Access-Control-Request-Method", "PATCH"}}})
              .header("access-control-allow-methods")
          == "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
}

TEST_CASE("admin setups: what nginx -t says")
{
    CHECK(check("location /admin/ { petstore_admin; }").code == 0);
    CHECK(check("location ^~ /admin/ { petstore_admin /a; }").code == 0);
    for (const char* lines :
         {"location = /admin { petstore_admin; }",
          "location ~ ^/admin/ { petstore_admin; }",
          "location @admin { petstore_admin; }",
          "location /x/ { if ($arg_a) { petstore_admin; } }"}) {
        const auto output = check(lines);
        INFO(lines << ' ' << output.err);
        CHECK(output.code != 0);
        CHECK((contains(output.err, "must be in a location with a plain prefix")
               || contains(output.err, "is not allowed here")));
    }
    for (const char* lines : {"location /a/ { petstore_admin /b/; }",
                              "location /a/ { petstore_admin b; }",
                              "location /a/ { petstore_admin /b//c; }",
                              "location \"/a b/\" { petstore_admin; }"}) {
        const auto output = check(lines);
        INFO(lines << ' ' << output.err);
        CHECK(output.code != 0);
        CHECK(contains(output.err, "a path that starts with \"/\""));
    }
    for (const char* lines :
         {"location /a/ { petstore_admin; petstore_status; }",
          "location /a/ { petstore; petstore_admin; }",
          "location /a/ { petstore_admin; petstore_admin; }"}) {
        const auto output = check(lines);
        INFO(lines << ' ' << output.err);
        CHECK(output.code != 0);
        CHECK(contains(output.err, "cannot be used in one location"));
    }
    CHECK(contains(
        check("location /a/ { petstore_admin; petstore_guard on; }").err,
        "cannot be used in a location with"));
    const std::string hint =
        "hint: anyone who reaches location \"/a/\" can try keys at \"petstore_admin\"";
    CHECK(contains(check("listen 8088; location /a/ { petstore_admin; }").err,
                   hint));
    CHECK_FALSE(contains(check("listen 8088; location /a/ { petstore_admin; "
                               "allow 127.0.0.1; deny all; }")
                             .err,
                         hint));
    CHECK(contains(
        check("location /a/ { petstore_admin; proxy_pass http://127.0.0.1:9; }")
            .err,
        "\"petstore_admin\" is overridden by a later directive"));
}

TEST_CASE("admin setups: another handler in an if is guarded")
{
    NginxOptions options;
    options.server = "location /admin/v1/ { petstore_admin; "
                     "if ($arg_static) { root %DIR%; } "
                     "if ($arg_proxy) { proxy_pass http://127.0.0.1:9; } }";
    Store store(options);
    const auto key = create_key(store.redis, {"--scopes", "admin"});
    Http http(store.nginx.url(), key.secret);
    Http nobody(store.nginx.url());
    CHECK(http.get("/admin/v1/plans?static=1").status == 200);
    expect_error(nobody.get("/admin/v1/plans?proxy=1"), 401, "missing_api_key");
    CHECK(nobody.get("/admin/v1/plans?static=1").status == 401);
}
