// petstore_identity_headers: what a handler behind the guard sees.
#include <algorithm>
#include <thread>

#include "support/guarded_store.h"
#include "support/one_worker.h"

using namespace petstore::e2e;

namespace {

// A customer's key: its account has an external id.
struct Customer {
    explicit Customer(const RedisServer& redis)
    {
        const auto made =
            ctl(redis.url(), {"account", "create", "--external-id", "cust_42",
                              "--plan", "pro"});
        REQUIRE(made.code == 0);
        key = create_key(redis, {"--external-id", "cust_42"});
    }

    Key key;
};

// What a client may invent, in all spellings.
const Headers kInvented = {
    {"X-Account", "root"},        {"x-account", "admin"},
    {"X_Account", "underscored"}, {"X-PLAN", "enterprise"},
    {"x_plan", "enterprise"},     {"X-Key-Id", "made-up"},
    {"X-KEY_ID", "made-up"},      {"X-External-Id", "made-up"},
    {"X_EXTERNAL-ID", "made-up"}, {"X-Other", "kept"}};

std::vector<std::string> names_of(const BackEnd::Request& request)
{
    std::vector<std::string> names;
    for (const auto& header : request.headers) {
        names.push_back(header.first);
    }
    std::sort(names.begin(), names.end());
    return names;
}

void expect_identity(const BackEnd::Request& request, const Key& key)
{
    CHECK(request.header("x-account") == key.account);
    CHECK(request.header("x-external-id") == "cust_42");
    CHECK(request.header("x-plan") == "pro");
    CHECK(request.header("x-key-id") == key.id);
}

void expect_no_identity(const BackEnd::Request& request)
{
    for (const auto& [name, value] : request.headers) {
        INFO(name << ": " << value);
        std::string folded = name;
        std::replace(folded.begin(), folded.end(), '_', '-');
        for (const char* hidden : {"x-account", "x-external-id", "x-plan",
                                   "x-key-id", "authorization", "x-api-key"}) {
            CHECK(folded != hidden);
        }
    }
}

// A token for the back end.
const std::string kToken = "Bearer eyJhbGciOiJub25lIn0.e30.";

// Everything is guarded and cached. X-Cache says where a response is from. The
// zone "keys" is for cache keys with API keys, which nginx writes into its
// files.
NginxOptions with_cache(const std::string& server, const BackEnd& back_end)
{
    NginxOptions options;
    options.file = one_worker(
        R"(
    proxy_cache_path cache keys_zone=cache:1m;
    proxy_cache_path temp/keys keys_zone=keys:1m;
    underscores_in_headers on;
    petstore_redis %REDIS%;
    %TIMEOUTS%
    petstore_key_header X-API-Key;)",
        R"(
        petstore_guard on;
        proxy_cache cache;
        add_header X-Cache $upstream_cache_status;
        )" + server);
    replace_all(options.file, "%BACK_END%", back_end.address());
    options.workers = 3;  // with the cache's manager and loader
    return options;
}

}  // namespace

TEST_CASE("identity: the back end learns who was admitted, and no key")
{
    NginxOptions options;
    options.tls = true;
    options.http = "underscores_in_headers on;";
    GuardedStore shop(options);
    auto& store = shop.store;
    const Customer customer(store.redis);
    Http http1(store.nginx.url(), customer.key.secret);
    Http http2(store.nginx.tls_url(), customer.key.secret);
    http2.use_http2();
    for (auto* http : {&http1, &http2}) {
        CHECK(http->get("/shop/a", kInvented).status == 200);
        const auto reached = shop.back_end.last();
        expect_identity(reached, customer.key);
        CHECK(reached.header("x-other") == "kept");
        CHECK(names_of(reached)
              == Words{"accept", "connection", "host", "x-account",
                       "x-external-id", "x-key-id", "x-other", "x-plan"});
    }
    // An account without an external id has none.
    CHECK(store.http.get("/shop/", kInvented).status == 200);
    CHECK_FALSE(shop.back_end.last().has("x-external-id"));
    CHECK(shop.back_end.last().header("x-account") == store.key.account);
}

TEST_CASE("identity: no character of an invalid header stands for another")
{
    NginxOptions options;
    options.http = "ignore_invalid_headers off; underscores_in_headers on;"
                   "petstore_key_header X-API-Key;";
    GuardedStore shop(options);
    const std::string& key = shop.store.key.secret;
    for (const std::string c :
         {".", "_", "-", "!", "+", "~", "$", "[", "\xe9"}) {
        INFO(c);
        RawClient client(shop.store.nginx.port());
        client.send("GET /shop/ HTTP/1.0\r\nX-API-Key: " + key + "\r\nX" + c
                    + "External" + c + "Id: made-up\r\nx" + c
                    + "plan: gold\r\nX" + c + "API" + c + "Key: " + key
                    + "\r\nX" + c + "Plan[0]: gold"  // an element, in PHP
                    + "\r\nX" + c + "Other: kept\r\n\r\n");
        const auto response = client.read();
        // A repeated header for the key is refused.
        CHECK(response.status == (c == "-" ? 400 : 200));
        if (c == "-") {
            continue;
        }
        for (const auto& [name, value] : shop.back_end.last().headers) {
            INFO(name);
            CHECK(value != "made-up");
            CHECK(value != "gold");
            CHECK(value != key);
        }
        CHECK(shop.back_end.last().has("x" + c + "other"));
        CHECK(shop.back_end.last().header("x-account")
              == shop.store.key.account);
    }
}

TEST_CASE("identity: none of many headers is lost, wherever the key is")
{
    GuardedStore shop;
    auto& store = shop.store;
    for (const std::size_t count : {0u, 1u, 19u, 20u, 21u, 60u}) {
        for (const std::size_t place : {std::size_t{0}, count / 2, count}) {
            INFO(count << " headers, the key after " << place);
            std::string head = "GET /shop/ HTTP/1.0\r\n";
            for (std::size_t i = 0; i <= count; ++i) {
                if (i == place) {
                    head += "Authorization: Bearer " + store.key.secret
                            + "\r\nX-Account: root\r\nX-Account: root\r\n";
                }
                if (i < count) {
                    head += "X-Line-" + std::to_string(i)
                            + ": value\r\nX-Plan: gold\r\n";
                }
            }
            RawClient client(store.nginx.port());
            client.send(head + "\r\n");
            CHECK(client.read().status == 200);
            const auto reached = shop.back_end.last();
            for (std::size_t i = 0; i < count; ++i) {
                CHECK(reached.header("x-line-" + std::to_string(i)) == "value");
            }
            CHECK(reached.header("x-account") == store.key.account);
            CHECK(reached.headers.size() == count + 5);
            CHECK_FALSE(reached.has("authorization"));
        }
    }
}

TEST_CASE("identity: the page of a refusal sees neither key nor inventions")
{
    NginxOptions options;
    options.http = "underscores_in_headers on; petstore_key_header X-API-Key;";
    options.server = "location @page { proxy_pass http://%BACK_END%; }";
    GuardedStore shop(options, "error_page 400 401 403 429 = @page;");
    auto& store = shop.store;
    const auto limited = limited_key(store.redis, 1);
    const auto reader = create_key(store.redis, {"--scopes", "reports"});
    Http http(store.nginx.url());
    std::size_t pages = 0;
    const auto refused = [&](const std::string& name,
                             const std::string& value) {
        INFO(name);
        Headers headers = kInvented;
        headers.emplace_back(name, value);
        http.get("/shop/", headers);
        REQUIRE(shop.back_end.count() == ++pages);
        expect_no_identity(shop.back_end.last());
        CHECK(shop.back_end.last().header("x-other") == "kept");
    };
    refused("X-API-Key", "petstore_no_such_key");
    refused("X-API-Key", "not a key");
    refused("x-api-key", reader.secret);
    refused("Authorization", "Bearer petstore_no_such_key");
    refused("Authorization", "Basic cGV0OnN0b3Jl");
    refused("Authorization", "Bearer " + reader.secret);
    Http(store.nginx.url(), limited.secret).get("/shop/");
    ++pages;
    refused("Authorization", "Bearer " + limited.secret);
    refused("X-API-Key", limited.secret);
    // A repeated header is removed as a whole.
    Headers repeated = kInvented;
    repeated.insert(repeated.end(),
                    {{"X-API-Key", limited.secret}, {"X-Api-Key", "other"}});
    http.get("/shop/", repeated);
    REQUIRE(shop.back_end.count() == ++pages);
    expect_no_identity(shop.back_end.last());
    // Such headers do not make the key in the other one a token.
    for (const std::string lines : {"X-API-Key:\r\n", "X-API-Key: \r\n",
                                    "X-API-Key: a\r\nX-API-Key: b\r\n",
                                    "X-API-Key:\r\nX-API-Key: b\r\n"}) {
        INFO(lines);
        RawClient client(store.nginx.port());
        client.send("GET /shop/ HTTP/1.0\r\n" + lines + "Authorization: Bearer "
                    + store.key.secret + "\r\nX-Other: kept\r\n\r\n");
        client.read_all();
        REQUIRE(shop.back_end.count() == ++pages);
        expect_no_identity(shop.back_end.last());
        CHECK(shop.back_end.last().header("x-other") == "kept");
    }
    CHECK(shop.charged() == 0);
}

TEST_CASE("identity: nor does the page where nginx refuses before the guard")
{
    NginxOptions options;
    options.http = "limit_req_zone $binary_remote_addr zone=all:1m rate=1r/m;";
    options.server = R"(
        error_page 403 = @page;
        error_page 503 /page;
        location @page { proxy_pass http://%BACK_END%; }
        location = /page { proxy_pass http://%BACK_END%; }
        location /denied/ {
            petstore_guard on;
            deny all;
            proxy_pass http://%BACK_END%;
        }
        location /limited/ {
            petstore_guard on;
            limit_req zone=all;
            proxy_pass http://%BACK_END%;
        }
        location /shown/ {
            petstore_guard on;
            petstore_identity_headers off;
            deny all;
        }
        location /other/ { deny all; })";
    GuardedStore shop(options);
    Headers headers = kInvented;
    headers.emplace_back("Authorization", "Bearer " + shop.store.key.secret);
    Http http(shop.store.nginx.url());
    http.get("/limited/", headers);
    for (const std::string path : {"/denied/a", "/limited/a"}) {
        INFO(path);
        const auto before = shop.back_end.count();
        CHECK(http.get(path, headers).body == "back end");
        REQUIRE(shop.back_end.count() == before + 1);
        expect_no_identity(shop.back_end.last());
        CHECK(shop.back_end.last().header("x-other") == "kept");
    }
    for (const std::string path : {"/shown/", "/other/"}) {
        INFO(path);
        CHECK(http.get(path, headers).body == "back end");
        CHECK(shop.back_end.last().header("x-account") != "");
        CHECK(shop.back_end.last().header("authorization")
              == "Bearer " + shop.store.key.secret);
    }
}

TEST_CASE(
    "identity: nor does the page where nginx refuses the module's request")
{
    NginxOptions options;
    options.http = "limit_req_zone $binary_remote_addr zone=all:1m rate=1r/m;";
    options.server = R"(
        error_page 403 = @page;
        error_page 503 /page;
        location @page { proxy_pass http://%BACK_END%; }
        location @tried { try_files /none /page; }
        location = /page { proxy_pass http://%BACK_END%; }
        location = /refusal { internal; return 401; }
        location /denied/usage { petstore_usage; deny all; }
        location /denied/admin/ {
            petstore_admin;
            deny all;
            error_page 403 = @tried;
        }
        location /asked/usage {
            petstore_usage;
            auth_request /refusal;
            error_page 401 = @page;
        }
        location /asked/admin/ {
            petstore_admin;
            auth_request /refusal;
            error_page 401 = @page;
        }
        location /limited/usage { petstore_usage; limit_req zone=all; }
        location /limited/admin/ { petstore_admin; limit_req zone=all; }
        location /block/admin/ { petstore_admin; limit_except GET { deny all; } }
        location /shown/usage {
            petstore_usage;
            petstore_identity_headers off;
            deny all;
        })";
    GuardedStore shop(options);
    Headers headers = kInvented;
    headers.emplace_back("Authorization", "Bearer " + shop.store.key.secret);
    Http http(shop.store.nginx.url());
    http.get("/limited/usage", headers);
    std::size_t pages = 0;
    for (const std::string path :
         {"/denied/usage", "/denied/admin/keys", "/asked/usage",
          "/asked/admin/keys", "/limited/usage", "/limited/admin/keys",
          "/block/admin/keys"}) {
        INFO(path);
        CHECK(http.send({"POST", path, headers, ""}).body == "back end");
        REQUIRE(shop.back_end.count() == ++pages);
        expect_no_identity(shop.back_end.last());
        CHECK(shop.back_end.last().header("x-other") == "kept");
    }
    CHECK(http.get("/shown/usage", headers).body == "back end");
    CHECK(shop.back_end.last().header("authorization")
          == "Bearer " + shop.store.key.secret);
    CHECK(shop.charged() == 0);
}

TEST_CASE("identity: nor does the page where nginx refuses a later location")
{
    NginxOptions options;
    options.server = R"(
        error_page 403 = @page;
        location @page { proxy_pass http://%BACK_END%; }
        location = /page { proxy_pass http://%BACK_END%; }
        location /seen/ {
            petstore_guard on;
            petstore_identity_headers off;
            proxy_pass http://%BACK_END%;
        }
        location /next/usage { petstore_usage; deny all; }
        location /next/admin/ {
            petstore_admin;
            deny all;
            error_page 403 /page;
        }
        location /next/guarded { petstore_guard on; deny all; })";
    GuardedStore shop(options, "", [](const BackEnd::Request& request) {
        Response response{200, "1.1", {}, "page"};
        if (request.target.rfind("/seen/", 0) == 0) {
            response.headers.emplace_back("X-Accel-Redirect",
                                          "/next/" + request.target.substr(6));
        }
        return response;
    });
    const std::string bearer = "Bearer " + shop.store.key.secret;
    Headers headers = kInvented;
    headers.emplace_back("Authorization", bearer);
    Http http(shop.store.nginx.url());
    for (const std::string path : {"usage", "admin/keys", "guarded"}) {
        INFO(path);
        const auto before = shop.back_end.count();
        CHECK(http.get("/seen/" + path, headers).body == "page");
        const auto requests = shop.back_end.requests();
        REQUIRE(requests.size() == before + 2);
        CHECK(requests[before].header("authorization") == bearer);
        expect_no_identity(requests.back());
        CHECK(requests.back().header("x-other") == "kept");
    }
}

TEST_CASE("identity: nor does the page of an error in what the module serves")
{
    NginxOptions options;
    options.location = "error_page 400 /page;";
    options.server =
        "location = /page { petstore_guard off; proxy_pass http://%BACK_END%; }";
    GuardedStore shop(options);
    RawClient client(shop.store.nginx.port());
    client.send("POST /v1/pets HTTP/1.1\r\nHost: a\r\nX-Account: root\r\n"
                "Authorization: Bearer "
                + shop.store.key.secret
                + "\r\nContent-Type: application/json\r\n"
                  "Transfer-Encoding: chunked\r\n\r\nzz\r\n");
    CHECK(client.read().body == "back end");
    REQUIRE(shop.back_end.count() == 1);
    expect_no_identity(shop.back_end.last());
}

TEST_CASE("identity: the page of a refusal has its own location's setting")
{
    NginxOptions options;
    options.http = "petstore_identity_headers off;";
    options.server = R"(
        location /hides/ {
            internal;
            petstore_guard on;
            petstore_identity_headers on;
            proxy_pass http://%BACK_END%;
        }
        location /shows/ {
            petstore_guard on;
            error_page 401 /hides/page;
            proxy_pass http://%BACK_END%;
        }
        location @named {
            petstore_guard on;
            petstore_identity_headers on;
            proxy_pass http://%BACK_END%;
        }
        location /named/ {
            petstore_guard on;
            error_page 401 = @named;
            proxy_pass http://%BACK_END%;
        }
        location /plain/ {
            petstore_guard on;
            error_page 401 = @plain;
            proxy_pass http://%BACK_END%;
        }
        location @plain { proxy_pass http://%BACK_END%; })";
    GuardedStore shop(options);
    Headers headers = {{"X-Account", "root"},
                       {"X-Other", "kept"},
                       {"Authorization", "Bearer petstore_no_such_key"}};
    for (const std::string path : {"/shows/", "/named/"}) {
        INFO(path);
        CHECK(shop.http.get(path, headers).body == "back end");
        expect_no_identity(shop.back_end.last());
        CHECK(shop.back_end.last().header("x-other") == "kept");
    }
    CHECK(shop.http.get("/plain/", headers).body == "back end");
    CHECK(shop.back_end.last().header("x-account") == "root");
    CHECK(shop.back_end.count() == 3);
}

TEST_CASE("identity: a token for the back end beside a key of its own header")
{
    NginxOptions options;
    options.http = "petstore_key_header X-API-Key;";
    GuardedStore shop(options, R"(
        proxy_set_header X-Seen-Key $http_x_api_key;
        proxy_set_header X-Seen-Token $http_authorization;)");
    Http nobody(shop.store.nginx.url());
    CHECK(nobody
              .get("/shop/", {{"Authorization", kToken},
                              {"X-API-Key", shop.store.key.secret}})
              .status
          == 200);
    auto reached = shop.back_end.last();
    CHECK(reached.header("authorization") == kToken);
    CHECK_FALSE(reached.has("x-api-key"));
    CHECK(reached.header("x-account") == shop.store.key.account);
    CHECK(reached.header("x-seen-key") == shop.store.key.secret);
    CHECK(reached.header("x-seen-token") == kToken);

    CHECK(shop.http.get("/shop/").status == 200);
    reached = shop.back_end.last();
    CHECK_FALSE(reached.has("authorization"));
    CHECK_FALSE(reached.has("x-seen-key"));
    CHECK(reached.header("x-seen-token") == "Bearer " + shop.store.key.secret);
}

TEST_CASE("identity: a key that is sent in both headers is in neither")
{
    NginxOptions options;
    options.http = "petstore_key_header X-API-Key;";
    GuardedStore shop(options, R"(
        proxy_set_header X-Seen-Key $http_x_api_key;
        proxy_set_header X-Seen-Token $http_authorization;)");
    const std::string& key = shop.store.key.secret;
    Http nobody(shop.store.nginx.url());
    for (const auto& token : {"Bearer " + key, "bearer   " + key + " ", key}) {
        INFO(token);
        const auto response = nobody.get(
            "/shop/", {{"Authorization", token}, {"X-API-Key", key}});
        CHECK(response.status == 200);
        const auto reached = shop.back_end.last();
        CHECK_FALSE(reached.has("authorization"));
        CHECK_FALSE(reached.has("x-api-key"));
        CHECK(reached.header("x-account") == shop.store.key.account);
        // Cache keys do not collapse.
        CHECK(reached.header("x-seen-key") == key);
        CHECK(contains(reached.header("x-seen-token"), key));
    }
    for (const auto& token : {"Bearer " + key + "x", "Basic " + key}) {
        nobody.get("/shop/", {{"Authorization", token}, {"X-API-Key", key}});
        CHECK(shop.back_end.last().header("authorization") == token);
    }
}

TEST_CASE("identity: variables of the headers are those of the admitted key")
{
    NginxOptions options;
    options.http = "map $http_x_plan $early { default \"<$http_x_plan>\"; }";
    GuardedStore shop(options, R"(
        set $before "<$http_x_account>";
        if ($http_x_key_id = "nobody") { return 500; }
        add_header X-Before "$before$early" always;
        add_header X-Plan-Now "$http_x_plan" always;
        proxy_set_header X-Account "";
        proxy_set_header X-Plan "<$http_x_plan>";
        proxy_set_header X-Seen "$http_x_account $http_x_key_id";)");
    const auto response =
        shop.http.get("/shop/", {{"X-Account", "root"}, {"X-Plan", "gold"}});
    CHECK(response.status == 200);
    CHECK(response.header("x-before").substr(0, 6) == "<root>");
    const auto plan = response.header("x-plan-now");
    const auto reached = shop.back_end.last();
    CHECK_FALSE(reached.has("x-account"));
    CHECK(plan != "gold");
    CHECK(reached.header("x-plan") == "<" + plan + ">");
    CHECK(reached.header("x-seen")
          == shop.store.key.account + " " + shop.store.key.id);
}

TEST_CASE("identity: later locations know the key, and handlers do not")
{
    NginxOptions options;
    options.server = R"(
        location /tried/ {
            petstore_guard on;
            try_files /none /second/x;
        }
        location /second/ {
            petstore_guard on;
            petstore_scope reports;
            proxy_pass http://%BACK_END%;
        }
        location /other/ {
            petstore_guard on;
            petstore_key_header X-Other-Key;
            petstore_identity_headers off;
            try_files /none /second/x;
        }
        location /open/ {
            petstore_identity_headers off;
            petstore_guard on;
            try_files /none /plain/x;
        }
        location /plain/ { proxy_pass http://%BACK_END%; })";
    GuardedStore shop(options, "", [](const BackEnd::Request& request) {
        Response response;
        response.status = 200;
        if (contains(request.target, "/shop/away")) {
            response.headers = {{"x-accel-redirect", "/second/y"}};
        }
        response.body = request.target;
        return response;
    });
    auto& store = shop.store;
    const auto key = create_key(store.redis, {"--scopes", "read,reports"});
    Http http(store.nginx.url(), key.secret);
    for (const char* path : {"/tried/a", "/shop/away"}) {
        INFO(path);
        CHECK(contains(http.get(path, kInvented).body, "/second/"));
        const auto reached = shop.back_end.last();
        CHECK(reached.header("x-account") == key.account);
        CHECK(reached.header("x-key-id") == key.id);
        CHECK_FALSE(reached.has("authorization"));
        expect_error(store.http.get(path), 403, "insufficient_scope");
        expect_error(store.http.get(path, kUnknownKey), 401, "invalid_api_key");
    }
    // The first location read the key from its own header.
    Http nobody(store.nginx.url());
    CHECK(nobody
              .get("/other/a", {{"X-Other-Key", key.secret},
                                {"Authorization", "Bearer token"}})
              .status
          == 200);
    auto reached = shop.back_end.last();
    CHECK(reached.header("authorization") == "Bearer token");
    CHECK_FALSE(reached.has("x-other-key"));
    CHECK(reached.header("x-account") == key.account);

    CHECK(http.get("/open/a", {{"X-Account", "root"}}).status == 200);
    reached = shop.back_end.last();
    CHECK(reached.header("authorization") == "Bearer " + key.secret);
    CHECK(reached.header("x-account") == "root");
}

TEST_CASE("identity: a later location hides its own key header, too")
{
    NginxOptions options;
    options.server = R"(
        location /from/bearer/ {
            petstore_guard on;
            try_files /none /second/x;
        }
        location /from/header/ {
            petstore_guard on;
            petstore_key_header X-First-Key;
            try_files /none /second/x;
        }
        location /second/ {
            petstore_guard on;
            petstore_key_header X-Second-Key;
            proxy_set_header X-Seen $http_x_second_key;
            proxy_pass http://%BACK_END%;
        }
        location /through/ {
            petstore_guard on;
            petstore_key_header X-First-Key;
            try_files /none /then/x;
        }
        location /then/ {
            petstore_guard on;
            petstore_key_header X-Second-Key;
            try_files /none /last/x;
        }
        location /last/ {
            petstore_guard on;
            petstore_key_header X-Third-Key;
            proxy_set_header X-Seen "$http_x_second_key $http_x_third_key";
            proxy_pass http://%BACK_END%;
        })";
    GuardedStore shop(options);
    const auto& key = shop.store.key;
    const auto other = create_key(shop.store.redis);
    Http nobody(shop.store.nginx.url());
    for (const auto& first :
         {Headers{{"Authorization", "Bearer " + key.secret}},
          Headers{{"X-First-Key", key.secret},
                  {"Authorization", "Bearer token"}}}) {
        const bool bearer = first.size() == 1;
        auto headers = first;
        headers.emplace_back("X-Second-Key", other.secret);
        headers.emplace_back("X-Third-Key", "kept");
        CHECK(nobody.get(bearer ? "/from/bearer/" : "/from/header/", headers)
                  .status
              == 200);
        const auto reached = shop.back_end.last();
        CHECK(reached.header("x-account") == key.account);
        CHECK_FALSE(reached.has("x-first-key"));
        CHECK_FALSE(reached.has("x-second-key"));
        CHECK(reached.has("authorization") == !bearer);
        CHECK(reached.header("x-third-key") == "kept");
        // Cache keys do not collapse.
        CHECK(reached.header("x-seen") == other.secret);
    }
    CHECK(nobody
              .get("/through/", {{"X-First-Key", key.secret},
                                 {"X-Second-Key", other.secret},
                                 {"X-Third-Key", "third"}})
              .status
          == 200);
    const auto reached = shop.back_end.last();
    CHECK_FALSE(reached.has("x-third-key"));
    CHECK(reached.header("x-seen") == other.secret + " third");
}

TEST_CASE("identity: subrequests")
{
    NginxOptions options;
    options.server = R"(
        location = /page.shtml {
            root %DIR%;
            ssi on;
            ssi_types *;
        }
        location = /auth { internal; proxy_pass http://%BACK_END%/auth; }
        location = /copy { internal; proxy_pass http://%BACK_END%/copy; }
        location /checked/ {
            petstore_guard on;
            auth_request /auth;
            mirror /copy;
            proxy_pass http://%BACK_END%;
        })";
    GuardedStore shop(options);
    auto& store = shop.store;
    write_file(store.nginx.path("page.shtml"),
               "<!--# include virtual=\"/shop/included\" -->"
               "<!--# echo var=\"http_authorization\" -->");

    CHECK(store.http.get("/checked/", {{"X-Account", "root"}}).status == 200);
    CHECK(wait_until([&] { return shop.back_end.count() == 3; }));
    for (const auto& request : shop.back_end.requests()) {
        INFO(request.target);
        if (request.target == "/auth") {  // it runs before the guard
            CHECK(request.header("x-account") == "root");
            CHECK(request.has("authorization"));
        } else {
            CHECK(request.header("x-account") == store.key.account);
            CHECK_FALSE(request.has("authorization"));
        }
    }
    // A page outside of the guard includes one behind it.
    const auto page = store.http.get("/page.shtml", {{"X-Account", "root"}});
    CHECK(contains(page.body, "back end"));
    CHECK(contains(page.body, "Bearer "));
    const auto included = shop.back_end.last();
    CHECK(included.target == "/shop/included");
    CHECK(included.header("x-account") == store.key.account);
    CHECK_FALSE(included.has("authorization"));
}

TEST_CASE("identity: background updates of a cache")
{
    const BackEnd back_end([](const BackEnd::Request&) {
        return Response{
            200, "1.1", {{"Cache-Control", "max-age=1"}}, "back end"};
    });
    const Store store(with_cache(R"(
        proxy_cache_key $petstore_account$request_uri;
        proxy_cache_use_stale updating;
        proxy_cache_background_update on;
        location / { proxy_pass http://%BACK_END%; })",
                                 back_end));
    const Customer customer(store.redis);
    const auto& key = customer.key;
    Http http(store.nginx.url());
    int asked = 0;
    std::size_t reached = 0;
    for (const auto& sent :
         {Headers{{"Authorization", "Bearer " + key.secret}},
          Headers{{"X-API-Key", key.secret}, {"Authorization", kToken}}}) {
        const bool bearer = sent.size() == 1;
        const std::string path = bearer ? "/bearer" : "/header";
        INFO(path);
        auto headers = kInvented;
        headers.insert(headers.end(), sent.begin(), sent.end());
        const auto cache = [&] {
            ++asked;
            return http.get(path, headers).header("x-cache");
        };
        CHECK(cache() == "MISS");
        // Whoever finds the expired entry gets it and has it updated.
        CHECK(wait_until([&] {
            std::this_thread::sleep_for(100ms);
            return cache() == "STALE";
        }));
        CHECK(wait_until([&] { return back_end.count() == reached + 2; }));
        const auto requests = back_end.requests();
        for (; reached < requests.size(); ++reached) {
            const auto& request = requests[reached];
            INFO("request " << reached);
            CHECK(request.target == path);
            expect_identity(request, key);
            CHECK_FALSE(request.has("x-api-key"));
            CHECK(request.has("authorization") == !bearer);
            CHECK((bearer || request.header("authorization") == kToken));
        }
        // The same headers, so neither key nor inventions under other names.
        CHECK(requests[reached - 1].headers == requests[reached - 2].headers);
    }
    CHECK(used(store.redis, key, "minute") == asked);
}

TEST_CASE("identity: cache keys keep customers apart")
{
    const BackEnd back_end([](const BackEnd::Request& request) {
        return Response{200, "1.1", {}, request.header("x-account")};
    });
    const Store store(with_cache(R"(
        proxy_cache_valid 200 1h;
        location /bearer {
            proxy_cache keys;
            proxy_cache_key $http_authorization$request_uri;
            proxy_pass http://%BACK_END%;
        }
        location /header {
            proxy_cache keys;
            proxy_cache_key $http_x_api_key$request_uri;
            proxy_pass http://%BACK_END%;
        }
        location /account {
            proxy_cache_key $petstore_account$request_uri;
            proxy_pass http://%BACK_END%;
        })",
                                 back_end));
    const auto first = create_key(store.redis);
    const auto second = create_key(store.redis);
    Http http(store.nginx.url());
    const auto bearer = [](const Key& key) {
        return Headers{{"Authorization", "Bearer " + key.secret}};
    };
    const auto header = [](const Key& key) {
        return Headers{{"X-API-Key", key.secret}, {"Authorization", kToken}};
    };
    const auto expect = [&](const std::string& path, const Headers& headers,
                            const Key& key, const std::string& cache) {
        INFO(path << " " << cache);
        const auto response = http.get(path, headers);
        CHECK(response.status == 200);
        CHECK(response.header("x-cache") == cache);
        CHECK(response.body == key.account);
    };
    for (const std::string cache : {"MISS", "HIT"}) {
        for (const auto& key : {first, second}) {
            expect("/bearer", bearer(key), key, cache);
            expect("/header", header(key), key, cache);
            expect("/account", bearer(key), key, cache);
            expect("/account", header(key), key, "HIT");
        }
    }
    CHECK(back_end.count() == 6);
    CHECK(http.get("/account", kNoKey).status == 401);
}

TEST_CASE("identity: off passes everything on as it came")
{
    NginxOptions options;
    options.http = "petstore_identity_headers off;";
    options.server = R"(
        location /on/ {
            petstore_guard on;
            petstore_identity_headers on;
            proxy_pass http://%BACK_END%;
        })";
    GuardedStore shop(options);
    const std::string bearer = "Bearer " + shop.store.key.secret;
    CHECK(shop.http.get("/shop/", {{"X-Account", "root"}}).status == 200);
    CHECK(shop.back_end.last().header("authorization") == bearer);
    CHECK(shop.back_end.last().header("x-account") == "root");
    CHECK_FALSE(shop.back_end.last().has("x-plan"));
    CHECK(shop.http.get("/on/", {{"X-Account", "root"}}).status == 200);
    CHECK_FALSE(shop.back_end.last().has("authorization"));
    CHECK(shop.back_end.last().header("x-account") == shop.store.key.account);
}

TEST_CASE("identity: other definitions of its variables are obeyed")
{
    NginxOptions options;
    options.redis = "redis://127.0.0.1:6379";
    options.http = "petstore_key_header X-API-Key;"
                   "map $uri $http_x_plan { default a; }"
                   "map $uri $http_x_api_key { default b; }"
                   "server { listen 127.0.0.1:1; set $http_x_account c;"
                   "set $http_authorization d; }";
    const auto result = NginxServer::check(options);
    INFO(result.err);
    CHECK(result.code == 0);
}
