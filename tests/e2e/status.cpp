// docs/monitoring.md: petstore_status, the metrics of a host.
#include <algorithm>
#include <csignal>
#include <map>
#include <sstream>

#include "support/guarded_store.h"
#include "support/limits.h"

using namespace petstore::e2e;

namespace {

constexpr char kStatus[] = R"(
    location = /status { petstore_status; }
    location = /livez { petstore_health live; }
    location = /readyz { petstore_health ready; })";

NginxOptions with_status(NginxOptions options = {})
{
    options.server += kStatus;
    return options;
}

// The samples of the text format, by name and labels.
std::map<std::string, double> samples_of(const std::string& text)
{
    std::map<std::string, double> samples;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (!line.empty() && line[0] != '#') {
            const auto space = line.rfind(' ');
            samples[line.substr(0, space)] = std::stod(line.substr(space + 1));
        }
    }
    return samples;
}

// The value of a sample; 0 if it does not exist.
double sample(const NginxServer& nginx, const std::string& name)
{
    const auto response = Http(nginx.url()).get("/status");
    REQUIRE(response.status == 200);
    return samples_of(response.body)[name];
}

// Polls: a worker counts a request after responding, so another request may
// overtake the count.
bool soon(const NginxServer& nginx, const std::string& name, double expected)
{
    return wait_until([&] { return sample(nginx, name) == expected; });
}

std::string requests(const std::string& operation, int status)
{
    return "petstore_requests_total{operation=\"" + operation + "\",status=\""
           + std::to_string(status) + "\"}";
}

std::string decisions(const std::string& verdict, const std::string& plan)
{
    return "petstore_decisions_total{verdict=\"" + verdict + "\",plan=\"" + plan
           + "\"}";
}

std::string of_redis(const RedisServer& redis, const std::string& metric,
                     const std::string& more = "")
{
    return "petstore_" + metric + "{redis=\"" + redis.url() + "\"" + more + "}";
}

}  // namespace

TEST_CASE("status: requests by operation and status")
{
    GuardedStore shop(with_status());
    auto& store = shop.store;
    auto& http = store.http;
    http.get("/v1/pets");
    http.get("/v1/pets?limit=0");
    http.post("/v1/pets", R"({"name":"Rex","categoryId":1})");
    http.get("/v1/pets/1");
    http.get("/v1/pets/2");
    http.get("/v1/nothing");
    http.request("OPTIONS", "/v1/pets");
    http.get("/shop/");
    Http(store.nginx.url()).get("/v1/pets");
    Http(store.nginx.url()).get("/elsewhere");  // outside the service

    const auto text = Http(store.nginx.url()).get("/status").body;
    auto samples = samples_of(text);
    CHECK(samples[requests("listPets", 200)] == 1);
    CHECK(samples[requests("listPets", 400)] == 1);
    CHECK(samples[requests("listPets", 401)] == 1);
    CHECK(samples[requests("createPet", 201)] == 1);
    CHECK(samples[requests("getPet", 200)] == 1);
    CHECK(samples[requests("getPet", 404)] == 1);
    CHECK(samples[requests("other", 404)] == 1);
    CHECK(samples[requests("options", 204)] == 1);
    CHECK(samples[requests("guard", 200)] == 1);
    CHECK(samples["petstore_request_duration_seconds_count"] == 9);
    CHECK(samples[decisions("passed", "enterprise")] == 7);
    CHECK(samples[decisions("denied", "unknown")] == 1);
    CHECK(samples[of_redis(store.redis, "redis_up")] == 1);
}

TEST_CASE("status: a decision counts, whatever answers the request")
{
    auto options = with_status();
    options.http = "log_format own '$uri $petstore_limit_status "
                   "[$petstore_error_code]';";
    options.server += R"(
        access_log own.log own;
        location /tried/ {
            petstore_guard on;
            root %DIR%;
            rewrite ^/tried(/.*) $1 break;
            try_files /none @api;
        }
        location @api { petstore; }
        location /denied/ {
            petstore_guard on;
            error_page 401 /v1/openapi.json;
            error_page 429 /usage;
            proxy_pass http://%BACK_END%;
        }
        location = /usage { petstore_usage; })";
    GuardedStore shop(options, "", [](const BackEnd::Request& request) {
        return request.target == "/shop/"
                   ? Response{200, "1.1", {{"X-Accel-Redirect", "/usage"}}, ""}
                   : Response{200, "1.1", {}, "back end"};
    });
    const auto& nginx = shop.store.nginx;
    auto& http = shop.http;
    CHECK(http.get("/tried/v1/openapi.json").status == 200);
    CHECK(http.request("OPTIONS", "/tried/v1/pets").status == 204);
    CHECK(http.get("/shop/").json()["today"] == 3);
    CHECK(soon(nginx, decisions("passed", "enterprise"), 3));
    CHECK(soon(nginx, requests("usage", 200), 1));

    const auto key = limited_key(shop.store.redis, 1);
    http.use_key(key.secret);
    CHECK(http.get("/denied/").status == 200);
    CHECK(http.get("/denied/").status == 429);
    CHECK(soon(nginx, decisions("limited", "enterprise"), 1));
    CHECK(soon(nginx, requests("usage", 429), 1));
    CHECK(http.get("/denied/", kNoKey).status == 401);
    CHECK(soon(nginx, decisions("denied", "unknown"), 1));
    CHECK(wait_until([&] {
        const auto log = read_file(nginx.path("own.log"));
        return contains(log, "/usage PASSED [-]\n")
               && contains(log, "/usage LIMITED [rate_limit_exceeded]\n")
               && contains(log, "/v1/openapi.json DENIED [missing_api_key]\n");
    }));
}

TEST_CASE("status: errors generated by nginx in a location of the service")
{
    auto options = with_status();
    options.location = "limit_except GET { deny all; }";
    Store store(options);
    store.http.get("/v1/pets");
    CHECK(store.http.post("/v1/pets", "{}").status == 403);
    CHECK(sample(store.nginx, requests("listPets", 200)) == 1);
    CHECK(sample(store.nginx, requests("other", 403)) == 1);
}

TEST_CASE("status: what nginx refuses before the guard is guarded, too")
{
    auto options = with_status();
    options.http = "limit_req_zone $http_x_slow zone=slow:1m rate=1r/m;"
                   "log_format routes '$status $petstore_route';";
    options.server += R"(
        access_log routes.log routes;
        location = /busy { return 200 "busy"; }
        location /renamed/ { rewrite ^/renamed(.*) /shop$1 last; })";
    replace_all(options.server, "petstore_status;",
                "petstore_status; access_log off;");
    GuardedStore shop(options, R"(
        petstore_route shop;
        limit_req zone=slow;
        if ($arg_closed) { return 503; }
        if ($arg_away) { return 403; }
        rewrite ^/shop/(pets|openapi.json)(.*) /v1/$1$2 last;
        error_page 403 /busy;)");
    auto& http = shop.store.http;
    const auto& nginx = shop.store.nginx;
    const Headers slow = {{"X-Slow", "a"}};
    REQUIRE(http.get("/shop/", slow).status == 200);
    REQUIRE(http.get("/shop/", slow).status == 503);
    REQUIRE(http.send({"OPTIONS", "/shop/", slow, "", false}).status == 503);
    REQUIRE(http.get("/shop/?closed=1").status == 503);
    REQUIRE(http.get("/shop/?away=1").status == 403);
    REQUIRE(http.get("/v1/nothing").status == 404);
    // After a `rewrite`, it is another location that refuses or answers.
    REQUIRE(http.get("/renamed/", slow).status == 503);
    REQUIRE(http.get("/shop/pets/none").status == 404);
    REQUIRE(http.send({"OPTIONS", "/shop/pets", {}, "", false}).status == 204);
    REQUIRE(http.get("/shop/openapi.json").status == 200);

    CHECK(soon(nginx, requests("other", 404), 1));
    CHECK(soon(nginx, requests("getPet", 404), 1));
    CHECK(soon(nginx, requests("options", 204), 1));
    CHECK(soon(nginx, requests("openapi", 200), 1));
    CHECK(soon(nginx, requests("guard", 503), 4));
    CHECK(soon(nginx, requests("guard", 403), 1));
    CHECK(sample(nginx, requests("guard", 200)) == 1);
    CHECK(sample(nginx, requests("other", 503)) == 0);
    const auto routed = [&](const std::string& status) {
        return sample(nginx, "petstore_guarded_requests_total{route=\"shop\","
                             "status=\""
                                 + status + "\"}");
    };
    CHECK(routed("503") == 4);
    CHECK(routed("200") == 1);
    CHECK(routed("204") == 0);
    CHECK(routed("404") == 0);
    CHECK(read_file(nginx.path("routes.log"))
          == "200 shop\n503 shop\n503 shop\n503 shop\n403 shop\n404 -\n"
             "503 shop\n404 -\n204 -\n200 -\n");
    CHECK(sample(nginx, "petstore_requests_total{operation=\"options\","
                        "status=\"503\"}")
          == 0);
}

TEST_CASE("status: a guarded error page does not make a request guarded")
{
    auto options = with_status();
    options.server += R"(
        location /open/ { root %DIR%; error_page 404 /page; }
        location = /page { petstore_guard on; return 404; })";
    Store store(options);
    REQUIRE(store.http.get("/open/none").status == 404);
    CHECK(soon(store.nginx, requests("other", 404), 1));
    CHECK(sample(store.nginx, requests("guard", 404)) == 0);
}

TEST_CASE("status: the location that refuses the length of a body counts")
{
    auto options = with_status();
    options.server += R"(
        rewrite ^/old(/.*) /new$1 last;
        location /new/ { petstore_guard on; petstore_route new;
            client_max_body_size 10; empty_gif; }
        location /left/ { petstore_guard on; petstore_route left;
            rewrite ^ /new/c last; })";
    Store store(options);
    int refused = 0;
    for (const char* path : {"/new/a", "/old/b", "/left/c"}) {
        INFO(path);
        CHECK(store.http.post(path, "more than ten").status == 413);
        CHECK(soon(store.nginx, requests("guard", 413), ++refused));
        CHECK(sample(store.nginx, "petstore_guarded_requests_total{"
                                  "route=\"new\",status=\"413\"}")
              == refused);
    }
}

TEST_CASE("status: denied requests, their accounts and bans")
{
    auto options = with_status();
    options.location = "petstore_ban threshold=100 duration=200s;";
    Store store(options);
    const auto key = create_key(store.redis, {"--plan", "free"});
    Http http(store.nginx.url(), key.secret);
    for (int i = 0; i < 70; ++i) {
        http.get("/v1/pets");
    }
    auto json = Http(store.nginx.url()).get("/status?format=json").json();
    CHECK(json["decisions"]["passed"]["free"] == 60);
    CHECK(json["decisions"]["limited"]["free"] == 10);
    REQUIRE(json["denied_accounts"].size() == 1);
    CHECK(json["denied_accounts"][0]["account"] == key.account);
    CHECK(json["denied_accounts"][0]["plan"] == "free");
    CHECK(json["denied_accounts"][0]["status"] == "limited");
    CHECK(json["denied_accounts"][0]["denied"] == 10);
    const long long until = json["denied_accounts"][0]["until"];
    CHECK(until - json["time"].get<long long>() <= 60);

    for (int i = 0; i < 95; ++i) {
        http.get("/v1/pets");
    }
    json = Http(store.nginx.url()).get("/status?format=json").json();
    CHECK(json["bans"] == 1);
    REQUIRE(json["denied_accounts"].size() == 1);
    CHECK(json["denied_accounts"][0]["status"] == "banned");
    CHECK(json["decisions"]["banned"]["free"].get<int>() > 0);
}

TEST_CASE("status: the busiest accounts of all workers")
{
    Hosts hosts(1, with_status());
    auto& nginx = *hosts.nginx[0];
    ctl(hosts.redis.url(), {"account", "create", "--external-id", "cust_<42>",
                            "--plan", "pro", "--label", "Acme <Ltd>"});
    const auto busy = create_key(hosts.redis, {"--external-id", "cust_<42>"});
    const auto quiet = create_key(hosts.redis, {"--plan", "free"});
    for (auto& client : one_per_worker(hosts)) {
        client.use_key(busy.secret);
        for (int i = 0; i < 20; ++i) {
            CHECK(client.get("/v1/pets").status == 200);
        }
    }
    Http(nginx.url(), quiet.secret).get("/v1/pets");
    Http(nginx.url(), "unknown").get("/v1/pets");
    // Requests are counted once they are logged.
    nlohmann::json listed;
    CHECK(wait_until([&] {
        listed = Http(nginx.url())
                     .get("/status?format=json")
                     .json()["busiest_accounts"];
        return listed.size() == 2;
    }));
    CHECK(listed[0]["account"] == busy.account);
    CHECK(listed[0]["external_id"] == "cust_<42>");
    CHECK(listed[0]["plan"] == "pro");
    // At least what was not long ago, if a minute has just ended.
    CHECK(listed[0]["per_minute"].get<int>() > 20);
    CHECK(listed[0]["per_minute"].get<int>() <= 40);
    CHECK(listed[1]["account"] == quiet.account);
    CHECK(listed[1]["external_id"] == nullptr);
    // A worker reads the labels every few seconds.
    CHECK(wait_until([&] {
        listed = Http(nginx.url())
                     .get("/status?format=json")
                     .json()["busiest_accounts"];
        return listed[0]["label"] == "Acme <Ltd>";
    }));
    CHECK(listed[1]["label"] == nullptr);
    // The plan is that of the last request.
    REQUIRE(ctl(hosts.redis.url(), {"account", "set", "--external-id",
                                    "cust_<42>", "--plan", "business"})
                .code
            == 0);
    Http changed(nginx.url(), busy.secret);
    CHECK(wait_until([&] {
        changed.get("/v1/pets");
        listed = Http(nginx.url())
                     .get("/status?format=json")
                     .json()["busiest_accounts"];
        return listed[0]["plan"] == "business";
    }));
    const auto page = Http(nginx.url()).get("/status?format=html").body;
    CHECK(contains(page, "cust_&lt;42&gt;"));
    CHECK(contains(page, "Acme &lt;Ltd&gt;"));
}

TEST_CASE("status: the sum over all workers survives reloads and a killed one")
{
    auto options = with_status();
    options.kills_workers = true;
    Hosts hosts(1, options);
    auto& nginx = *hosts.nginx[0];
    const auto key = create_key(hosts.redis, {"--plan", "business"});
    for (auto& client : one_per_worker(hosts)) {
        client.use_key(key.secret);
        CHECK(client.get("/v1/pets").status == 200);
    }
    const auto counted = requests("listPets", 200);
    CHECK(soon(nginx, counted, 2));

    nginx.reload_and_settle();
    CHECK(soon(nginx, counted, 2));
    const auto killed = nginx.workers().front();
    ::kill(killed, SIGKILL);
    REQUIRE(wait_until([&] {
        const auto workers = nginx.workers();
        return workers.size() == 2
               && std::find(workers.begin(), workers.end(), killed)
                      == workers.end();
    }));
    for (auto& client : one_per_worker(hosts)) {
        client.use_key(key.secret);
        CHECK(client.get("/v1/pets").status == 200);
    }
    CHECK(soon(nginx, counted, 4));
    CHECK(Http(nginx.url()).get("/status?format=json").json()["workers"] == 2);
}

TEST_CASE("status: commands and failures of Redis, and whether it is up")
{
    Store store(with_status());
    store.http.get("/v1/pets");
    CHECK(sample(store.nginx, of_redis(store.redis, "redis_up")) == 1);
    CHECK(sample(store.nginx, of_redis(store.redis, "redis_commands_total"))
          > 0);
    CHECK(sample(store.nginx, "petstore_redis_duration_seconds_count") > 0);

    store.redis.stop();
    store.http.get("/v1/pets");
    CHECK(sample(store.nginx, of_redis(store.redis, "redis_up")) == 0);
    const auto closed =
        sample(store.nginx, of_redis(store.redis, "redis_failures_total",
                                     ",reason=\"closed\""));
    const auto refused =
        sample(store.nginx, of_redis(store.redis, "redis_failures_total",
                                     ",reason=\"connect\""));
    CHECK(closed + refused > 0);
    CHECK(sample(store.nginx, decisions("unavailable", "enterprise")) > 0);

    store.redis.start();
    REQUIRE(
        wait_until([&] { return store.http.get("/v1/pets").status == 200; }));
    CHECK(sample(store.nginx, of_redis(store.redis, "redis_up")) == 1);
}

TEST_CASE("status: lookups of the caches")
{
    Store store(with_status());
    import_pets(store.redis, 3);
    const auto lookups = [&](const std::string& cache,
                             const std::string& result) {
        return sample(store.nginx, "petstore_cache_requests_total{cache=\""
                                       + cache + "\",result=\"" + result
                                       + "\"}");
    };
    for (int i = 0; i < 5; ++i) {
        store.http.get("/v1/pets");
    }
    CHECK(lookups("key", "miss") == 1);
    CHECK(lookups("key", "hit") == 4);
    CHECK(lookups("response", "hit") + lookups("response", "miss") == 5);
    CHECK(lookups("response", "hit") >= 3);
}

TEST_CASE("status: a create with an unknown outcome")
{
    const RedisServer redis;
    const auto key = create_key(redis);
    auto forward = forward_to(redis);
    FakeRedis fake([&](const Words& command) {
        auto answer = forward(command);
        for (const auto& word : command) {
            answer.close |= contains(word, "7:Rex");  // the create is lost
        }
        if (answer.close) {
            answer.bytes.clear();
        }
        return answer;
    });
    auto options = with_status();
    options.redis = fake.url();
    NginxServer nginx(options);
    Http http(nginx.url(), key.secret);
    const auto response =
        http.post("/v1/pets", R"({"name":"Rex","categoryId":7})");
    CHECK(code_of(response) == "outcome_unknown");
    CHECK(sample(nginx, "petstore_outcome_unknown_total") == 1);
    CHECK(sample(nginx, requests("createPet", 503)) == 1);
    CHECK(sample(nginx, decisions("passed", "enterprise")) == 1);
}

TEST_CASE("status: damaged data")
{
    Store store(with_status());
    store.redis.command({"SET", "petstore:{petstore:pets}:count", "no number"});
    const auto response = store.http.get("/v1/pets");
    CHECK(response.status == 500);
    CHECK(sample(store.nginx, "petstore_damaged_data_total") == 1);
}

TEST_CASE("status: text, JSON and a page")
{
    Store store(with_status());
    Http http(store.nginx.url());
    const auto text = http.get("/status");
    CHECK(text.header("content-type")
          == "text/plain; version=0.0.4; charset=utf-8");
    CHECK(text.header("cache-control") == "no-store");
    CHECK_FALSE(text.has("x-ratelimit-limit"));
    CHECK(http.get("/status?format=prometheus").header("content-type")
          == text.header("content-type"));

    const auto json = http.get("/status?format=json");
    CHECK(json.header("content-type") == "application/json");
    CHECK(json.json().is_object());

    for (const auto& page :
         {http.get("/status?format=html"),
          http.get("/status",
                   {{"Accept", "text/html,application/xml;q=0.9"}})}) {
        CHECK(page.header("content-type") == "text/html; charset=utf-8");
        CHECK(contains(page.header("content-security-policy"),
                       "default-src 'none'"));
        CHECK_FALSE(contains(page.header("content-security-policy"), "unsafe"));
        CHECK(contains(page.body, "<html lang=\"en\">"));
        CHECK_FALSE(contains(page.body, "http://"));  // no external resources
        CHECK_FALSE(contains(page.body, "https://"));
    }
    for (const char* const accept :
         {"text/html;q=0", "text/htmlx, */*", "application/json, x/text/html",
          "text/html;q=0.5, text/plain", "text/html;q=0.5, */*"}) {
        INFO(accept);
        CHECK(http.get("/status", {{"Accept", accept}}).header("content-type")
              == text.header("content-type"));
    }
    CHECK(http.get("/status", {{"Accept", "a/b;q=0, TEXT/HTML ;q=0.1"}})
              .header("content-type")
          == "text/html; charset=utf-8");
    const auto head = http.head("/status");
    CHECK(head.status == 200);
    CHECK(head.body.empty());

    const auto wrong = http.get("/status?format=xml");
    CHECK(wrong.status == 400);
    CHECK(code_of(wrong) == "invalid_parameter");
    const auto post = http.post("/status", "a body");
    CHECK(post.status == 405);
    CHECK(post.header("allow") == "GET, HEAD");
}

TEST_CASE("status: promtool accepts the metrics")
{
    Store store(with_status());
    store.http.get("/v1/pets");
    store.http.get("/v1/nothing");
    const auto text = Http(store.nginx.url()).get("/status").body;
    const auto output = run({"promtool", "check", "metrics"}, text);
    CHECK(output.code == 0);
    CHECK(output.out + output.err == "");
}

TEST_CASE("status: needs no key and asks no Redis")
{
    auto options = with_status();
    options.server += " petstore_guard on;";
    Store store(options);
    // Not with the store's key: workers read the label of a busy account.
    Http(store.nginx.url(), "unknown").get("/v1/pets");
    Monitor monitor(store.redis);
    Http http(store.nginx.url());
    CHECK(http.get("/status").status == 200);
    CHECK(http.get("/livez").status == 204);
    CHECK(http.get("/elsewhere").status == 401);  // guarded
    CHECK(monitor.names().empty());
}

TEST_CASE("status: an exempt location exempts nothing else from the guard")
{
    NginxOptions options;
    options.server = R"(
        petstore_guard on;
        location /ops {
            petstore_health live;
            location /ops/files { root html; }
        }
        location /both { petstore_status; proxy_pass http://127.0.0.1:1; }
        location /if {
            petstore_health live;
            if ($arg_away) { proxy_pass http://127.0.0.1:1; }
        }
        location /except {
            petstore_health live;
            limit_except GET { proxy_pass http://127.0.0.1:1; }
        })";
    Store store(options);
    Http http(store.nginx.url());
    CHECK(http.get("/ops").status == 204);
    CHECK(http.get("/ops/files").status == 401);
    CHECK(http.get("/both").status == 401);
    CHECK(http.get("/if").status == 204);
    CHECK(http.get("/if?away=1").status == 401);
    CHECK(http.get("/except").status == 204);
    CHECK(http.post("/except", "{}").status == 401);
}

TEST_CASE("status: a page with a part of the service is not a request to it")
{
    auto options = with_status();
    options.server += R"(
        location /page {
            ssi on; ssi_types *;
            default_type text/html;
            return 200 '<!--# include virtual="/v1/pets" -->';
        }
        location /behind {
            auth_request /v1/pets;
            alias /nowhere;
        })";
    Store store(options);
    Http(store.nginx.url()).get("/page");
    store.http.get("/behind");
    auto samples = samples_of(Http(store.nginx.url()).get("/status").body);
    CHECK(samples["petstore_request_duration_seconds_count"] == 0);
    CHECK(samples[decisions("denied", "unknown")] == 1);
    CHECK(samples[decisions("passed", "enterprise")] == 1);
}

TEST_CASE("status: a zone without room for metrics is reported, not fatal")
{
    auto options = with_status();
    options.http = "petstore_zone 32k;";
    Store store(options);
    CHECK(store.http.get("/v1/pets").status == 200);
    CHECK(Http(store.nginx.url()).get("/status").status == 200);
    CHECK(contains(store.nginx.error_log(),
                   "\"petstore_zone\" is too small for metrics"));
}

TEST_CASE("status: workers of a small zone share their counters")
{
    auto options = with_status();
    options.http = "petstore_zone 64k;";
    options.kills_workers = true;
    Hosts hosts(1, options);
    const auto key = create_key(hosts.redis, {"--plan", "business"});
    for (auto& client : one_per_worker(hosts)) {
        client.use_key(key.secret);
        client.get("/v1/pets");
    }
    auto& nginx = *hosts.nginx[0];
    CHECK(soon(nginx, requests("listPets", 200), 2));

    // Gauges are per worker.
    const auto workers = [&nginx] {
        return Http(nginx.url()).get("/status?format=json").json()["workers"];
    };
    const auto up = of_redis(hosts.redis, "redis_up");
    CHECK(workers() == 2);
    nginx.reload_and_settle();
    CHECK(wait_until([&] { return workers() == 2; }));
    CHECK(sample(nginx, up) == 1);
    hosts.redis.stop();
    REQUIRE(wait_until([&] {
        Http(nginx.url(), key.secret).get("/v1/pets");
        return sample(nginx, up) == 0;
    }));
    const auto killed = nginx.workers().front();
    ::kill(killed, SIGKILL);
    REQUIRE(wait_until([&] { return workers() == 2; }));
    hosts.redis.start();
    CHECK(wait_until([&] {
        Http(nginx.url(), key.secret).get("/v1/pets");
        return sample(nginx, up) == 1;
    }));
}

TEST_CASE("status: reloads change the plans and the Redis that are counted")
{
    auto options = with_status();
    options.http = "petstore_plan gold minute=500 day=5000;";
    RedisServer first;
    RedisServer second;
    options.redis = first.url();
    NginxServer nginx(options);
    const auto key = create_key(first, {"--plan", "gold"});
    Http(nginx.url(), key.secret).get("/v1/pets");
    CHECK(sample(nginx, decisions("passed", "gold")) == 1);

    options.http = "";
    options.redis = second.url();
    nginx.change(options);
    nginx.reload_and_settle();
    const auto other = create_key(second, {"--plan", "pro"});
    Http(nginx.url(), other.secret).get("/v1/pets");
    const auto text = Http(nginx.url()).get("/status").body;
    auto samples = samples_of(text);
    CHECK(samples[decisions("passed", "gold")] == 1);
    CHECK(samples[decisions("passed", "pro")] == 1);
    CHECK(samples[of_redis(second, "redis_up")] == 1);
    CHECK(samples.count(of_redis(first, "redis_up")) == 0);
    CHECK(samples[of_redis(first, "redis_commands_total")] > 0);
}

TEST_CASE("status: the hosts of the store with their versions")
{
    const auto options = with_status();
    Hosts hosts(3, options);
    const auto shown = [&] {
        std::set<std::string> configurations;
        const auto status =
            Http(hosts.nginx[0]->url()).get("/status?format=json").json();
        for (const auto& host : status["hosts"]) {
            CHECK(host["version"] == status["version"]);
            configurations.insert(host["configuration"]);
        }
        return configurations;
    };
    // A host learns of the others when it publishes.
    hosts.nginx[0]->reload_and_settle();
    std::set<std::string> all;
    for (const auto& nginx : hosts.nginx) {
        all.insert(nginx->path("nginx.conf"));
    }
    CHECK(wait_until([&] { return shown() == all; }));
    CHECK(contains(Http(hosts.nginx[0]->url()).get("/status?format=html").body,
                   *all.begin()));
}

TEST_CASE("status: one of petstore, petstore_status and petstore_health")
{
    for (
        const auto& [location, problem] :
        {std::pair("petstore_status; petstore_status;",
                   "\"petstore_status\" cannot be used in one location"),
         {"petstore; petstore_health live;",
          "\"petstore_health\" cannot be used in one location"},
         {"petstore_health ready; petstore;",
          "\"petstore\" cannot be used in one location"},
         {"petstore_health maybe;",
          "invalid value \"maybe\" in \"petstore_health\" directive, it must be \"live\" or \"ready\""},
         {"petstore_status; petstore_guard on;",
          "\"petstore_guard on\" cannot be used in a location with"}}) {
        NginxOptions options;
        options.redis = "redis://127.0.0.1";
        options.server = std::string("location = /x { ") + location + " }";
        INFO(location);
        const auto output = NginxServer::check(options);
        CHECK(output.code != 0);
        CHECK(contains(output.err, problem));
    }
}
