// docs/http.md, "Idempotency".
#include <thread>

#include "support/store.h"

using namespace petstore::e2e;

namespace {

const char* const kRex = "{\"name\":\"Rex\",\"categoryId\":7}";
const char* const kTom = "{\"name\":\"Tom\",\"categoryId\":7}";

Response post(Http& http, const std::string& body, const std::string& key)
{
    return http.post("/v1/pets", body, {{"Idempotency-Key", key}});
}

}  // namespace

TEST_CASE("idempotency: a repeated request gets the first response again")
{
    Store store;
    const auto first = post(store.http, kRex, "order-1");
    expect_json(first, 201, pet_json(1, "Rex", "7", "available"));
    CHECK_FALSE(first.has("idempotent-replayed"));
    for (int i = 0; i < 3; ++i) {
        const auto again = post(store.http, kRex, "order-1");
        expect_json(again, 201, first.body);
        CHECK(again.header("location") == "/v1/pets/1");
        CHECK(again.header("idempotent-replayed") == "true");
    }
    // Requests with another key or without one are independent.
    CHECK(post(store.http, kRex, "order-2").header("location") == "/v1/pets/2");
    CHECK(store.http.post("/v1/pets", kRex).header("location") == "/v1/pets/3");
    CHECK(walk(store.http, "/v1/pets").size() == 3);
}

TEST_CASE("idempotency: the same key with another body is refused")
{
    Store store;
    REQUIRE(post(store.http, kRex, "k").status == 201);
    expect_error(post(store.http, kTom, "k"), 422, "idempotency_key_reused");
    CHECK(walk(store.http, "/v1/pets").size() == 1);
    CHECK(post(store.http, kRex, "k").header("idempotent-replayed") == "true");
}

TEST_CASE("idempotency: a refused request does not use the key up")
{
    Store store;
    expect_error(post(store.http, "{}", "k"), 400, "missing_field");
    const auto response = post(store.http, kRex, "k");
    CHECK(response.status == 201);
    CHECK_FALSE(response.has("idempotent-replayed"));
}

TEST_CASE("idempotency: a key belongs to its account")
{
    Store store;
    const auto other = create_key(store.redis);
    Http theirs(store.nginx.url(), other.secret);
    CHECK(post(store.http, kRex, "k").header("location") == "/v1/pets/1");
    const auto response = post(theirs, kTom, "k");
    CHECK(response.header("location") == "/v1/pets/2");
    CHECK_FALSE(response.has("idempotent-replayed"));
}

TEST_CASE("idempotency: a key is 1 to 255 visible characters")
{
    Store store;
    for (const std::string& key :
         {std::string("!"), std::string(255, '~'), std::string("\"quoted\"")}) {
        CHECK(post(store.http, kRex, key).status == 201);
    }
    const auto response = post(store.http, kRex, std::string(256, 'k'));
    CHECK(response.status == 400);
    CHECK(contains(response.json().value("message", ""), "Idempotency-Key"));
    RawClient raw(store.nginx.port());
    raw.send(store.head("POST /v1/pets HTTP/1.1",
                        "Idempotency-Key:\r\nContent-Length: 29\r\n")
             + kRex);
    CHECK(raw.read().status == 400);
    CHECK(walk(store.http, "/v1/pets").size() == 3);
}

TEST_CASE("idempotency: concurrent requests create one pet")
{
    NginxOptions options;
    options.workers = 2;
    Store store(options);
    constexpr int kThreads = 16;
    std::vector<Response> responses(kThreads);
    std::vector<std::thread> threads;
    for (auto& response : responses) {
        threads.emplace_back([&store, &response] {
            auto http = store.client();
            response = post(http, kRex, "once");
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    int originals = 0;
    for (const auto& response : responses) {
        expect_json(response, 201, pet_json(1, "Rex", "7", "available"));
        originals += !response.has("idempotent-replayed");
    }
    CHECK(originals == 1);
    CHECK(walk(store.http, "/v1/pets").size() == 1);
}

TEST_CASE("idempotency: is remembered for 24 hours by Redis alone")
{
    Store store;
    const auto first = post(store.http, kRex, "my-own-key-text");
    store.redis.restart();
    store.nginx.reload_and_settle();
    store.http.close();
    REQUIRE(
        wait_until([&] { return store.http.get("/v1/pets").status == 200; }));
    const auto again = post(store.http, kRex, "my-own-key-text");
    expect_json(again, 201, first.body);
    CHECK(again.header("idempotent-replayed") == "true");

    int remembered = 0;
    for (const auto& name : store.redis.command({"KEYS", "*"}).items) {
        CHECK_FALSE(contains(name.text, "my-own-key-text"));
        const auto ttl = store.redis.command({"TTL", name.text}).integer;
        if (contains(name.text, ":idempotency:")) {
            CHECK(ttl > 86000);
            CHECK(ttl <= 86400);
            ++remembered;
        }
    }
    CHECK(remembered == 1);
}
