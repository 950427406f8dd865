// docs/http.md, "getPet".
#include <regex>

#include "support/store.h"

using namespace petstore::e2e;

namespace {

void expect_deprecated(
    const Response& response,
    const std::string& sunset = "Thu, 05 Dec 2030 00:00:00 GMT",
    const std::string& base = "")
{
    CHECK(std::regex_match(response.header("deprecation"),
                           std::regex("@[1-9][0-9]*")));
    if (sunset.empty()) {
        CHECK_FALSE(response.has("sunset"));
    } else {
        CHECK(response.header("sunset") == sunset);
    }
    CHECK(response.header("link")
          == "<" + base
                 + "/v1/pets?status=available>; rel=\"successor-version\"");
}

}  // namespace

TEST_CASE("get: a pet by its id")
{
    Store store;
    import_pets(store.redis, 130);
    for (const int id : {1, 2, 3, 127, 128, 129, 130}) {
        static const char* const statuses[] = {"available", "pending", "sold"};
        const auto number = std::to_string(id);
        const auto response = store.http.get("/v1/pets/" + number);
        expect_json(response, 200,
                    pet_json(id, "pet " + number, number + "0",
                             statuses[(id - 1) % 3]));
        expect_deprecated(response);
    }
    // nginx decodes these to the same path.
    CHECK(store.http.get("/v1/pets/%31").status == 200);
    CHECK(store.http.get("/v1//pets/./1").status == 200);
    CHECK(store.http.get("/v1/pets/1?limit=0&x=y").status == 200);
}

TEST_CASE("get: what is not the canonical decimal of a pet is not found")
{
    Store store;
    import_pets(store.redis, 3);
    for (const char* id : {"4",
                           "0",
                           "01",
                           "+1",
                           "-1",
                           "1.0",
                           "1e0",
                           "abc",
                           "1a",
                           "a1",
                           "0x1",
                           "%201",
                           "1%20",
                           "9223372036854775807",
                           "9223372036854775808",
                           "18446744073709551617",
                           "-9223372036854775808",
                           "%D9%A1",
                           "999999999999999999999999999999999999999999",
                           "1;a=b",
                           "*",
                           "~"}) {
        INFO(id);
        const auto response = store.http.get("/v1/pets/" + std::string(id));
        expect_error(response, 404, "pet_not_found");
        expect_deprecated(response);
    }
}

TEST_CASE("get: a pet with the longest name and the largest numbers")
{
    Store store;
    const std::string longest = repeat("\xF0\x9F\x90\x88", 255);
    for (const char* category :
         {"9223372036854775807", "-9223372036854775808", "0"}) {
        const auto created = store.http.post(
            "/v1/pets", "{\"name\":\"" + longest + "\",\"categoryId\":"
                            + category + ",\"status\":\"sold\"}");
        REQUIRE(created.status == 201);
        expect_json(store.http.get(created.header("location")), 200,
                    created.body);
        CHECK(created.body
              == pet_json(created.json().at("id"), longest, category, "sold"));
    }
}

TEST_CASE("get: its sunset can be changed and switched off")
{
    NginxOptions options;
    options.servers = R"(
    server { listen %ADDRESS%:%TLS_PORT%;
        location /v1/ { petstore; petstore_get_sunset 2020-02-29; }
        location /later/v1/ { petstore /later/v1; petstore_get_sunset 2100-01-01; }
        location /never/v1/ { petstore /never/v1; petstore_get_sunset off; }
        location /named/v1/ { petstore /named/v1;
                              petstore_base_url https://api.example.com; }
    })";
    Store store(options);
    import_pets(store.redis, 1);
    Http http(http_url(store.nginx.tls_port()), store.key.secret);

    const auto gone = http.get("/v1/pets/1");
    expect_error(gone, 410, "gone");
    expect_deprecated(gone, "Sat, 29 Feb 2020 00:00:00 GMT");
    expect_error(http.get("/v1/pets/2"), 410, "gone");
    CHECK(http.head("/v1/pets/1").status == 410);
    // Other operations still work.
    CHECK(http.get("/v1/pets").status == 200);
    CHECK(http.post("/v1/pets", "{\"name\":\"n\",\"categoryId\":1}").status
          == 201);

    const auto later = http.get("/later/v1/pets/1");
    CHECK(later.status == 200);
    CHECK(later.header("sunset") == "Fri, 01 Jan 2100 00:00:00 GMT");
    CHECK(later.header("link")
          == "</later/v1/pets?status=available>; rel=\"successor-version\"");

    const auto never = http.get("/never/v1/pets/1");
    CHECK(never.status == 200);
    CHECK_FALSE(never.has("sunset"));

    const auto named = http.get("/named/v1/pets/1");
    CHECK(
        named.header("link")
        == "<https://api.example.com/named/v1/pets?status=available>; rel=\"successor-version\"");
}

TEST_CASE("get: the other operations are not deprecated")
{
    Store store;
    import_pets(store.redis, 1);
    for (const auto& response :
         {store.http.get("/v1/pets"),
          store.http.post("/v1/pets", "{\"name\":\"n\",\"categoryId\":1}"),
          store.http.get("/v1/other")}) {
        CHECK_FALSE(response.has("deprecation"));
        CHECK_FALSE(response.has("sunset"));
        CHECK_FALSE(response.has("link"));
    }
}

TEST_CASE("get: its errors generated by nginx announce the sunset")
{
    NginxOptions options;
    options.server = R"(
        location /denied/v1/ { petstore /denied/v1; deny all; })";
    Store store(options);
    const auto pet = store.http.get("/denied/v1/pets/1");
    expect_error(pet, 403, "forbidden");
    expect_deprecated(pet, "Thu, 05 Dec 2030 00:00:00 GMT", "/denied");
    CHECK_FALSE(store.http.get("/denied/v1/pets").has("deprecation"));
    CHECK_FALSE(
        store.http.request("DELETE", "/denied/v1/pets/1").has("deprecation"));
}
