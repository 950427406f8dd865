// Objects that outlive each other: requests whose client is gone, replies that
// nobody waits for. Most faults show only in the sanitized build.
#include <atomic>
#include <csignal>

#include "support/limits.h"

using namespace petstore::e2e;

namespace {

// Sends requests whose client has left before the worker sees them.
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
        // The account is denied from memory, and let through: the request is
        // answered before its handler returns.
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
    // The second page lies in two buckets.
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
