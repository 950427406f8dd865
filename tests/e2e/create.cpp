// docs/http.md, "createPet".
#include <algorithm>
#include <set>
#include <thread>

#include "support/store.h"

using namespace petstore::e2e;

namespace {

std::string nested(int depth)
{
    // The object itself is the first level.
    return "{\"name\":\"n\",\"categoryId\":1,\"x\":"
           + repeat("[", static_cast<std::size_t>(depth - 1))
           + repeat("]", static_cast<std::size_t>(depth - 1)) + "}";
}

// A valid body of exactly `size` bytes.
std::string body_of_size(std::size_t size)
{
    const std::string head = "{\"name\":\"n\",\"categoryId\":1,\"x\":\"";
    return head + std::string(size - head.size() - 2, 'x') + "\"}";
}

const char* const kPet = "{\"name\":\"Rex\",\"categoryId\":7}";

}  // namespace

TEST_CASE("create: the response is the pet with its Location")
{
    Store store;
    const auto response = store.http.post(
        "/v1/pets",
        R"( { "name" : "Rex", "categoryId" : 7, "status" : "sold" } )");
    expect_json(response, 201, pet_json(1, "Rex", "7", "sold"));
    CHECK(response.header("location") == "/v1/pets/1");
    CHECK_FALSE(response.has("idempotent-replayed"));
    expect_json(store.http.get("/v1/pets/1"), 200, response.body);
    expect_json(store.http.get("/v1/pets"), 200, "[" + response.body + "]");

    for (const char* status : {"available", "pending", "sold"}) {
        const auto created = store.http.post(
            "/v1/pets", "{\"name\":\"a\",\"categoryId\":1,\"status\":\""
                            + std::string(status) + "\"}");
        CHECK(created.status == 201);
        CHECK(created.json().at("status") == status);
    }
    // Omitted, it is available.
    CHECK(store.http.post("/v1/pets", kPet).body
          == pet_json(5, "Rex", "7", "available"));
}

TEST_CASE("create: Location is absolute where links are")
{
    NginxOptions options;
    options.location = "petstore_base_url https://api.example.com;";
    Store store(options);
    const auto location =
        store.http.post("/v1/pets", kPet, {{"Host", "evil.example"}})
            .header("location");
    CHECK_FALSE(contains(location, "evil"));
    CHECK(contains(location, "/v1/pets/1"));
}

TEST_CASE("create: a name comes back as it was sent")
{
    Store store;
    const std::vector<std::pair<std::string, std::string>> names = {
        // JSON text sent, characters stored
        {R"(a)", "a"},
        {R"( leading and trailing )", " leading and trailing "},
        {R"(\u00e9\ud83d\ude00)", "\xC3\xA9\xF0\x9F\x98\x80"},
        {"\xC3\xA9\xF0\x9F\x98\x80", "\xC3\xA9\xF0\x9F\x98\x80"},
        {R"(e\u0301)", "e\xCC\x81"},  // not normalised
        {R"(\"\\\/)", "\"\\/"},
        {R"(<script>'&)", "<script>'&"},
        {R"(a:b>c)", "a:b>c"},
        {R"(\u2028\ufeff)", "\xE2\x80\xA8\xEF\xBB\xBF"},
        {repeat("x", 255), repeat("x", 255)},
        {repeat("\xC3\xA9", 255), repeat("\xC3\xA9", 255)},
        {repeat("x", 54), repeat("x", 54)},  // around sizes that Redis packs
        {repeat("x", 55), repeat("x", 55)},
        {repeat("x", 60), repeat("x", 60)},
        {repeat("x", 61), repeat("x", 61)},
        {repeat("x", 62), repeat("x", 62)},
        {repeat("x", 63), repeat("x", 63)},
        {repeat("x", 64), repeat("x", 64)},
    };
    std::size_t created = 0;
    for (const auto& [sent, stored] : names) {
        INFO(sent);
        const auto response = store.http.post(
            "/v1/pets", "{\"name\":\"" + sent + "\",\"categoryId\":1}");
        REQUIRE(response.status == 201);
        CHECK(response.json().at("name") == stored);
        CHECK(store.http.get(response.header("location")).body
              == response.body);
        ++created;
    }
    const auto rows = walk(store.http, "/v1/pets?limit=7");
    REQUIRE(rows.size() == created);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        CHECK(rows[i].at("name") == names[i].second);
    }
}

TEST_CASE("create: categoryId is echoed digit for digit")
{
    Store store;
    for (const char* number :
         {"0", "1", "-1", "9223372036854775807", "-9223372036854775808",
          "9007199254740993", "4294967296"}) {
        const auto response =
            store.http.post("/v1/pets", "{\"name\":\"n\",\"categoryId\":"
                                            + std::string(number) + "}");
        REQUIRE(response.status == 201);
        CHECK(contains(response.body,
                       "\"categoryId\":" + std::string(number) + ","));
        CHECK(store.http.get(response.header("location")).body
              == response.body);
    }
}

TEST_CASE("create: unknown members are ignored and limits are inclusive")
{
    Store store;
    for (const std::string& body : {
             std::string(
                 R"({"name":"n","categoryId":1,"tags":[{"a":null}],"Id":3})"),
             std::string(
                 R"({"x":1e999,"y":-0.5e-3,"z":123456789012345678901234567890,)"
                 R"("name":"n","categoryId":1})"),
             std::string(
                 R"({"NAME":1,"name":"n","categoryid":"x","categoryId":1})"),
             std::string(
                 R"({"nested":{"id":1,"name":2},"name":"n","categoryId":1})"),
             nested(16),
             std::string("\t\r\n {\"name\":\"n\",\n\"categoryId\":1}\r\n"),
         }) {
        INFO(body);
        const auto response = store.http.post("/v1/pets", body);
        CHECK(response.status == 201);
        CHECK(response.json().size() == 4);
    }
}

TEST_CASE("create: an invalid body is refused and creates nothing")
{
    Store store;
    const std::vector<std::pair<std::string, std::string>> bad = {
        {"", "missing_body"},
        {"{\"name\":\"n\",\"categoryId\":1,}", "invalid_json"},
        {"{\"name\":\"\xFF\",\"categoryId\":1}", "invalid_json"},
        {std::string("{\"name\":\"n\",\"categoryId\":1}\0x", 29),
         "invalid_json"},
        {"[]", "invalid_json"},
        {repeat("[", 5000), "invalid_json"},
        {"{}", "missing_field"},
        {"{\"name\":1,\"categoryId\":1}", "invalid_field"},
        {"{\"id\":1,\"name\":\"n\",\"categoryId\":1}", "read_only_field"},
    };
    for (const auto& [body, code] : bad) {
        INFO(body.substr(0, 200));
        expect_error(store.http.post("/v1/pets", body), 400, code);
    }
    CHECK(store.http.get("/v1/pets").body == "[]");
    CHECK(store.http.post("/v1/pets", kPet).header("location") == "/v1/pets/1");
}

TEST_CASE("create: the error names the invalid field")
{
    Store store;
    const std::vector<std::pair<std::string, std::string>> bad = {
        {"{\"categoryId\":1}", "name"},
        {"{\"name\":\"n\"}", "categoryId"},
        {"{\"name\":1,\"categoryId\":1}", "name"},
        {"{\"name\":\"n\",\"categoryId\":1.5}", "categoryId"},
        {"{\"name\":\"n\",\"categoryId\":1,\"status\":\"x\"}", "status"},
        {"{\"id\":5,\"name\":\"n\",\"categoryId\":1}", "id"},
    };
    for (const auto& [body, name] : bad) {
        INFO(body);
        CHECK(contains(
            store.http.post("/v1/pets", body).json().value("message", ""),
            name));
    }
}

TEST_CASE("create: only JSON is accepted")
{
    Store store;
    const Headers utf8 = {
        {"Content-Type", "Application/JSON ; charset=\"utf-8\""}};
    CHECK(store.http.post("/v1/pets", kPet, utf8).status == 201);
    // A missing Content-Type means JSON.
    CHECK(store.http.send({"POST", "/v1/pets", {{"Content-Type", ""}}, kPet})
              .status
          == 201);
    CHECK(store.http.post("/v1/pets", kPet, {{"Content-Encoding", "identity"}})
              .status
          == 201);

    const Headers form = {
        {"Content-Type", "application/x-www-form-urlencoded"}};
    expect_error(store.http.post("/v1/pets", kPet, form), 415,
                 "unsupported_media_type");
    const Headers twice = {{"Content-Type", "application/json"},
                           {"Content-Type", "text/plain"}};
    expect_error(store.http.post("/v1/pets", kPet, twice), 415,
                 "unsupported_media_type");
    expect_error(
        store.http.post("/v1/pets", kPet, {{"Content-Encoding", "gzip"}}), 415,
        "unsupported_media_type");
    CHECK(walk(store.http, "/v1/pets").size() == 3);
}

TEST_CASE("create: a body may have 16 KiB and not one byte more")
{
    Store store;
    const auto fits = body_of_size(16384);
    const auto exceeds = body_of_size(16385);
    CHECK(store.http.post("/v1/pets", fits).status == 201);
    expect_error(store.http.post("/v1/pets", exceeds), 413,
                 "payload_too_large");

    const Headers json = {{"Content-Type", "application/json"}};
    CHECK(store.http.send({"POST", "/v1/pets", json, fits, true}).status
          == 201);
    expect_error(store.http.send({"POST", "/v1/pets", json, exceeds, true}),
                 413, "payload_too_large");
    CHECK(walk(store.http, "/v1/pets").size() == 2);
}

TEST_CASE("create: the size limit is configurable")
{
    NginxOptions options;
    options.location = "petstore_max_body_size 100;";
    Store store(options);
    CHECK(store.http.post("/v1/pets", body_of_size(100)).status == 201);
    expect_error(store.http.post("/v1/pets", body_of_size(101)), 413,
                 "payload_too_large");
}

TEST_CASE("create: a chunked body without end is cut off at the limit")
{
    Store store;
    RawClient raw(store.nginx.port());
    raw.send(store.head("POST /v1/pets HTTP/1.1",
                        "Content-Type: application/json\r\n"
                        "Transfer-Encoding: chunked\r\n"));
    const std::string chunk = "1000\r\n" + std::string(4096, ' ') + "\r\n";
    for (int i = 0; i < 5; ++i) {
        raw.send(chunk);  // without the last chunk
    }
    expect_error(raw.read(), 413, "payload_too_large");
    CHECK(store.http.get("/v1/pets").body == "[]");
}

TEST_CASE("create: a huge Content-Length is refused before the body comes")
{
    Store store;
    RawClient raw(store.nginx.port());
    raw.send(store.head("POST /v1/pets HTTP/1.1",
                        "Content-Type: application/json\r\n"
                        "Content-Length: 1000000\r\n"));
    expect_error(raw.read(), 413, "payload_too_large");
}

TEST_CASE("create: bodies that nginx keeps in files or in pieces are the same")
{
    std::string location;
    SECTION("in a file")
    {
        location = "client_body_in_file_only clean;";
    }
    SECTION("in small buffers")
    {
        location = "client_body_buffer_size 1k;";
    }
    SECTION("in one buffer")
    {
        location =
            "client_body_in_single_buffer on; client_body_buffer_size 1k;";
    }
    NginxOptions options;
    options.location = location;
    Store store(options);
    const Headers json = {{"Content-Type", "application/json"}};
    int expected = 0;
    for (const std::size_t size : {40, 1000, 1024, 1025, 5000, 16384}) {
        for (const bool chunked : {false, true}) {
            INFO(size);
            const auto response = store.http.send(
                {"POST", "/v1/pets", json, body_of_size(size), chunked});
            expect_json(response, 201,
                        pet_json(++expected, "n", "1", "available"));
        }
    }
}

TEST_CASE("create: a body that arrives byte by byte")
{
    Store store;
    const std::string body = kPet;

    RawClient plain(store.nginx.port());
    plain.send_bytewise(
        store.head("POST /v1/pets HTTP/1.1",
                   "Content-Length: " + std::to_string(body.size()) + "\r\n")
        + body);
    expect_json(plain.read(), 201, pet_json(1, "Rex", "7", "available"));

    RawClient chunked(store.nginx.port());
    std::string chunks;
    for (const char c : body) {
        chunks += std::string("1;ext=1\r\n") + c + "\r\n";
    }
    chunked.send_bytewise(
        store.head("POST /v1/pets HTTP/1.1", "Transfer-Encoding: chunked\r\n")
        + chunks + "0\r\nTrailer: x\r\n\r\n");
    expect_json(chunked.read(), 201, pet_json(2, "Rex", "7", "available"));
}

TEST_CASE("create: broken chunks are a bad request")
{
    Store store;
    RawClient raw(store.nginx.port());
    raw.send(
        store.head("POST /v1/pets HTTP/1.1", "Transfer-Encoding: chunked\r\n")
        + "zz\r\n");
    expect_error(raw.read(), 400, "bad_request");
    CHECK(raw.closes());
}

TEST_CASE("create: Expect 100-continue is answered when the body is wanted")
{
    Store store;
    const std::string body = kPet;
    const auto more = "Expect: 100-continue\r\nContent-Length: "
                      + std::to_string(body.size()) + "\r\n";
    RawClient wanted(store.nginx.port());
    wanted.send(store.head("POST /v1/pets HTTP/1.1", more));
    CHECK(wanted.read().status == 100);
    wanted.send(body);
    expect_json(wanted.read(), 201, pet_json(1, "Rex", "7", "available"));

    RawClient anyone(store.nginx.port());
    anyone.send("POST /v1/pets HTTP/1.1\r\nHost: a\r\n" + more + "\r\n");
    CHECK(anyone.read().status == 401);

    RawClient large(store.nginx.port());
    large.send(store.head("POST /v1/pets HTTP/1.1",
                          "Expect: 100-continue\r\nContent-Length: 20000\r\n"));
    CHECK(large.read().status == 413);
}

TEST_CASE("create: a client that leaves while sending its body creates nothing")
{
    Store store;
    const auto before = store.nginx.sockets();
    for (const bool hard : {false, true}) {
        RawClient raw(store.nginx.port());
        raw.send(
            store.head("POST /v1/pets HTTP/1.1", "Content-Length: 1000\r\n")
            + "{\"name\":");
        if (hard) {
            raw.reset();
        } else {
            raw.close();
        }
    }
    CHECK(wait_until([&] { return store.nginx.sockets() <= before + 1; }));
    expect_json(store.http.get("/v1/pets"), 200, "[]");
}

TEST_CASE("create: ids are unique and ascending for any number of writers")
{
    NginxOptions options;
    options.workers = 2;
    Store store(options);
    constexpr int kThreads = 8;
    constexpr int kEach = 25;
    std::vector<std::vector<long long>> ids(kThreads);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back(
            [&store, &mine = ids[static_cast<std::size_t>(t)]] {
                auto http = store.client();
                for (int i = 0; i < kEach; ++i) {
                    const auto response = http.post("/v1/pets", kPet);
                    if (response.status == 201) {
                        mine.push_back(response.json().at("id"));
                    }
                }
            });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    std::set<long long> all;
    for (const auto& mine : ids) {
        CHECK(mine.size() == kEach);
        CHECK(std::is_sorted(mine.begin(), mine.end()));
        all.insert(mine.begin(), mine.end());
    }
    CHECK(all.size() == kThreads * kEach);
    CHECK(*all.begin() == 1);
    CHECK(*all.rbegin() == kThreads * kEach);
}

TEST_CASE("create: an acknowledged pet survives a crash of Redis")
{
    Store store;
    std::vector<std::string> bodies;
    for (int i = 0; i < 5; ++i) {
        const auto response = store.http.post("/v1/pets", kPet);
        REQUIRE(response.status == 201);
        bodies.push_back(response.body);
    }
    store.redis.kill_hard();
    store.redis.start();
    REQUIRE(
        wait_until([&] { return store.http.get("/v1/pets").status == 200; }));
    for (std::size_t i = 0; i < bodies.size(); ++i) {
        CHECK(store.http.get("/v1/pets/" + std::to_string(i + 1)).body
              == bodies[i]);
    }
    // Ids after a restart continue from Redis's clock.
    const auto location = store.http.post("/v1/pets", kPet).header("location");
    CHECK(location.size() == std::string("/v1/pets/").size() + 16);
}
