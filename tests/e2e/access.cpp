// petstore_key_header, petstore_realm, petstore_allow_plans, petstore_scope and
// petstore_route.
#include "support/guarded_store.h"

using namespace petstore::e2e;

namespace {

Output check(const std::string& lines)
{
    NginxOptions options;
    options.redis = "redis://127.0.0.1:6379";
    options.http = lines;
    return NginxServer::check(options);
}

void expect_refused(const std::string& line, const std::string& message)
{
    const auto result = check(line);
    INFO(line << ": " << result.err);
    CHECK(result.code != 0);
    CHECK(contains(result.err, message));
}

}  // namespace

TEST_CASE("access: a key in a header of its own")
{
    NginxOptions options;
    options.http = "petstore_key_header X-API-Key; petstore_cors *;";
    GuardedStore shop(options);
    Http nobody(shop.store.nginx.url());
    const std::string key = shop.store.key.secret;
    for (const std::string path : {"/v1/pets", "/shop/"}) {
        INFO(path);
        CHECK(nobody.get(path, {{"X-API-Key", key}}).status == 200);
        CHECK(nobody.get(path, {{"x-api-key", key}}).status == 200);
        // The other header is the back end's own then.
        CHECK(
            nobody
                .get(path, {{"X-API-Key", key}, {"Authorization", "Bearer x"}})
                .status
            == 200);
        expect_error(nobody.get(path, {{"X-API-Key", "x"},
                                       {"Authorization", "Bearer " + key}}),
                     401, "invalid_api_key");
        CHECK(nobody.get(path, {{"Authorization", "Bearer " + key}}).status
              == 200);
        const auto missing = nobody.get(path);
        CHECK(contains(expect_error(missing, 401, "missing_api_key"),
                       "\"Authorization: Bearer <API_KEY>\" or "
                       "\"X-API-Key: <API_KEY>\"."));
        CHECK(missing.header("www-authenticate")
              == "Bearer realm=\"petstore\"");
        CHECK(contains(expect_error(nobody.get(path, {{"X-API-Key", key},
                                                      {"X-Api-Key", key}}),
                                    400, "invalid_parameter"),
                       "X-API-Key must not be repeated"));
        const auto preflight =
            nobody.send({"OPTIONS",
                         path,
                         {{"Origin", "https://shop.example"},
                          {"Access-Control-Request-Method", "GET"}}});
        CHECK(preflight.status == 204);
        CHECK(preflight.header("access-control-allow-headers")
              == "Authorization, Content-Type, Idempotency-Key, X-API-Key");
    }
    const auto document = nobody.get("/v1/openapi.json").json();
    CHECK(document["security"].size() == 2);
}

TEST_CASE("access: a location may have no header of its own")
{
    NginxOptions options;
    options.http = "petstore_key_header X-API-Key;";
    GuardedStore shop(options, "petstore_key_header off;");
    Http nobody(shop.store.nginx.url());
    const Headers own = {{"X-API-Key", shop.store.key.secret}};
    CHECK(nobody.get("/v1/pets", own).status == 200);
    CHECK(nobody.get("/shop/", own).status == 401);
}

TEST_CASE("access: the realm of a challenge")
{
    NginxOptions options;
    options.http = "petstore_realm \"Acme API (v1)\";";
    options.server = "location /v1/own/ { petstore /v1; return 401; }";
    GuardedStore shop(options, "petstore_realm shop;");
    Http nobody(shop.store.nginx.url());
    CHECK(nobody.get("/v1/pets").header("www-authenticate")
          == "Bearer realm=\"Acme API (v1)\"");
    CHECK(nobody.get("/v1/pets", kUnknownKey).header("www-authenticate")
          == "Bearer realm=\"Acme API (v1)\", error=\"invalid_token\"");
    CHECK(nobody.get("/shop/").header("www-authenticate")
          == "Bearer realm=\"shop\"");
    // Of an error that nginx makes.
    CHECK(nobody.get("/v1/own/").header("www-authenticate")
          == "Bearer realm=\"Acme API (v1)\"");
}

TEST_CASE("access: plans that a location is for")
{
    NginxOptions options;
    options.location = "petstore_allow_plans pro business;";
    GuardedStore shop(options, "petstore_allow_plans gold;");
    auto& store = shop.store;
    ctl(store.redis.url(),
        {"plan", "set", "gold", "--per-minute", "50", "--per-day", "500"});
    const auto free = create_key(store.redis, {"--plan", "free"});
    const auto pro = create_key(store.redis, {"--plan", "pro"});
    const auto gold = create_key(store.redis, {"--plan", "gold"});
    const auto ask = [&](const Key& key, const std::string& path) {
        return Http(store.nginx.url(), key.secret).get(path);
    };
    expect_error(ask(free, "/v1/pets"), 403, "plan_not_allowed");
    expect_error(ask(free, "/v1/nothing"), 403, "plan_not_allowed");
    CHECK(ask(pro, "/v1/pets").status == 200);
    CHECK(ask(pro, "/v1/nothing").status == 404);
    expect_error(ask(pro, "/shop/"), 403, "plan_not_allowed");
    CHECK(shop.back_end.count() == 0);
    CHECK(ask(gold, "/shop/").status == 200);
    // Charged, whatever the result.
    CHECK(number_of(store.redis, free, Number::minute) == 2);
    // A new plan of the account takes effect within a second.
    ctl(store.redis.url(), {"account", "set", free.account, "--plan", "pro"});
    CHECK(kept_by(Clock::now() + 1s,
                  [&] { return ask(free, "/v1/pets").status == 200; }));
    const auto document = store.http.get("/v1/openapi.json").json();
    CHECK(contains(document["paths"]["/pets"]["get"]["responses"]["403"].dump(),
                   "plan_not_allowed"));
}

TEST_CASE("access: the scope of a guarded location")
{
    NginxOptions options;
    options.server = R"(
        petstore_scope orders:write;
        location /any/ {
            petstore_guard on;
            petstore_scope method;
            proxy_pass http://%BACK_END%;
        })";
    GuardedStore shop(options);
    auto& store = shop.store;
    const auto orders =
        create_key(store.redis, {"--plan", "pro", "--scopes", "orders:write"});
    const auto both = create_key(store.redis, {"--plan", "pro"});
    Http http(store.nginx.url(), orders.secret);
    CHECK(http.get("/shop/").status == 200);
    CHECK(http.request("DELETE", "/shop/").status == 200);
    CHECK(contains(expect_error(http.get("/any/"), 403, "insufficient_scope"),
                   "for this method"));
    // The API has scopes of its own.
    expect_error(http.get("/v1/pets"), 403, "insufficient_scope");
    Http other(store.nginx.url(), both.secret);
    CHECK(contains(expect_error(other.get("/shop/"), 403, "insufficient_scope"),
                   "the scope orders:write"));
    CHECK(other.get("/any/").status == 200);
    CHECK(other.get("/v1/pets").status == 200);
}

TEST_CASE(
    "access: a mirror does not bind the API to a scope of other locations")
{
    NginxOptions options;
    options.server = R"(
        petstore_scope orders;
        location = /mirror { internal; proxy_pass http://%BACK_END%; }
        location @back { proxy_pass http://%BACK_END%; }
        location /mirrored/v1/ { petstore /mirrored/v1; mirror /mirror; }
        location /tried/v1/ {
            petstore /tried/v1;
            root %DIR%;
            try_files /none @back;
        })";
    GuardedStore shop(options);
    auto& http = shop.http;
    CHECK(http.get("/mirrored/v1/pets").status == 200);
    CHECK(http.post("/mirrored/v1/pets", R"({"name":"Rex","categoryId":7})")
              .status
          == 201);
    CHECK(wait_until([&] { return shop.back_end.count() == 2; }));
    // Nothing else guards what try_files leads to.
    CHECK(contains(
        expect_error(http.get("/tried/v1/pets"), 403, "insufficient_scope"),
        "the scope orders"));
    CHECK(shop.back_end.count() == 2);

    http.use_key(
        create_key(shop.store.redis, {"--plan", "pro", "--scopes", "orders"})
            .secret);
    CHECK(http.get("/tried/v1/pets").status == 200);
    expect_error(http.get("/mirrored/v1/pets"), 403, "insufficient_scope");
}

TEST_CASE("access: a redirect into another location checks its plan and scope")
{
    NginxOptions options;
    options.server = R"(
        location /inner/ {
            internal;
            petstore_guard on;
            petstore_allow_plans business;
            proxy_pass http://%BACK_END%;
        }
        location /outer/ {
            petstore_guard on;
            try_files /none /inner/;
        })";
    GuardedStore shop(options);
    auto& store = shop.store;
    const auto pro = create_key(store.redis, {"--plan", "pro"});
    const auto business = create_key(store.redis, {"--plan", "business"});
    const auto status = [&](const Key& key) {
        return Http(store.nginx.url(), key.secret).get("/outer/").status;
    };
    CHECK(status(pro) == 403);
    CHECK(status(business) == 200);
    CHECK(number_of(store.redis, business, Number::minute) == 1);
}

TEST_CASE("access: routes of guarded locations in metrics and logs")
{
    NginxOptions options;
    options.http = "log_format all '$petstore_route|$status';";
    options.server = R"(
        access_log all.log all;
        location /status { petstore_status; access_log off; }
        location /inner/ {
            internal;
            petstore_guard on;
            petstore_route inner;
            proxy_pass http://%BACK_END%;
        }
        location /outer/ {
            petstore_guard on;
            petstore_route outer;
            try_files /none /inner/;
        }
        location /list/ {
            petstore_guard on;
            petstore_route list;
            try_files /none /v1/pets;
        })";
    GuardedStore shop(options, "petstore_route shop;");
    auto& http = shop.http;
    CHECK(http.get("/shop/").status == 200);
    CHECK(http.get("/shop/").status == 200);
    CHECK(http.get("/shop/", kNoKey).status == 401);
    CHECK(http.get("/outer/").status == 200);
    CHECK(http.get("/list/").json().is_array());
    CHECK(http.get("/v1/pets").status == 200);
    const auto metrics = [&] { return http.get("/status").body; };
    const std::string requests = "petstore_guarded_requests_total{route=";
    CHECK(wait_until([&] {
        return contains(metrics(), requests + "\"list\",status=\"200\"} 1");
    }));
    const auto text = metrics();
    CHECK(contains(text, requests + "\"outer\",status=\"200\"} 1"));
    CHECK(contains(text, requests + "\"shop\",status=\"200\"} 2"));
    CHECK(contains(text, requests + "\"shop\",status=\"401\"} 1"));
    CHECK(contains(text, "petstore_guarded_request_duration_seconds_count{"
                         "route=\"inner\"} 0"));
    CHECK(contains(text, "petstore_guarded_request_duration_seconds_count{"
                         "route=\"shop\"} 3"));
    const auto log = read_file(shop.store.nginx.path("all.log"));
    CHECK(count_of(log, "shop|200\n") == 2);
    CHECK(contains(log, "outer|200\n"));
    CHECK(contains(log, "-|200\n"));

    // They survive a reload.
    shop.store.nginx.reload_and_settle();
    CHECK(contains(metrics(), requests + "\"shop\",status=\"200\"} 2"));
}

TEST_CASE("access: the route is empty before the guard, unless nginx refuses")
{
    NginxOptions options;
    options.http = "limit_req_zone $petstore_route zone=routes:1m rate=1r/m;"
                   "log_format early '$early|$petstore_route|$status';";
    options.server = R"(
        access_log early.log early;
        location /page/ { return 200 "of $petstore_route"; })";
    GuardedStore shop(options, R"(
        petstore_route shop;
        set $early x$petstore_route;
        limit_req zone=routes;
        if ($petstore_route) { return 500; }
        if ($arg_busy) { return 503; }
        if ($arg_away) { return 403; }
        error_page 403 /page/;)");
    auto& http = shop.http;
    CHECK(http.get("/shop/").status == 200);
    CHECK(http.get("/shop/").status == 200);
    CHECK(http.get("/shop/?busy=1").status == 503);
    const auto away = http.get("/shop/?away=1");
    CHECK(away.status == 403);
    CHECK(away.body == "of shop");
    const auto log = shop.store.nginx.path("early.log");
    CHECK(wait_until([&] { return count_of(read_file(log), "\n") == 4; }));
    CHECK(read_file(log) == "x|shop|200\nx|shop|200\nx|shop|503\nx|shop|403\n");
}

TEST_CASE("access: a refusal before the guard counts where it was made")
{
    NginxOptions options;
    options.http = "limit_req_zone $http_x_slow zone=slow:1m rate=1r/m;"
                   "log_format routes '$petstore_route|$status';";
    options.server = R"(
        access_log routes.log routes;
        location @partner { petstore_guard on; petstore_route partner;
            limit_req zone=slow; limit_req_status 429; empty_gif; })";
    GuardedStore shop(options, R"(
        petstore_route shop;
        error_page 418 = @partner;
        if ($arg_partner) { return 418; })");
    auto& http = shop.http;
    const Headers slow = {{"X-Slow", "1"}};
    CHECK(http.get("/shop/", slow).status == 200);
    CHECK(http.get("/shop/?partner=1", slow).status == 200);
    CHECK(http.get("/shop/?partner=1", slow).status == 429);
    const auto log = shop.store.nginx.path("routes.log");
    CHECK(wait_until([&] { return count_of(read_file(log), "\n") == 3; }));
    CHECK(read_file(log) == "shop|200\npartner|200\npartner|429\n");
}

TEST_CASE("access: of 70 routes, 64 have series of their own")
{
    const auto with_routes = [](const std::string& prefix) {
        NginxOptions options;
        options.server = "location /status { petstore_status; }";
        for (int i = 0; i < 70; ++i) {
            const auto name = prefix + std::to_string(i);
            options.server += "location = /" + name
                              + " { petstore_guard on; petstore_route " + name
                              + "; empty_gif; }";
        }
        return options;
    };
    Store store(with_routes("a"));
    for (int i = 0; i < 70; ++i) {
        const auto path = "/a" + std::to_string(i);
        CHECK(store.http.get(path).status == 200);
        CHECK(store.http.get(path, kNoKey).status == 401);
    }
    const auto metrics = [&] { return store.http.get("/status").body; };
    const std::string requests = "petstore_guarded_requests_total{route=";
    const std::string durations =
        "petstore_guarded_request_duration_seconds_count{route=";
    CHECK(wait_until([&] {
        return contains(metrics(), requests + "\"other\",status=\"401\"} 6\n");
    }));
    auto text = metrics();
    for (int i = 0; i < 70; ++i) {
        const auto label = "\"a" + std::to_string(i) + "\"";
        INFO(label);
        const bool own = i < 64;
        CHECK(contains(text, requests + label + ",status=\"200\"} 1\n") == own);
        CHECK(contains(text, durations + label + "} 2\n") == own);
    }
    CHECK(contains(text, requests + "\"other\",status=\"200\"} 6\n"));
    CHECK(contains(text, durations + "\"other\"} 12\n"));
    CHECK(count_of(text, requests) == 65 * 2);
    CHECK(count_of(text, durations) == 65);

    // No reload makes room for others.
    auto renamed = with_routes("b");
    renamed.redis = store.redis.url();
    store.nginx.change(renamed);
    store.nginx.reload_and_settle();
    CHECK(store.http.get("/b0").status == 200);
    CHECK(wait_until([&] {
        text = metrics();
        return contains(text, requests + "\"other\",status=\"200\"} 7\n");
    }));
    CHECK(count_of(text, requests) == 65 * 2);
    CHECK(count_of(text, durations) == 65);
}

TEST_CASE("access: a zone below 256k has no room for routes")
{
    const std::string warning =
        "\"petstore_zone\" is too small for routes and the busiest accounts";
    const auto counts = [](GuardedStore& shop) {
        CHECK(shop.http.get("/shop/").status == 200);
        return wait_until([&] {
            return contains(shop.http.get("/status").body,
                            "{operation=\"guard\",status=\"200\"} 1");
        });
    };
    NginxOptions options;
    options.server = "location /status { petstore_status; }";
    options.http = "petstore_zone 255k;";
    {
        GuardedStore shop(options, "petstore_route shop;");
        REQUIRE(counts(shop));
        CHECK_FALSE(contains(shop.http.get("/status").body, "route=\"shop\""));
        const auto log = shop.store.nginx.error_log();
        CHECK(contains(log, warning));
        CHECK_FALSE(contains(log, "too small for metrics"));
    }
    {
        // The busiest accounts need no route.
        GuardedStore shop(options);
        REQUIRE(counts(shop));
        const auto status = shop.http.get("/status?format=json").json();
        CHECK(status["busiest_accounts"].empty());
        CHECK(contains(shop.store.nginx.error_log(), warning));
    }
    options.http = "petstore_zone 256k;";
    GuardedStore shop(options, "petstore_route shop;");
    REQUIRE(counts(shop));
    CHECK(contains(shop.http.get("/status").body, "route=\"shop\""));
    const auto status = shop.http.get("/status?format=json").json();
    CHECK(status["busiest_accounts"].size() == 1);
    CHECK_FALSE(contains(shop.store.nginx.error_log(), "is too small"));
}

TEST_CASE("access: errors of the configuration")
{
    expect_refused("petstore_key_header on;",
                   "invalid value \"on\" in \"petstore_key_header\" directive");
    expect_refused("petstore_key_header X_API_KEY;",
                   "it must be a name of 1 to 64 letters, digits and \"-\"");
    for (const std::string name :
         {"Host", "authorization", "Cookie", "Range", "X-Account",
          "Content-Length", "Connection", "x-key-id"}) {
        expect_refused("petstore_key_header " + name + ";",
                       "this header has another meaning");
    }
    expect_refused("petstore_key_header X-A; petstore_key_header X-B;",
                   "\"petstore_key_header\" directive is duplicate");
    expect_refused("petstore_realm \"a\\\"b\";", "in \"petstore_realm\"");
    expect_refused("petstore_realm \"\";", "in \"petstore_realm\"");
    expect_refused("petstore_scope Orders;", "in \"petstore_scope\"");
    expect_refused("petstore_scope a b;", "invalid number of arguments");
    expect_refused("petstore_allow_plans;", "invalid number of arguments");
    expect_refused("petstore_allow_plans all pro;",
                   "it must be \"all\" alone, or names of plans");
    expect_refused("petstore_allow_plans Pro;", "names of plans");
    expect_refused("petstore_allow_plans none;",
                   "neither \"none\" nor \"unknown\"");
    expect_refused(
        "petstore_allow_plans pro free pro;",
        "duplicate plan \"pro\" in \"petstore_allow_plans\" directive");
    expect_refused("petstore_route \"a b\";", "in \"petstore_route\"");
    for (const std::string line :
         {"petstore_route off;", "petstore_route OFF;",
          "petstore_route a/b:c.d_e-F9;", "petstore_key_header off;",
          "petstore_key_header X-API-Key;", "petstore_scope method;",
          "petstore_scope a:b.c_d-e;", "petstore_allow_plans all;",
          "petstore_allow_plans a b c;"}) {
        INFO(line);
        CHECK(check(line).code == 0);
    }
    // Not a header of this name, which would be one of its own.
    const std::string basic =
        "server { listen 127.0.0.1:1; location /v1/ { petstore; auth_basic a; auth_basic_user_file /dev/null; } }";
    CHECK(contains(check("petstore_key_header OFF; " + basic).err,
                   "no request can satisfy both"));
    // With a header of its own, the key needs no Authorization.
    const auto both = check("petstore_key_header X-API-Key; " + basic);
    CHECK_FALSE(contains(both.err, "no request can satisfy both"));
}
