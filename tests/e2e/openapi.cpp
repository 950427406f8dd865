// docs/http.md, "openapi.json".
#include "support/limits.h"
#include "support/memory.h"

using namespace petstore::e2e;

namespace {

constexpr char kPath[] = "/v1/openapi.json";

std::vector<std::string> names_of(const nlohmann::json& object)
{
    std::vector<std::string> names;
    for (const auto& [name, value] : object.items()) {
        names.push_back(name);
    }
    return names;
}

}  // namespace

TEST_CASE("openapi: the document needs no key and is not charged")
{
    Store store;
    Http nobody(store.nginx.url());
    const auto response = nobody.get(kPath);
    CHECK(response.status == 200);
    CHECK(response.header("content-type") == "application/json");
    CHECK(response.header("cache-control") == "no-cache");
    rate_headers_of(response);
    const auto document = response.json();
    CHECK(document["openapi"] == "3.1.0");
    CHECK(document["servers"][0]["url"] == "/v1");
    CHECK(names_of(document["paths"])
          == std::vector<std::string>{"/pets", "/pets/{petId}"});

    Monitor monitor(store.redis);
    CHECK(store.http.get(kPath).body == response.body);
    CHECK(nobody.get(std::string(kPath) + "?x=y").body == response.body);
    store.http.use_key("wrong");
    CHECK(store.http.get(kPath).status == 200);
    CHECK(monitor.names().empty());
}

TEST_CASE("openapi: clients revalidate their copy")
{
    Store store;
    Http http(store.nginx.url());
    const auto first = http.get(kPath);
    const auto etag = first.header("etag");
    REQUIRE(etag.size() > 2);
    CHECK(etag.front() == '"');
    CHECK(etag.back() == '"');

    for (const auto& known : {etag, "\"other\", " + etag, std::string("*")}) {
        CAPTURE(known);
        const auto same = http.get(kPath, {{"If-None-Match", known}});
        CHECK(same.status == 304);
        CHECK(same.body.empty());
        CHECK(same.header("etag") == etag);
        CHECK(same.header("cache-control") == "no-cache");
        rate_headers_of(same);
    }
    // The date is ignored beside an ETag (RFC 9110, section 13.1.3).
    CHECK(http.get(kPath,
                   {{"If-None-Match", etag},
                    {"If-Modified-Since", "Sun, 22 Nov 2026 20:00:00 GMT"}})
              .status
          == 304);
    CHECK(http.get(kPath, {{"If-None-Match", "\"other\""}}).body == first.body);
    CHECK(http.get(kPath, {{"If-Match", etag}}).status == 200);
    expect_error(http.get(kPath, {{"If-Match", "\"other\""}}), 412,
                 "bad_request");
    // No resource has a date (section 13.1.4).
    for (const char* const path : {kPath, "/v1/pets"}) {
        CHECK(store.http
                  .get(path, {{"If-Unmodified-Since",
                               "Sun, 22 Nov 2026 20:00:00 GMT"}})
                  .status
              == 200);
    }

    const auto head = http.head(kPath);
    CHECK(head.status == 200);
    CHECK(head.header("etag") == etag);
    CHECK(head.header("content-length") == std::to_string(first.body.size()));
}

TEST_CASE("openapi: the document can only be read")
{
    const Store store;
    Http http(store.nginx.url());
    for (const char* method : {"POST", "PUT", "DELETE", "PATCH"}) {
        const auto refused = http.request(method, kPath);
        CAPTURE(method);
        expect_error(refused, 405, "method_not_allowed");
        CHECK(refused.header("allow") == "GET, HEAD, OPTIONS");
    }
    const auto options = http.request("OPTIONS", kPath);
    CHECK(options.status == 204);
    CHECK(options.header("allow") == "GET, HEAD, OPTIONS");
    expect_error(http.get("/v1/openapi.json/"), 401, "missing_api_key");
    expect_error(http.get("/v1/openapi.yaml"), 401, "missing_api_key");
}

TEST_CASE("openapi: the document describes its location")
{
    NginxOptions options;
    options.location =
        "petstore_base_url https://pets.example.com; petstore_get_sunset off; petstore_limit_headers windows;";
    options.server = R"(
        location /shop/v1/ {
            petstore /shop/v1;
            petstore_get_sunset 2031-01-02;
        })";
    const Store store(options);
    Http http(store.nginx.url());
    const auto one = http.get(kPath).json();
    const auto other = http.get("/shop/v1/openapi.json").json();
    CHECK(one["servers"][0]["url"] == "https://pets.example.com/v1");
    CHECK(other["servers"][0]["url"] == "/shop/v1");
    CHECK_FALSE(
        one["paths"]["/pets/{petId}"]["get"].contains("x-deprecated-sunset"));
    CHECK(other["paths"]["/pets/{petId}"]["get"]["x-deprecated-sunset"]
          == "2031-01-02");
    CHECK(one["components"]["headers"].contains("X-RateLimit-Limit-Day"));
    CHECK(one["components"]["headers"].contains("X-RateLimit-Limit-Month"));
    CHECK_FALSE(
        other["components"]["headers"].contains("X-RateLimit-Limit-Day"));
    CHECK(http.get(kPath).header("etag")
          != http.get("/shop/v1/openapi.json").header("etag"));
}

TEST_CASE("openapi: locations with equal settings share one document")
{
    constexpr int kServers = 300;
    // The memory of a worker with this many servers.
    const auto memory = [](bool equal, std::size_t& size) {
        NginxOptions options;
        options.redis = "redis://127.0.0.1:1";
        for (int i = 0; i < kServers; ++i) {
            options.servers +=
                "server { listen %ADDRESS%:%PORT%; server_name h"
                + std::to_string(i)
                + "; location /v1/ { petstore; petstore_base_url http://h"
                + (equal ? "" : std::to_string(i)) + "; } }\n";
        }
        const NginxServer nginx(options);
        size = Http(nginx.url()).get(kPath).body.size();
        return resident_memory(nginx.workers().front());
    };
    std::size_t size = 0;
    const auto same = memory(true, size);
    const auto different = memory(false, size);
    CAPTURE(same, different, size);
    CHECK(different - same > static_cast<std::int64_t>(kServers * size / 2));
}

TEST_CASE("openapi: the document is served without Redis and to anybody")
{
    NginxOptions options;
    options.location = "petstore_anonymous_limit 1 enforce;";
    Store store(options);
    Http http(store.nginx.url());
    expect_error(http.get("/v1/pets"), 401, "missing_api_key");
    expect_error(http.get("/v1/pets"), 429, "rate_limit_exceeded");
    CHECK(http.get(kPath).status == 200);
    store.redis.stop();
    CHECK(http.get(kPath).status == 200);
}

TEST_CASE("openapi: clients that stop reading, pipelines and HTTP/1.0")
{
    const Store store;
    const auto length = Http(store.nginx.url()).get(kPath).body.size();
    RawClient client(store.nginx.port());
    std::string requests;
    for (int i = 0; i < 50; ++i) {
        requests += "GET /v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n";
    }
    client.send(requests);
    for (int i = 0; i < 50; ++i) {
        const auto response = client.read();
        REQUIRE(response.status == 200);
        REQUIRE(response.body.size() == length);
    }
    RawClient old(store.nginx.port());
    old.send("GET /v1/openapi.json HTTP/1.0\r\n\r\n");
    CHECK(old.read().body.size() == length);
    RawClient gone(store.nginx.port());
    gone.send(requests);  // and never reads
}

TEST_CASE("openapi: requests for the document have their own label")
{
    NginxOptions options;
    options.server = "location = /status { petstore_status; }";
    const Store store(options);
    Http http(store.nginx.url());
    http.get(kPath);
    CHECK(wait_until([&] {
        return http.get("/status").body.find(
                   "petstore_requests_total{operation=\"openapi\",status=\"200\"} 1\n")
               != std::string::npos;
    }));
}
