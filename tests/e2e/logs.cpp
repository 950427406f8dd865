// docs/directives.md, "Embedded variables": $petstore_key_refusal and the ids
// of refused keys. docs/operations.md, "Logging": the JSON access logs of
// nginx-conf/.
#include "support/guarded_store.h"

using namespace petstore::e2e;

namespace {

const char* const kRefusalFormat =
    "log_format refusal '$petstore_key_refusal|$petstore_key_id|$petstore_account|$petstore_plan|$petstore_limit_status';";

std::string bearer(const std::string& key)
{
    return "Bearer " + key;
}

// Returns the lines of a log once it has `count` complete lines.
std::vector<std::string> lines_of(const std::string& file, std::size_t count)
{
    std::string text;
    wait_until([&] {
        text = read_file(file);
        return !text.empty() && text.back() == '\n'
               && split(text, '\n').size() >= count;
    });
    return split(text, '\n');
}

// A shipped configuration with a JSON log, with addresses, folders and Redis
// replaced.
NginxOptions shipped(const std::string& name, const RedisServer& redis)
{
    NginxOptions options;
    options.redis = redis.url();
    options.file =
        read_file(std::string(E2E_SUPPORT) + "/../../../nginx-conf/" + name);
    const auto change = [&](const std::string& from, const std::string& to) {
        INFO(from);
        CHECK(contains(options.file, from));
        replace_all(options.file, from, to);
    };
    change("modules/ngx_http_petstore_module.so", "%MODULE%");
    if (name == "production.conf") {
        change("error_log /var/log/nginx/error.log notice;",
               "daemon off; error_log error.log info;");
        change("user www-data;", "");
        change("/run/nginx.pid", "nginx.pid");
        change("/var/log/nginx/petstore.log petstore buffer=64k flush=1s",
               "petstore.log petstore");
        change("worker_processes auto", "worker_processes 1");
        change("worker_connections 16384", "worker_connections 1024");
        change("worker_rlimit_nofile 65536;", "");
        change("redis://127.0.0.1:6379/0;", "\"%REDIS%\";");
        change("listen 80 default_server reuseport backlog=4096;",
               "listen %ADDRESS%:%PORT%;");
        change("listen [::]:80 default_server reuseport backlog=4096;", "");
        change("60 enforce", "60");
    } else if (name == "quickstart.conf") {
        change("error_log stderr;", "error_log error.log info;");
        change("access_log access.log", "access_log petstore.log");
        change("redis://127.0.0.1:6379/0;", "\"%REDIS%\";");
        change("listen 127.0.0.1:8080;", "listen %ADDRESS%:%PORT%;");
    } else {
        change("error_log stderr notice;", "error_log error.log info;");
        change("/tmp/petstore/nginx.pid", "nginx.pid");
        change("/dev/stdout", "petstore.log");
        change("listen 8080;", "listen %ADDRESS%:%PORT%;");
        change("listen 8081;", "listen unix:%DIR%/status.sock;");
        change("include /tmp/petstore/environment*.conf;",
               "petstore_redis \"%REDIS%\";");
        change("include /etc/petstore/", "include none/");
        replace_all(options.file, "/tmp/petstore/", "");
    }
    return options;
}

}  // namespace

TEST_CASE("key refusal: the log has the reason, and the id of a known key")
{
    NginxOptions options;
    options.http = kRefusalFormat;
    options.server =
        "access_log refusal.log refusal;location /guarded/ { petstore_guard on; empty_gif; }";
    const Store store(options);
    const auto disabled = create_key(store.redis);
    REQUIRE(ctl(store.redis.url(), {"key", "disable", disabled.id}).code == 0);
    const auto deleted = create_key(store.redis);
    REQUIRE(ctl(store.redis.url(), {"key", "delete", deleted.id}).code == 0);
    const auto expired = create_key(store.redis, {"--expires", "2000-01-01"});
    std::string mistyped = store.key.secret;
    mistyped.back() = mistyped.back() == 'a' ? 'b' : 'a';

    struct Case {
        std::string authorization;
        std::string line;
    };
    const std::string denied = "|-|-|DENIED";
    const std::vector<Case> cases = {
        {"", "missing|-" + denied},
        {"Basic YTpi", "missing|-" + denied},
        {"Bearer ", "missing|-" + denied},
        {bearer(mistyped), "malformed|-" + denied},
        {bearer("two words"), "malformed|-" + denied},
        {bearer("an-imported-key"), "unknown|-" + denied},
        {bearer(deleted.secret), "unknown|-" + denied},
        {bearer(disabled.secret), "disabled|" + disabled.id + denied},
        {bearer(expired.secret), "expired|" + expired.id + denied},
        {bearer(store.key.secret),
         "-|" + store.key.id + "|" + store.key.account + "|enterprise|PASSED"},
    };
    const auto file = store.nginx.path("refusal.log");
    Http http(store.nginx.url());
    std::size_t count = 0;
    for (const char* path : {"/v1/pets", "/guarded/"}) {
        for (const auto& [authorization, line] : cases) {
            // From Redis, then from memory.
            for (int i = 0; i < 2; ++i) {
                INFO(path << ": " << line);
                const auto response = http.get(
                    path, authorization.empty()
                              ? Headers{}
                              : Headers{{"Authorization", authorization}});
                CHECK(response.status
                      == (contains(line, "PASSED") ? 200 : 401));
                CHECK_FALSE(contains(response.body, "disabled"));
                CHECK_FALSE(contains(response.body, "expired"));
                const auto lines = lines_of(file, ++count);
                REQUIRE(lines.size() == count);
                CHECK(lines.back() == line);
            }
        }
    }
}

TEST_CASE("key refusal: is empty if no key was looked up")
{
    NginxOptions options;
    options.http = kRefusalFormat;
    options.server =
        "access_log refusal.log refusal;location / { return 404; }location /v1/pets/7 { petstore; return 204; }";
    Store store(options);
    const auto file = store.nginx.path("refusal.log");
    Http http(store.nginx.url());
    auto last = [&, count = std::size_t{0}]() mutable {
        const auto lines = lines_of(file, ++count);
        REQUIRE(lines.size() == count);
        return lines.back();
    };
    CHECK(http.request("OPTIONS", "/v1/pets").status == 204);
    CHECK(last() == "-|-|-|-|-");
    CHECK(http.get("/nowhere").status == 404);
    CHECK(last() == "-|-|-|-|-");
    CHECK(http.get("/v1/pets/7").status == 204);  // before the guard
    CHECK(last() == "-|-|-|-|-");
    store.redis.stop();
    CHECK(store.http.get("/v1/pets").status == 503);
    CHECK(last() == "-|-|-|-|UNAVAILABLE");
}

TEST_CASE("key refusal: is unknown before the precontent phase")
{
    NginxOptions options;
    options.http = kRefusalFormat;
    options.server = "access_log refusal.log refusal;";
    options.location =
        "set $early \"[$petstore_key_refusal$petstore_key_id]\";add_header X-Early $early always;add_header X-Late $petstore_key_refusal always;";
    const Store store(options);
    const auto response = Http(store.nginx.url()).get("/v1/pets");
    CHECK(response.status == 401);
    CHECK(response.header("x-early") == "[]");
    CHECK(response.header("x-late") == "missing");
}

TEST_CASE("logs: each line of the JSON logs of nginx-conf is JSON")
{
    const auto* const name =
        GENERATE("production.conf", "container.conf", "quickstart.conf");
    CAPTURE(name);
    const RedisServer redis;
    const auto key = create_key(redis, {"--plan", "free"});
    const auto disabled = create_key(redis);
    REQUIRE(ctl(redis.url(), {"key", "disable", disabled.id}).code == 0);
    const NginxServer nginx(shipped(name, redis));
    Http http(nginx.url(), key.secret);
    const auto file = nginx.path("petstore.log");
    auto last = [&, count = std::size_t{0}]() mutable {
        const auto lines = lines_of(file, ++count);
        REQUIRE(lines.size() == count);
        INFO(lines.back());
        auto line = nlohmann::json::parse(lines.back(), nullptr, false);
        REQUIRE(line.is_object());
        CHECK(line["bytes"].is_number_unsigned());
        CHECK(line["seconds"].is_number_float());
        return line;
    };

    const auto list = http.get("/v1/pets?limit=5");
    CHECK(list.status == 200);
    auto line = last();
    CHECK(line["request"] == list.header("x-request-id"));
    CHECK(line["method"] == "GET");
    CHECK(line["path"] == "/v1/pets");
    CHECK(line["status"] == 200);
    CHECK(line["operation"] == "listPets");
    CHECK(line["key_id"] == key.id);
    CHECK(line["key_refusal"] == "");
    CHECK(line["account"] == key.account);
    CHECK(line["plan"] == "free");
    CHECK(line["limit"] == "PASSED");
    CHECK(line["remaining"] == 59);
    CHECK(line["redis"].is_number_float());

    CHECK(http.get("/v1/pets/17").status == 404);
    line = last();
    CHECK(line["status"] == 404);
    CHECK(line["error"] == "pet_not_found");
    CHECK(line["remaining"] == 58);

    Http anyone(nginx.url());
    CHECK(anyone.get("/v1/pets").status == 401);
    line = last();
    CHECK(line["status"] == 401);
    CHECK(line["key_refusal"] == "missing");
    CHECK(line["redis"].is_null());
    CHECK(line["remaining"] == 59);
    CHECK(anyone.get("/v1/pets", {{"Authorization", bearer(disabled.secret)}})
              .status
          == 401);
    line = last();
    CHECK(line["key_id"] == disabled.id);
    CHECK(line["key_refusal"] == "disabled");
    CHECK(line["redis"].is_number_float());

    CHECK(anyone.get("/elsewhere").status == 404);
    line = last();
    CHECK(line["status"] == 404);
    CHECK(line["path"] == "/elsewhere");
    CHECK(line["operation"] == "");

    // Requests that only a broken client sends.
    for (const auto& [request, path] :
         std::vector<std::pair<std::string, std::string>>{
             {"GET\r\n\r\n", ""},
             {"G\xFFT /v1/pets HTTP/1.1\r\nHost: a\r\n\r\n", ""},
             {"GET /v1/\xFFpets?a\xFF HTTP/1.1\r\nHost: a\r\n\r\n", "/v1/"},
             {"GET /v1/%ff\"\\ HTTP/1.1\r\nHost: a\r\n\r\n", "/v1/%ff\"\\"},
         }) {
        INFO(request);
        const auto status = [&] {
            // nginx writes the line once the client has closed.
            RawClient client(nginx.port());
            client.send(request);
            return client.read().status;
        }();
        CHECK(status >= 400);
        line = last();
        CHECK(line["status"] == status);
        CHECK(line["path"] == path);
    }

    for (int i = 0; i < 58; ++i) {
        CHECK(http.get("/v1/nothing").status == 404);
        last();
    }
    CHECK(http.get("/v1/pets").status == 429);
    line = last();
    CHECK(line["status"] == 429);
    CHECK(line["limit"] == "LIMITED");
    CHECK(line["remaining"] == 0);
    CHECK(line["error"] == "rate_limit_exceeded");
}

TEST_CASE("nginx-conf: caches keep the compressed document apart")
{
    const auto* const name = GENERATE("production.conf", "container.conf");
    CAPTURE(name);
    const RedisServer redis;
    const NginxServer nginx(shipped(name, redis));
    Http http(nginx.url());
    const auto packed =
        http.get("/v1/openapi.json", {{"Accept-Encoding", "gzip"}});
    CHECK(packed.header("content-encoding") == "gzip");
    const auto plain = http.get("/v1/openapi.json");
    CHECK_FALSE(plain.has("content-encoding"));
    for (const auto& response : {packed, plain}) {
        CHECK(response.header("cache-control") == "no-cache");
        CHECK(response.header("vary") == "Accept-Encoding");
    }
}

TEST_CASE("logs: probes and metrics of production.conf are not logged")
{
    const RedisServer redis;
    const NginxServer nginx(shipped("production.conf", redis));
    Http http(nginx.url());
    CHECK(http.get("/livez").status == 204);
    CHECK(wait_until([&] { return http.get("/readyz").status == 204; }));
    const auto metrics = http.get("/status");
    CHECK(metrics.status == 200);
    CHECK(contains(metrics.body, "petstore_build_info{"));

    CHECK(http.get("/elsewhere").status == 404);
    const auto lines = lines_of(nginx.path("petstore.log"), 1);
    REQUIRE(lines.size() == 1);
    CHECK(contains(lines[0], "\"path\":\"/elsewhere\""));
}
