// docs/guard.md: its variables, the messages of `nginx -t`, and
// nginx-conf/guard.conf.
#include "support/guarded_store.h"

using namespace petstore::e2e;

namespace {

// The shipped file with addresses replaced.
NginxOptions guard_conf(const RedisServer& redis, const BackEnd& back_end)
{
    NginxOptions options;
    options.file =
        read_file(std::string(E2E_SUPPORT) + "/../../../nginx-conf/guard.conf");
    options.redis = redis.url();
    for (const auto& [from, to] :
         {std::pair<std::string, std::string>(
              "modules/ngx_http_petstore_module.so", "%MODULE%"),
          {"error_log stderr;", "error_log error.log info;"},
          {"127.0.0.1:8082", "%ADDRESS%:%PORT%"},
          {"redis://127.0.0.1:6379/0",
           "\"%REDIS%\"; petstore_redis_connect_timeout 10s;"
           "petstore_redis_timeout 10s"},
          {"server 127.0.0.1:9000", "server " + back_end.address()}}) {
        INFO(from);
        CHECK(contains(options.file, from));
        replace_all(options.file, from, to);
    }
    return options;
}

std::string log_line(const Store& store, const std::string& name)
{
    std::string line;
    wait_until([&] {
        line = read_file(store.nginx.path(name));
        return !line.empty() && line.back() == '\n';
    });
    return line;
}

}  // namespace

TEST_CASE("guard: variables in logs and in headers to the back end")
{
    NginxOptions options;
    options.http =
        "log_format all '$petstore_account|$petstore_plan|$petstore_key_id|$petstore_limit_status|$petstore_limit_remaining|$petstore_error_code|$petstore_operation';";
    options.server = R"(
        location /early/ {
            petstore_guard on;
            set $early "[$petstore_account$petstore_limit_status]";
            if ($petstore_account) { return 500; }
            proxy_set_header X-Early $early;
            proxy_pass http://%BACK_END%;
        })";
    GuardedStore shop(options, R"(
        proxy_set_header X-Account $petstore_account;
        proxy_set_header X-Plan $petstore_plan;
        proxy_set_header X-Key $petstore_key_id;
        proxy_set_header X-Status $petstore_limit_status;
        access_log all.log all;)");
    auto& store = shop.store;
    const auto key = create_key(store.redis, {"--plan", "pro"});
    store.http.use_key(key.secret);

    // Values sent by the client are ignored.
    CHECK(store.http
              .get("/shop/", {{"X-Account", "somebody-else"},
                              {"x-account", "root"},
                              {"X-Plan", "enterprise"}})
              .status
          == 200);
    const auto reached = shop.back_end.last();
    CHECK(reached.header("x-account") == key.account);
    CHECK(reached.header("x-plan") == "pro");
    CHECK(reached.header("x-key") == key.id);
    CHECK(reached.header("x-status") == "PASSED");
    const auto line = log_line(store, "all.log");
    CHECK(line == key.account + "|pro|" + key.id + "|PASSED|299|-|-\n");

    store.http.get("/shop/", kNoKey);
    CHECK(wait_until([&] {
        return count_of(read_file(store.nginx.path("all.log")), "|DENIED|")
               == 1;
    }));
    CHECK(contains(log_line(store, "all.log"), "|missing_api_key|-\n"));

    // Not set yet in the rewrite phase.
    CHECK(store.http.get("/early/").status == 200);
    CHECK(shop.back_end.last().header("x-early") == "[]");
}

TEST_CASE("guard: errors of the configuration")
{
    TempDir dir;
    const auto check = [&](const std::string& lines) {
        write_file(dir / "part.conf", lines);
        NginxOptions options;
        options.redis = "redis://127.0.0.1:6379";
        options.server = "include " + (dir / "part.conf") + ";";
        return NginxServer::check(options);
    };
    const auto refuses = [&](const std::string& lines,
                             const std::string& message, int line) {
        INFO(lines);
        const auto result = check(lines);
        INFO(result.err);
        CHECK(result.code != 0);
        CHECK(contains(result.err, message));
        CHECK(contains(result.err,
                       " in " + (dir / "part.conf:") + std::to_string(line)));
    };

    refuses(
        "location /a/v1/ {\npetstore /a/v1;\npetstore_guard off;\n}",
        "\"petstore_guard off\" cannot be used in a location with \"petstore\"",
        3);
    refuses("location /a/v1/ {\npetstore_guard off;\npetstore /a/v1;\n}",
            "\"petstore_guard off\" cannot be used", 2);
    refuses("petstore_guard on;\npetstore_guard off;",
            "\"petstore_guard\" directive is duplicate", 2);
    refuses(
        "location /a {\npetstore_guard maybe;\n}",
        "invalid value \"maybe\" in \"petstore_guard\" directive, it must be \"on\" or \"off\"",
        2);
    refuses("petstore_guard;",
            "invalid number of arguments in \"petstore_guard\" directive", 1);
    refuses("location /a {\nif ($arg_a) {\npetstore_guard on;\n}\n}",
            "\"petstore_guard\" directive is not allowed here", 3);
    refuses("location /a {\nlimit_except GET {\npetstore_guard on;\n}\n}",
            "\"petstore_guard\" directive is not allowed here", 3);

    for (const std::string value : {"on", "off"}) {
        const auto exempt =
            "\"petstore_guard " + value
            + "\" cannot be used in a location with \"petstore_usage\", \"petstore_admin\", \"petstore_status\" or \"petstore_health\", which decide themselves whom they answer";
        refuses("location /a {\npetstore_status;\npetstore_guard " + value
                    + ";\n}",
                exempt, 3);
        refuses("location /a {\npetstore_guard " + value
                    + ";\npetstore_health live;\n}",
                exempt, 2);
    }

    for (
        const char* accepted :
        {"petstore_guard off;",
         "petstore_guard on; location /a/v1/ { petstore /a/v1; }",
         "petstore_guard off; location /a/v1/ { petstore /a/v1; }",
         "location /a/v1/ { petstore /a/v1; petstore_guard on; if ($arg_a) { set $b 1; } location /a/v1/b { petstore_guard off; empty_gif; } }"}) {
        INFO(accepted);
        const auto result = check(accepted);
        INFO(result.err);
        CHECK(result.code == 0);
        CHECK_FALSE(contains(result.err, "[warn]"));
    }
}

TEST_CASE("guard: nginx-conf/guard.conf")
{
    const BackEnd back_end;
    const RedisServer redis;
    const auto key = create_key(redis, {"--plan", "startup"});
    const NginxServer nginx(guard_conf(redis, back_end));
    Http http(nginx.url(), key.secret);

    const auto order =
        http.send({"POST",
                   "/orders/1",
                   {{"X-Account", "made-up"}, {"X-Plan", "enterprise"}},
                   "{\"petId\":1}"});
    CHECK(order.status == 200);
    CHECK(order.body == "back end");
    CHECK(rate_headers_of(order).limit == 120);
    CHECK(rate_headers_of(order).remaining == 119);
    CHECK(order.has("x-request-id"));
    const auto reached = back_end.last();
    CHECK(reached.target == "/orders/1");
    CHECK(reached.body == "{\"petId\":1}");
    CHECK(reached.header("host") == own_address());
    CHECK(reached.header("x-account") == key.account);
    CHECK(reached.header("x-plan") == "startup");
    CHECK_FALSE(reached.has("authorization"));
    CHECK_FALSE(reached.has("connection"));

    // One budget, of which a report costs ten times as much.
    CHECK(rate_headers_of(http.get("/reports/")).remaining == 109);
    const auto usage = http.get("/usage").json();
    CHECK(usage["plan"] == "startup");
    CHECK(usage["today"] == 11);
    for (int i = 0; i < 10; ++i) {
        CHECK(http.get("/reports/").status == 200);
    }
    for (int i = 0; i < 9; ++i) {
        expect_error(http.get("/reports/"), 429, "rate_limit_exceeded");
        CHECK(http.get("/orders/").status == 200);
    }
    expect_error(http.get("/orders/"), 429, "rate_limit_exceeded");
    expect_error(http.get("/orders/", kNoKey), 401, "missing_api_key");
    CHECK(back_end.count() == 21);
    Http(nginx.url(), create_key(redis, {"--plan", "business"}).secret)
        .get("/reports/");
    CHECK(back_end.count() == 22);
    Http pro(nginx.url(), create_key(redis, {"--plan", "pro"}).secret);
    CHECK(pro.get("/orders/").status == 200);
    expect_error(pro.get("/reports/"), 403, "plan_not_allowed");

    CHECK(wait_until([&] {
        return contains(nginx.access_log(),
                        "\"POST /orders/1\" 200 route=orders account="
                            + key.account + " key=" + key.id
                            + " limit=PASSED refusal=- request=");
    }));
    const auto metrics = http.get("/status").body;
    CHECK(contains(metrics, "{route=\"orders\",status=\"401\"} 1\n"));
    CHECK(contains(metrics, "{route=\"reports\",status=\"429\"} 9\n"));
}
