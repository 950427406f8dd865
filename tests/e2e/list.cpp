// docs/http.md, "listPets".
#include <atomic>
#include <thread>

#include "support/two_hosts.h"

using namespace petstore::e2e;

namespace {

std::vector<long long> ids_of(const std::vector<nlohmann::json>& rows)
{
    std::vector<long long> ids;
    for (const auto& row : rows) {
        ids.push_back(row.at("id"));
    }
    return ids;
}

std::vector<long long> ids_of(const Response& response)
{
    const auto page = response.json();
    REQUIRE(page.is_array());
    return ids_of(page.get<std::vector<nlohmann::json>>());
}

std::vector<long long> sequence(long long first, long long last,
                                long long step = 1)
{
    std::vector<long long> ids;
    for (long long id = first; id <= last; id += step) {
        ids.push_back(id);
    }
    return ids;
}

std::string cursor_of(const Response& response)
{
    const auto next = next_of(response);
    const auto at = next.find("cursor=");
    REQUIRE(at != std::string::npos);
    return next.substr(at + 7);
}

}  // namespace

TEST_CASE("list: an empty store is an empty array")
{
    Store store;
    for (const char* path :
         {"/v1/pets", "/v1/pets?status=sold", "/v1/pets?limit=1"}) {
        const auto response = store.http.get(path);
        expect_json(response, 200, "[]");
        CHECK_FALSE(response.has("link"));
    }
}

TEST_CASE("list: pets in the order of their ids with all their members")
{
    Store store;
    import_pets(store.redis, 3);
    const auto response = store.http.get("/v1/pets");
    expect_json(response, 200,
                "[" + pet_json(1, "pet 1", "10", "available") + ","
                    + pet_json(2, "pet 2", "20", "pending") + ","
                    + pet_json(3, "pet 3", "30", "sold") + "]");
    CHECK_FALSE(response.has("link"));
    CHECK(response.header("content-length")
          == std::to_string(response.body.size()));
}

TEST_CASE("list: limit and its default")
{
    Store store;
    import_pets(store.redis, 130);
    CHECK(ids_of(store.http.get("/v1/pets")) == sequence(1, 20));
    CHECK(ids_of(store.http.get("/v1/pets?limit=1")) == sequence(1, 1));
    CHECK(ids_of(store.http.get("/v1/pets?limit=100")) == sequence(1, 100));
    CHECK(ids_of(store.http.get("/v1/pets?limit=7&status=pending"))
          == sequence(2, 20, 3));
}

TEST_CASE("list: the error for an invalid parameter names it")
{
    Store store;
    import_pets(store.redis, 3);
    const std::pair<const char*, const char*> bad[] = {
        {"limit=101", "limit"},    {"limit=5&limit=5", "limit"},
        {"limit=%zz", "limit"},    {"limit=5%00", "limit"},
        {"status=Sold", "status"}, {"cursor=x", "cursor"},
    };
    for (const auto& [query, name] : bad) {
        INFO(query);
        const auto message =
            expect_error(store.http.get(std::string("/v1/pets?") + query), 400,
                         "invalid_parameter");
        CHECK(contains(message, name));
    }
}

TEST_CASE("list: unknown parameters are ignored")
{
    Store store;
    import_pets(store.redis, 3);
    for (const char* query :
         {"", "page=2", "limits=0", "LIMIT=0", "offset=1&x", "&&&", "x=%zz",
          "a=b=c&limit=20&=", "status%5B%5D=sold"}) {
        INFO(query);
        CHECK(ids_of(store.http.get("/v1/pets?" + std::string(query)))
              == sequence(1, 3));
    }
}

TEST_CASE("list: Link leads to the next page and only where there is one")
{
    Store store;
    import_pets(store.redis, 5);

    const auto first = store.http.get("/v1/pets?limit=2");
    CHECK(ids_of(first) == sequence(1, 2));
    CHECK(first.header("link")
          == "</v1/pets?limit=2&cursor=" + cursor_of(first)
                 + ">; rel=\"next\", </v1/pets?limit=2>; rel=\"first\"");
    const auto second = store.http.get(next_of(first));
    CHECK(ids_of(second) == sequence(3, 4));
    CHECK(second.header("link")
          == "</v1/pets?limit=2&cursor=" + cursor_of(second)
                 + ">; rel=\"next\", </v1/pets?limit=2>; rel=\"first\"");
    const auto third = store.http.get(next_of(second));
    CHECK(ids_of(third) == sequence(5, 5));
    CHECK_FALSE(third.has("link"));

    // The page is exactly full and has no next page.
    CHECK_FALSE(store.http.get("/v1/pets?limit=5").has("link"));
    CHECK(store.http.get("/v1/pets?limit=4").has("link"));

    const auto filtered = store.http.get("/v1/pets?limit=1&status=pending");
    CHECK(ids_of(filtered) == sequence(2, 2));
    CHECK(
        filtered.header("link")
        == "</v1/pets?limit=1&status=pending&cursor=" + cursor_of(filtered)
               + ">; rel=\"next\", </v1/pets?limit=1&status=pending>; rel=\"first\"");
    const auto rest = store.http.get(next_of(filtered));
    CHECK(ids_of(rest) == sequence(5, 5));
    CHECK_FALSE(rest.has("link"));
}

TEST_CASE("list: a cursor belongs to its filter and may not be broken")
{
    Store store;
    import_pets(store.redis, 9);
    const auto all = cursor_of(store.http.get("/v1/pets?limit=2"));
    const auto sold = cursor_of(store.http.get("/v1/pets?limit=1&status=sold"));

    const std::vector<std::string> broken = {
        "cursor=" + all + "&status=sold",
        "cursor=" + sold,
        "cursor=" + all.substr(1),
    };
    for (const auto& query : broken) {
        INFO(query);
        CHECK(contains(expect_error(store.http.get("/v1/pets?" + query), 400,
                                    "invalid_parameter"),
                       "cursor"));
    }
}

TEST_CASE("list: a new limit with an old cursor is honoured")
{
    Store store;
    import_pets(store.redis, 30);
    const auto cursor = cursor_of(store.http.get("/v1/pets?limit=2"));
    CHECK(ids_of(store.http.get("/v1/pets?limit=5&cursor=" + cursor))
          == sequence(3, 7));
    CHECK(ids_of(store.http.get("/v1/pets?cursor=" + cursor))
          == sequence(3, 22));
}

TEST_CASE("list: links never repeat the client's Host header")
{
    NginxOptions options;
    options.servers = R"(server {
        listen %ADDRESS%:%TLS_PORT%;
        location /v1/ { petstore; petstore_base_url https://api.example.com; }
    })";
    Store store(options);
    import_pets(store.redis, 3);

    const auto relative = store.http.get(
        "/v1/pets?limit=1",
        {{"Host", "evil.example"}, {"X-Forwarded-Host", "evil.example"}});
    CHECK(next_of(relative).rfind("/v1/pets?limit=1&cursor=", 0) == 0);
    CHECK_FALSE(contains(relative.header("link"), "evil"));

    Http absolute(http_url(store.nginx.tls_port()), store.key.secret);
    const auto response =
        absolute.get("/v1/pets?limit=1", {{"Host", "evil.example"}});
    CHECK(next_of(response).rfind(
              "https://api.example.com/v1/pets?limit=1&cursor=", 0)
          == 0);
    CHECK(
        contains(response.header("link"),
                 ", <https://api.example.com/v1/pets?limit=1>; rel=\"first\""));
}

TEST_CASE("list: walks of every kind show every pet once and in order")
{
    Store store;
    import_pets(store.redis, 400);  // several buckets
    for (const int limit : {3, 20, 64, 100}) {
        INFO(limit);
        const auto path = "/v1/pets?limit=" + std::to_string(limit);
        CHECK(ids_of(walk(store.http, path)) == sequence(1, 400));
        CHECK(ids_of(walk(store.http, path + "&status=available"))
              == sequence(1, 400, 3));
        CHECK(ids_of(walk(store.http, path + "&status=pending"))
              == sequence(2, 400, 3));
        CHECK(ids_of(walk(store.http, path + "&status=sold"))
              == sequence(3, 400, 3));
    }
}

TEST_CASE("list: a page is full unless it is the last even for a rare status")
{
    Store store;
    import_pets(store.redis, 300);
    // Pets 1, 4, 7 … are available; leaves five of them so.
    for (int id = 1; id <= 300; id += 3) {
        if (id % 75 != 1) {
            REQUIRE(ctl(store.redis.url(),
                        {"pet", "set-status", std::to_string(id), "sold"})
                        .code
                    == 0);
        }
    }
    const auto page = store.http.get("/v1/pets?status=available&limit=3");
    CHECK(ids_of(page) == std::vector<long long>{1, 76, 151});
    const auto last = store.http.get(next_of(page));
    CHECK(ids_of(last) == std::vector<long long>{226});
    CHECK_FALSE(last.has("link"));
    CHECK(ids_of(walk(store.http, "/v1/pets?status=sold&limit=100")).size()
          == 100 + 96);
}

TEST_CASE("list: long names are listed like short ones")
{
    Store store;
    const std::string longest = repeat("\xF0\x9F\x90\x88", 255);
    for (int i = 0; i < 3; ++i) {
        REQUIRE(store.http
                    .post("/v1/pets",
                          "{\"name\":\"" + (i == 1 ? longest : "short")
                              + "\",\"categoryId\":9223372036854775807}")
                    .status
                == 201);
    }
    const auto expected =
        "[" + pet_json(1, "short", "9223372036854775807", "available") + ","
        + pet_json(2, longest, "9223372036854775807", "available") + ","
        + pet_json(3, "short", "9223372036854775807", "available") + "]";
    expect_json(store.http.get("/v1/pets"), 200, expected);
    expect_json(store.http.get("/v1/pets?status=available"), 200, expected);
}

TEST_CASE("list: a page of 100 of the longest names is complete")
{
    Store store;
    const std::string longest = repeat("\xF0\x9F\x90\x88", 255);
    std::string lines;
    for (int i = 0; i < 101; ++i) {
        lines +=
            "{\"name\":\"" + longest
            + "\",\"categoryId\":-9223372036854775808,\"status\":\"pending\"}\n";
    }
    REQUIRE(ctl(store.redis.url(), {"pet", "import", "-"}, lines).code == 0);
    for (const char* path :
         {"/v1/pets?limit=100", "/v1/pets?limit=100&status=pending"}) {
        const auto response = store.http.get(path);
        CHECK(ids_of(response) == sequence(1, 100));
        CHECK(response.json().at(99).at("name") == longest);
        CHECK(ids_of(store.http.get(next_of(response))) == sequence(101, 101));
    }
}

TEST_CASE("list: a walk while a writer adds shows every pet of the start once")
{
    NginxOptions options;
    options.workers = 2;
    Store store(options);
    import_pets(store.redis, 300);

    std::atomic<bool> stop{false};
    std::atomic<int> added{0};
    std::thread writer([&] {
        auto http = store.client();
        while (!stop) {
            const auto response = http.post(
                "/v1/pets",
                "{\"name\":\"new\",\"categoryId\":1,\"status\":\"sold\"}");
            added += response.status == 201;
        }
    });
    std::vector<std::vector<long long>> walks;
    std::vector<std::vector<long long>> sold;
    for (int i = 0; i < 5; ++i) {
        auto http = store.client();
        // Bounded, because the writer stays ahead of the walk.
        std::vector<long long> seen;
        std::string path = "/v1/pets?limit=10";
        while (!path.empty() && seen.size() < 2000) {
            const auto response = http.get(path);
            for (const auto id : ids_of(response)) {
                seen.push_back(id);
            }
            path = next_of(response);
        }
        walks.push_back(seen);
    }
    stop = true;
    writer.join();

    CHECK(added > 0);
    for (const auto& seen : walks) {
        // Ascending without gaps, each exactly once.
        CHECK(seen.size() >= 300);
        CHECK(seen == sequence(1, static_cast<long long>(seen.size())));
    }
}

TEST_CASE(
    "list: after a 201 the next list from any worker of any host shows the pet")
{
    TwoHosts hosts;
    Http writer(hosts.one.url(), hosts.key.secret);
    for (int id = 1; id <= 40; ++id) {
        const auto created =
            writer.post("/v1/pets", "{\"name\":\"n\",\"categoryId\":1}");
        REQUIRE(created.status == 201);
        for (const auto* host : {&hosts.one, &hosts.two}) {
            Http reader(host->url(), hosts.key.secret);  // any worker
            const auto page = reader.get("/v1/pets?limit=100").json();
            REQUIRE(page.size() == static_cast<std::size_t>(id));
            CHECK(page.back().at("id") == id);
            CHECK(reader.get("/v1/pets/" + std::to_string(id)).status == 200);
        }
    }
}
