// gRPC behind the guard, configured as docs/guard.md says.
#include "support/guarded_store.h"

using namespace petstore::e2e;

namespace {

// The lines of the page's example that belong into the http and server blocks.
std::pair<std::string, std::string> example()
{
    const auto page =
        read_file(std::string(E2E_SUPPORT) + "/../../../docs/guard.md");
    const auto from = page.find("map_hash_bucket_size");
    REQUIRE(from != std::string::npos);
    const auto text = page.substr(from, page.find("```", from) - from);
    const auto server = text.find("location ");
    REQUIRE(server != std::string::npos);
    return {text.substr(0, server), text.substr(server)};
}

}  // namespace

TEST_CASE("guard: gRPC clients get a gRPC status")
{
    const auto [map, locations] = example();
    NginxOptions options;
    options.tls = true;
    options.http = map;
    options.server = locations;
    REQUIRE(contains(options.server, "127.0.0.1:50051"));
    replace_all(
        options.server, "petstore_guard on;",
        "petstore_guard on; petstore_cost 2; petstore_allow_plans free enterprise;");
    // Nothing listens there.
    replace_all(options.server, "127.0.0.1:50051",
                own_address() + ":" + std::to_string(free_port()));
    const Store store(options);
    Http http(store.nginx.tls_url());
    http.use_http2();
    const auto expect_status = [&](const std::string& status,
                                   const Words& message) {
        Response response;
        // libcurl fails if it is still sending when the response has ended.
        http.tolerate_failures();
        REQUIRE(wait_until([&] {
            response = http.post("/shop.Orders/List", "12345",
                                 {{"Content-Type", "application/grpc"}});
            return response.status != 0;
        }));
        CHECK(response.status == 200);
        CHECK(response.version == "2");
        CHECK(response.header("content-type") == "application/grpc");
        CHECK(response.header("grpc-status") == status);
        CHECK(response.all("grpc-message") == message);
        CHECK(response.body.empty());
        rate_headers_of(response);
    };
    expect_status("16", {"missing_api_key"});
    http.use_key("wrong");
    expect_status("16", {"invalid_api_key"});
    http.use_key(create_key(store.redis, {"--scopes", "read"}).secret);
    expect_status("7", {"insufficient_scope"});
    http.use_key(create_key(store.redis, {"--plan", "pro"}).secret);
    expect_status("7", {"plan_not_allowed"});
    http.use_key(limited_key(store.redis, 1).secret);
    expect_status("7", {"cost_exceeds_plan"});
    http.use_key(store.key.secret);
    expect_status("14", {});  // admitted, but there is no back end
    http.use_key(limited_key(store.redis, 2).secret);
    CHECK(http.get("/v1/pets").status == 200);
    expect_status("8", {"rate_limit_exceeded"});
}
