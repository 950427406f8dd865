// docs/http.md, "Methods and paths", "Headers of every response" and "Clients
// that leave".
#include <cstring>

#include "support/limits.h"

using namespace petstore::e2e;

namespace {

const char* const kPet = "{\"name\":\"Rex\",\"categoryId\":7}";

// The headers that two responses to the same request must share: all except
// counters and times.
Headers stable(const Response& response)
{
    Headers headers;
    for (const auto& header : response.headers) {
        if (header.first != "date"
            && header.first.rfind("x-ratelimit", 0) != 0) {
            headers.push_back(header);
        }
    }
    return headers;
}

}  // namespace

TEST_CASE("http: HEAD is GET without the body")
{
    Store store;
    import_pets(store.redis, 30);
    for (const char* path :
         {"/v1/pets", "/v1/pets?limit=5&status=sold", "/v1/pets/1",
          "/v1/pets/99", "/v1/pets/abc", "/v1/nowhere", "/v1/pets?limit=0"}) {
        INFO(path);
        const auto get = store.http.get(path);
        const auto head = store.http.head(path);
        CHECK(head.status == get.status);
        CHECK(head.body.empty());
        CHECK(stable(head) == stable(get));
        CHECK(head.header("content-length") == std::to_string(get.body.size()));
    }
    // The connection is still in sync after HEAD.
    RawClient raw(store.nginx.port());
    raw.send(store.head("HEAD /v1/pets/1 HTTP/1.1")
             + store.head("HEAD /v1/pets/99 HTTP/1.1")
             + store.head("GET /v1/pets/1 HTTP/1.1"));
    CHECK(raw.read(true).status == 200);
    CHECK(raw.read(true).status == 404);
    expect_json(raw.read(), 200, pet_json(1, "pet 1", "10", "available"));
}

TEST_CASE("http: OPTIONS lists the allowed methods and needs no key")
{
    Store store;
    Http anyone(store.nginx.url());
    const auto key = create_key(store.redis, {"--plan", "free"});
    Http free(store.nginx.url(), key.secret);

    for (auto* http : {&anyone, &free}) {
        const auto pets = http->request("OPTIONS", "/v1/pets");
        CHECK(pets.status == 204);
        CHECK(pets.body.empty());
        CHECK(pets.header("allow") == "GET, HEAD, POST, OPTIONS");
        CHECK(pets.header("cache-control") == "no-store");
        CHECK_FALSE(pets.has("content-length"));
        const auto pet = http->request("OPTIONS", "/v1/pets/1");
        CHECK(pet.status == 204);
        CHECK(pet.header("allow") == "GET, HEAD, OPTIONS");
    }
    // Not charged: the first GET is the first of sixty.
    CHECK(free.get("/v1/pets").header("x-ratelimit-remaining") == "59");
}

TEST_CASE("http: other methods get 405 and an Allow header")
{
    Store store;
    for (const char* method :
         {"PUT", "DELETE", "PATCH", "TRACE", "PROPFIND", "FOO"}) {
        INFO(method);
        const auto pets = store.http.request(method, "/v1/pets");
        if (std::string(method) == "TRACE") {  // refused by nginx itself
            CHECK(pets.status == 405);
            continue;
        }
        expect_error(pets, 405, "method_not_allowed");
        CHECK(pets.header("allow") == "GET, HEAD, POST, OPTIONS");
        const auto pet = store.http.request(method, "/v1/pets/1");
        expect_error(pet, 405, "method_not_allowed");
        CHECK(pet.header("allow") == "GET, HEAD, OPTIONS");
    }
    const auto post = store.http.post("/v1/pets/1", kPet);
    expect_error(post, 405, "method_not_allowed");
    CHECK(post.header("allow") == "GET, HEAD, OPTIONS");
}

TEST_CASE("http: other paths are not found")
{
    Store store;
    import_pets(store.redis, 1);
    for (const char* path :
         {"/v1/", "/v1/pets/", "/v1/Pets", "/v1/store/orders", "/v1/pets%20"}) {
        INFO(path);
        expect_error(store.http.get(path), 404, "not_found");
    }
    CHECK(store.http.get("/v2/pets").status == 404);
    CHECK(store.http.get("/pets").status == 404);
}

TEST_CASE("http: another base path")
{
    NginxOptions options;
    options.servers = R"(server { listen %ADDRESS%:%TLS_PORT%;
        location /store/api/v1/ { petstore /store/api/v1; } })";
    Store store(options);
    import_pets(store.redis, 3);
    Http http(http_url(store.nginx.tls_port()), store.key.secret);
    const auto page = http.get("/store/api/v1/pets?limit=1");
    CHECK(page.status == 200);
    CHECK(next_of(page).rfind("/store/api/v1/pets?limit=1&cursor=", 0) == 0);
    CHECK(http.post("/store/api/v1/pets", kPet).header("location")
          == "/store/api/v1/pets/4");
    CHECK(http.get("/store/api/v1/pets/4").status == 200);
    expect_error(http.get("/store/api/v1/v1/pets"), 404, "not_found");
}

TEST_CASE("http: HTTP 1.0 works with and without keep-alive")
{
    Store store;
    import_pets(store.redis, 2);
    RawClient once(store.nginx.port());
    once.send("GET /v1/pets/1 HTTP/1.0\r\nAuthorization: Bearer "
              + store.key.secret + "\r\n\r\n");
    const auto response = once.read();
    expect_json(response, 200, pet_json(1, "pet 1", "10", "available"));
    CHECK_FALSE(response.has("transfer-encoding"));
    CHECK(once.closes());

    RawClient kept(store.nginx.port());
    const std::string body = kPet;
    kept.send("POST /v1/pets HTTP/1.0\r\nConnection: keep-alive\r\n"
              "Content-Length: "
              + std::to_string(body.size()) + "\r\nAuthorization: Bearer "
              + store.key.secret + "\r\n\r\n" + body);
    expect_json(kept.read(), 201, pet_json(3, "Rex", "7", "available"));
    kept.send("GET /v1/pets/3 HTTP/1.0\r\nAuthorization: Bearer "
              + store.key.secret + "\r\n\r\n");
    CHECK(kept.read().status == 200);
    CHECK(kept.closes());
}

TEST_CASE("http: pipelined requests are answered in their order")
{
    Store store;
    import_pets(store.redis, 50);
    RawClient raw(store.nginx.port());
    std::string requests;
    const std::string body = kPet;
    for (int id = 1; id <= 50; ++id) {
        requests +=
            store.head("GET /v1/pets/" + std::to_string(id) + " HTTP/1.1");
        if (id % 10 == 0) {
            requests += store.head("POST /v1/pets HTTP/1.1",
                                   "Content-Length: "
                                       + std::to_string(body.size()) + "\r\n")
                        + body;
            requests += store.head("DELETE /v1/pets HTTP/1.1");
        }
    }
    raw.send(requests);
    for (int id = 1; id <= 50; ++id) {
        const auto response = raw.read();
        REQUIRE(response.status == 200);
        CHECK(response.json().at("id") == id);
        if (id % 10 == 0) {
            const auto created = raw.read();
            CHECK(created.status == 201);
            CHECK(created.json().at("id") == 50 + id / 10);
            CHECK(raw.read().status == 405);
        }
    }
}

TEST_CASE("http: any number of requests in one write, each counted once")
{
    Store store;
    import_pets(store.redis, 5);
    const auto key = limited_key(store.redis, 1000);
    const auto head = [&](const std::string& line, const std::string& secret,
                          const std::string& more = "") {
        return line + " HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + secret
               + "\r\n" + more + "\r\n";
    };
    const std::string body = kPet;
    const auto length =
        "Content-Length: " + std::to_string(body.size()) + "\r\n";
    struct Kind {
        std::string bytes;
        int status;
        bool counted;
    };
    const std::vector<Kind> kinds = {
        {head("GET /v1/pets/3", key.secret), 200, true},
        {head("POST /v1/pets", key.secret, length) + body, 201, true},
        {head("POST /v1/pets", "not-a-key-of-ours", length) + body, 401, false},
        {head("GET /v1/pets?limit=2", key.secret), 200, true},
        {head("PUT /v1/pets", key.secret, length) + body, 405, true},
        {head("POST /v1/pets", key.secret,
              "Content-Type: text/plain\r\n" + length)
             + body,
         415, true},
        {head("GET /v1/nowhere", key.secret), 404, true},
        {head("OPTIONS /v1/pets", key.secret), 204, false},
    };
    RawClient raw(store.nginx.port());
    long long counted = 0;
    std::size_t next = 0;
    for (const int size : {1, 2, 3, 10, 31, 100}) {
        std::string requests;
        for (int i = 0; i < size; ++i) {
            requests +=
                kinds[(next + static_cast<std::size_t>(i)) % kinds.size()]
                    .bytes;
        }
        raw.send(requests);
        for (int i = 0; i < size; ++i, ++next) {
            const Kind& kind = kinds[next % kinds.size()];
            const auto response = raw.read();
            CHECK(response.status == kind.status);
            counted += kind.counted;
            if (kind.counted) {
                CHECK(rate_headers_of(response).remaining == 1000 - counted);
            }
        }
    }
    CHECK(used(store.redis, key, "minute") == counted);
}

TEST_CASE("http: a request with two lengths ends the connection")
{
    Store store;
    RawClient raw(store.nginx.port());
    raw.send(store.head("POST /v1/pets HTTP/1.1",
                        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n")
             + "0\r\n\r\n" + store.head("POST /v1/pets HTTP/1.1"));
    CHECK(raw.read().status == 400);
    CHECK(raw.closes());
    CHECK(walk(store.http, "/v1/pets").empty());
}

TEST_CASE("http: no 100 Continue for a request that is denied")
{
    Store store;
    const auto key = limited_key(store.redis, 1);
    CHECK(Http(store.nginx.url(), key.secret).get("/v1/pets").status == 200);
    RawClient raw(store.nginx.port());
    raw.send("POST /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "
             + key.secret
             + "\r\nExpect: 100-continue\r\nContent-Length: 29\r\n\r\n");
    CHECK(raw.read().status == 429);
}

TEST_CASE("http: a create whose client left is completed and charged")
{
    RedisServer redis;
    const auto key = limited_key(redis, 100);
    std::atomic<bool> creating{false};
    std::atomic<bool> left{false};
    auto forward = forward_to(redis);
    FakeRedis fake([&](const Words& command) {
        // The first key of the create script is in the catalogue.
        if (command.size() > 3 && contains(command[3], ":pets}:")) {
            creating = true;
            wait_until([&] { return left.load(); });
        }
        return forward(command);
    });
    NginxOptions options;
    options.redis = fake.url();
    NginxServer nginx(options);
    {
        RawClient raw(nginx.port());
        const std::string body = kPet;
        raw.send("POST /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "
                 + key.secret + "\r\nIdempotency-Key: mine\r\n"
                 + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n"
                 + body);
        CHECK(wait_until([&] { return creating.load(); }));
        raw.reset();
    }
    nginx.sockets_at_rest();
    left = true;
    // The pet is found by the Idempotency-Key.
    Http http(nginx.url(), key.secret);
    const auto again =
        http.post("/v1/pets", kPet, {{"Idempotency-Key", "mine"}});
    CHECK(again.status == 201);
    CHECK(again.header("idempotent-replayed") == "true");
    CHECK(http.get("/v1/pets").json().size() == 1);
    CHECK(used(redis, key, "minute") == 3);
}

TEST_CASE("http: a body that nobody read does not become a request")
{
    Store store;
    import_pets(store.redis, 2);
    // Each of these is answered without reading its body. The body is a request
    // that would create a pet.
    const std::string hidden =
        store.head("POST /v1/pets HTTP/1.1", "Content-Length: 27\r\n")
        + "{\"name\":\"x\",\"categoryId\":1}";
    const auto length =
        "Content-Length: " + std::to_string(hidden.size()) + "\r\n";
    char size[17];
    std::snprintf(size, sizeof(size), "%zx", hidden.size());
    const auto chunked = std::string(size) + "\r\n" + hidden + "\r\n0\r\n\r\n";
    const std::string nobody = "Host: a\r\nAuthorization: Bearer wrong\r\n";

    struct Case {
        std::string head;
        int status;
    };
    const std::vector<Case> cases = {
        {"POST /v1/pets HTTP/1.1\r\n" + nobody, 401},
        {"GET /v1/pets HTTP/1.1\r\nHost: a\r\n", 401},
        {"OPTIONS /v1/pets HTTP/1.1\r\nHost: a\r\n", 204},
        {"PUT /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "
             + store.key.secret + "\r\n",
         405},
        {"POST /v1/nowhere HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "
             + store.key.secret + "\r\n",
         404},
        {"POST /v1/pets HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\n"
         "Authorization: Bearer "
             + store.key.secret + "\r\n",
         415},
        {"GET /v1/pets/1 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "
             + store.key.secret + "\r\n",
         200},
    };
    for (const auto& [head, status] : cases) {
        for (const bool in_chunks : {false, true}) {
            INFO(head);
            RawClient raw(store.nginx.port());
            raw.send(head
                     + (in_chunks ? "Transfer-Encoding: chunked\r\n" : length)
                     + "\r\n" + (in_chunks ? chunked : hidden)
                     + store.head("GET /v1/pets/2 HTTP/1.1",
                                  "Connection: close\r\n"));
            CHECK(raw.read().status == status);
            expect_json(raw.read(), 200, pet_json(2, "pet 2", "20", "pending"));
            CHECK(raw.closes());
        }
    }
    CHECK(walk(store.http, "/v1/pets").size() == 2);
}

TEST_CASE("http: requests that arrive byte by byte")
{
    Store store;
    import_pets(store.redis, 1);
    RawClient raw(store.nginx.port());
    raw.send_bytewise(store.head("GET /v1/pets?limit=1 HTTP/1.1"));
    expect_json(raw.read(), 200,
                "[" + pet_json(1, "pet 1", "10", "available") + "]");
}

TEST_CASE("http: HTTP 0.9 does no harm")
{
    Store store;
    RawClient raw(store.nginx.port());
    raw.send("GET /v1/pets\r\n");
    const auto answer = raw.read_all();
    CHECK(contains(answer, "missing_api_key"));
    CHECK(store.http.get("/v1/pets").status == 200);
}

TEST_CASE("http: a client that half-closes still gets its answer")
{
    Store store;
    import_pets(store.redis, 1);
    RawClient raw(store.nginx.port());
    raw.send(store.head("GET /v1/pets/1 HTTP/1.1", "Connection: close\r\n"));
    raw.finish_sending();
    // nginx may treat the end of the stream as a client that left. Either
    // outcome is acceptable, as long as the server survives.
    const auto answer = raw.read_all();
    CHECK((answer.empty() || contains(answer, "\"id\":1")));
    CHECK(store.http.get("/v1/pets/1").status == 200);
}

TEST_CASE("http: responses are neither cached nor compressed by nginx")
{
    NginxOptions options;
    options.http = "gzip on; gzip_types application/json; gzip_min_length 1;";
    Store store(options);
    import_pets(store.redis, 100);
    const auto plain = store.http.get("/v1/pets?limit=100");
    CHECK_FALSE(plain.has("content-encoding"));
    CHECK_FALSE(plain.has("etag"));
    CHECK_FALSE(plain.has("last-modified"));
    CHECK(plain.header("cache-control") == "no-store");
    // Compression by nginx is the operator's choice and must work.
    const auto packed =
        store.http.get("/v1/pets?limit=100", {{"Accept-Encoding", "gzip"}});
    CHECK(packed.status == 200);
    CHECK(packed.header("content-encoding") == "gzip");
    CHECK(packed.body.size() < plain.body.size());
}

TEST_CASE("http: subrequests and other locations are left alone")
{
    NginxOptions options;
    options.server = R"(
        location /plain { return 200 "plain\n"; }
        location /missing { return 404; }
        location = /internal { rewrite ^ /v1/pets last; })";
    Store store(options);
    Http anyone(store.nginx.url());
    const auto plain = anyone.get("/plain");
    CHECK(plain.status == 200);
    CHECK(plain.body == "plain\n");
    CHECK_FALSE(plain.has("x-ratelimit-limit"));
    const auto missing = anyone.get("/missing");
    CHECK(missing.status == 404);
    CHECK(missing.header("content-type") == "text/html");
    // An internal redirect to the service is handled like any other request.
    expect_json(store.http.get("/internal"), 200, "[]");
    expect_error(anyone.get("/internal"), 401, "missing_api_key");
}

TEST_CASE("http: a mirrored request and its mirror both have the body")
{
    RedisServer other;
    NginxOptions options;
    options.server = R"(
        location /other/v1/ {
            mirror /v1/pets;
            petstore /other/v1;
            petstore_redis )"
                     + other.url() + R"(;
        })";
    Store store(options);
    const auto key = import_key(other, "some-key-of-both-servers");
    import_key(store.redis, key.secret);

    // nginx's mirror reads the body, before the content handler does.
    RawClient client(store.nginx.port());
    client.send("POST /other/v1/pets HTTP/1.1\r\nHost: localhost\r\n"
                "Authorization: Bearer "
                + key.secret + "\r\nContent-Length: "
                + std::to_string(std::strlen(kPet)) + "\r\n\r\n" + kPet);
    expect_json(client.read(), 201, pet_json(1, "Rex", "7", "available"));
    CHECK(wait_until([&] { return !walk(store.http, "/v1/pets").empty(); }));
    CHECK(walk(store.http, "/v1/pets").size() == 1);
}
