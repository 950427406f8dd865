// Objects that outlive each other: requests whose client is gone, and replies
// that nothing waits for. Only the sanitized build reveals most faults.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>

#include "support/back_end.h"
#include "support/limits.h"

using namespace petstore::e2e;

namespace {

// Sends requests and closes the connection before the worker sees them.
class LeavingClient {
public:
    explicit LeavingClient(const NginxServer& nginx)
        : nginx_(nginx), worker_(nginx.workers().at(0))
    {}

    void send(const std::string& request)
    {
        kill(worker_, SIGSTOP);
        {
            RawClient client(nginx_.port());
            client.send(request);
            client.reset();
        }
        kill(worker_, SIGCONT);
    }

private:
    const NginxServer& nginx_;
    const pid_t worker_;
};

std::string post(const std::string& path, const Key& key,
                 const std::string& body)
{
    return "POST " + path + " HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "
           + key.secret
           + "\r\nContent-Type: application/json\r\nContent-Length: "
           + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace

TEST_CASE("lifetimes: a client that left before its request was answered")
{
    NginxOptions options;
    options.server = R"(
        location /checked/v1/ { auth_request /v1/pets; petstore /checked/v1; }
        location /followed/v1/ { post_action /v1/pets; petstore /followed/v1; }
        location /tried/v1/ {
            petstore /tried/v1;
            petstore_limit_dry_run on;
            petstore_ban off;
        })";
    Store store(options);
    import_pets(store.redis, 3);
    const auto key = limited_key(store.redis, 1);
    const auto workers = store.nginx.workers();
    Http http(store.nginx.url(), key.secret);
    CHECK(http.get("/v1/pets").status == 200);

    LeavingClient leaving(store.nginx);
    for (int i = 0; i < 10; ++i) {
        // The account is denied from memory, or let through in a dry run: the
        // request is answered before its handler returns.
        CHECK(http.get("/v1/pets").status == 429);
        for (const char* path : {"/tried/v1/pets", "/checked/v1/pets",
                                 "/followed/v1/pets", "/v1/pets"}) {
            leaving.send(post(path, key, "{\"name\":"));
            leaving.send(post(path, store.key, "{\"name\":"));
            leaving.send(
                post(path, store.key, "{\"name\":\"Rex\",\"categoryId\":7}"));
            leaving.send("GET " + std::string(path)
                         + " HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "
                         + key.secret + "\r\n\r\n");
        }
    }
    CHECK(store.http.get("/v1/pets").status == 200);
    CHECK(store.nginx.workers() == workers);
}

TEST_CASE("lifetimes: post_action takes over a request that waits for Redis")
{
    BackEnd back_end;
    NginxOptions options;
    options.server =
        "proxy_http_version 1.1;location = /after { proxy_pass http://"
        + back_end.address() + R"(; }
        location = /guarded-after {
            petstore_guard on;
            proxy_pass http://)"
        + back_end.address() + R"(/after;
        }
        location /served/v1/ { petstore /served/v1; post_action /after; }
        location /guarded { petstore_guard on; post_action /after; alias /; }
        location /both { petstore_guard on; post_action /guarded-after; alias /; }
    )";
    Store store(options);
    const auto workers = store.nginx.workers();
    REQUIRE(store.http.get("/v1/pets").status == 200);

    // The action of a request may come after the next one was sent.
    std::vector<std::string> parts;
    const auto actions_of = [&](const std::string& part) {
        const auto all = back_end.requests();
        return std::count_if(all.begin(), all.end(), [&](const auto& request) {
            return request.header("x-part") == part;
        });
    };
    for (const bool known : {true, false}) {
        for (const char* path : {"/served/v1/pets", "/guarded", "/both"}) {
            CAPTURE(known, path);
            const auto part = path + std::string(known ? " known" : " unknown");
            parts.push_back(part);
            // Whether the post_action waits for Redis, too.
            const bool waits_twice = std::string(path) == "/both";
            store.redis.pause();
            back_end.hold();
            {
                RawClient client(store.nginx.port());
                client.send(
                    "GET " + std::string(path)
                    + " HTTP/1.1\r\nHost: a\r\nX-Part: " + part
                    + "\r\nAuthorization: Bearer "
                    + (known ? store.key.secret : "unknown-" + store.key.id)
                    + "\r\n\r\n");
            }
            if (!waits_twice) {
                REQUIRE(wait_until([&] { return actions_of(part) == 1; }));
            }
            store.redis.resume();
            REQUIRE(wait_until(
                [&] { return store.http.get("/v1/pets").status == 200; }));
            back_end.release();
            CHECK(store.http.get("/v1/pets").status == 200);
        }
    }
    for (const auto& part : parts) {
        INFO(part);
        CHECK(actions_of(part) <= 1);
    }
    CHECK(store.nginx.workers() == workers);
}

TEST_CASE("lifetimes: NOSCRIPT in answer to the reads of a page")
{
    RedisServer redis;
    const auto key = create_key(redis);
    import_pets(redis, 200);
    auto forward = forward_to(redis);
    std::atomic<bool> honest{true};
    FakeRedis fake([&](const Words& command) {
        return honest || command.at(0) != "LRANGE"
                   ? forward(command)
                   : FakeRedis::Answer{"-NOSCRIPT No matching script.\r\n"};
    });
    NginxOptions options;
    options.redis = fake.url();
    NginxServer nginx(options);
    Http http(nginx.url(), key.secret);
    // The second page spans two buckets.
    const auto second = next_of(http.get("/v1/pets?limit=100"));
    nginx.reload_and_settle();
    const auto workers = nginx.workers();

    honest = false;
    for (int i = 0; i < 5; ++i) {
        expect_error(http.get(second), 503, "service_unavailable");
    }
    honest = true;
    CHECK(http.get(second).json().size() == 100);
    CHECK(nginx.workers() == workers);
}

// The page's first part fails because the connection to Redis is lost. During
// that failure nginx starts the second part, and Redis refuses the new
// connection at once. The last part fails too and closes the client's
// connection.
TEST_CASE("lifetimes: a page that is closed while one of its parts starts")
{
    const std::string second =
        GENERATE("petstore_guard on; alias %DIR%/;", "petstore /second/v1;");
    CAPTURE(second);
    RedisServer redis;
    const auto key = create_key(redis);
    auto forward = forward_to(redis);
    std::atomic<bool> away{false};
    std::string socket;
    FakeRedis fake([&](const Words& command) {
        if (!away || command.at(0) != "HGETALL") {
            return forward(command);
        }
        if (!contains(command.at(1), "other")) {
            return FakeRedis::Answer{};  // for the first part: no reply yet
        }
        std::filesystem::rename(socket, socket + ".away");
        return FakeRedis::Answer{"", false, true};
    });
    socket = fake.url().substr(5);

    NginxOptions options;
    options.redis = fake.url();
    options.server = R"(
        location /page/ { alias %DIR%/; ssi on; }
        location /first/ { petstore_guard on; alias %DIR%/; }
        location /second/v1/ { )"
                     + second + R"( }
        location /last/ {
            petstore_guard on;
            petstore_prefix other;
            alias %DIR%/;
            error_page 503 @close;
        }
        location @close { return 444; })";
    NginxServer nginx(options);
    // Nested parts, because commands are sent in page order.
    write_file(
        nginx.path("all.html"),
        "<!--# include virtual=\"/page/left.html\" --><!--# include virtual=\"/page/right.html\" -->");
    write_file(
        nginx.path("left.html"),
        "<!--# include virtual=\"/first/a.txt\" wait=\"yes\" --><!--# include virtual=\"/second/v1/pets\" -->");
    write_file(nginx.path("right.html"),
               "<!--# include virtual=\"/last/a.txt\" -->");
    write_file(nginx.path("a.txt"), "0123456789");
    const auto workers = nginx.workers();

    away = true;
    RawClient client(nginx.port());
    client.send("GET /page/all.html HTTP/1.1\r\nHost: a\r\n"
                "Authorization: Bearer "
                + key.secret + "\r\n\r\n");
    const auto page = client.read_all();
    CHECK_FALSE(contains(page, "0123456789"));
    CHECK(std::filesystem::exists(socket + ".away"));

    away = false;
    std::filesystem::rename(socket + ".away", socket);
    Http http(nginx.url(), key.secret);
    CHECK(wait_until([&] { return http.get("/first/a.txt").status == 200; }));
    CHECK(nginx.workers() == workers);
}
