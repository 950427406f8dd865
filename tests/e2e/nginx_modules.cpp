// docs/http.md, "Headers of every response": nginx's own and third-party
// modules see and replace the service's headers as they do any handler's.
#include <filesystem>
#include <sys/stat.h>

#include "support/limits.h"

using namespace petstore::e2e;

namespace {

using Values = std::vector<std::string>;

const char* const kPet = "{\"name\":\"Rex\",\"categoryId\":7}";
const char* const kNoKey = "Bearer realm=\"petstore\"";
const char* const kBadKey =
    "Bearer realm=\"petstore\", error=\"invalid_token\"";

const Headers kWithoutKey = {{"Authorization", ""}};
const Headers kWrongKey = {{"Authorization", "Bearer no-such-key"}};

// From Debian's packages. Loaded after the module, so that their filters run
// before those of modules loaded earlier.
const char* const kHeadersMore =
    "load_module /usr/lib/nginx/modules/ngx_http_headers_more_filter_module.so;";
const char* const kLua =
    "load_module /usr/lib/nginx/modules/ndk_http_module.so;load_module /usr/lib/nginx/modules/ngx_http_lua_module.so;";
const char* const kImageFilter =
    "load_module /usr/lib/nginx/modules/ngx_http_image_filter_module.so;";

// Makes nginx generate an error in the petstore location: ?fail=STATUS.
const char* const kFail = R"(
    if ($arg_fail = "500") { return 500; }
    if ($arg_fail = "403") { return 403; })";

NginxOptions with_lua()
{
    NginxOptions options;
    options.main = kLua;
    if (sanitized()) {
        // LeakSanitizer can mistake an address in a dynamic thread_local block
        // (see scripts/build). That of a library loaded at the start is static.
        options.env = {{"LD_PRELOAD", "libluajit-5.1.so.2"}};
    }
    return options;
}

Values cache_control(const Response& response)
{
    return response.all("cache-control");
}

}  // namespace

TEST_CASE("nginx modules: expires replaces the Cache-Control of an answer")
{
    NginxOptions options;
    options.location = std::string("expires 1h;") + kFail;
    Store store(options);
    auto& http = store.http;

    CHECK(cache_control(http.post("/v1/pets", kPet)) == Values{"max-age=3600"});
    CHECK(cache_control(http.head("/v1/pets")) == Values{"max-age=3600"});
    const auto response = http.get("/v1/pets/1");
    CHECK(response.status == 200);
    CHECK(cache_control(response) == Values{"max-age=3600"});
    CHECK(response.has("expires"));
    // `If-None-Match: *` matches any existing response.
    const auto unchanged = http.get("/v1/pets", {{"If-None-Match", "*"}});
    CHECK(unchanged.status == 304);
    CHECK(cache_control(unchanged) == Values{"max-age=3600"});
    rate_headers_of(unchanged);
    CHECK(unchanged.body.empty());

    // nginx leaves errors unchanged.
    expect_error(http.get("/v1/pets/9"), 404, "pet_not_found");
    expect_error(http.get("/v1/pets?fail=500"), 500, "internal_error");
    const auto refused = http.get("/v1/pets", kWithoutKey);
    expect_error(refused, 401, "missing_api_key");
    CHECK_FALSE(refused.has("expires"));
}

TEST_CASE("nginx modules: expires off and epoch")
{
    NginxOptions options;
    options.location = "expires $arg_expires;";
    Store store(options);
    CHECK(cache_control(store.http.get("/v1/pets?expires=epoch"))
          == Values{"no-cache"});
    CHECK(cache_control(store.http.get("/v1/pets?expires=off"))
          == Values{"no-store"});
    CHECK(cache_control(store.http.get("/v1/pets")) == Values{"no-store"});
}

TEST_CASE("nginx modules: add_header adds a line")
{
    NginxOptions options;
    options.location =
        std::string(
            "add_header Cache-Control private always;add_header Link '</docs>; rel=\"help\"';")
        + kFail;
    Store store(options);
    import_pets(store.redis, 1);
    const Values both = {"no-store", "private"};
    const auto pet = store.http.get("/v1/pets/1");
    CHECK(cache_control(pet) == both);
    CHECK(pet.all("link")
          == Values{"</v1/pets?status=available>; rel=\"successor-version\"",
                    "</docs>; rel=\"help\""});
    CHECK(cache_control(store.http.get("/v1/pets/9")) == both);
    CHECK(cache_control(store.http.get("/v1/pets?fail=403")) == both);
}

TEST_CASE("nginx modules: the headers sent are variables")
{
    NginxOptions options;
    options.http =
        "log_format sent '[$sent_http_cache_control] [$sent_http_www_authenticate] [$sent_http_link] [$sent_http_location]';";
    options.server = "access_log sent.log sent;";
    options.location = "petstore_base_url https://api.example.com;";
    Store store(options);
    REQUIRE(store.http.post("/v1/pets", kPet).status == 201);
    store.http.get("/v1/pets/1");
    store.http.get("/v1/pets", kWithoutKey);
    const std::string expected =
        "[no-store] [-] [-] [https://api.example.com/v1/pets/1]\n"
        "[no-store] [-] [<https://api.example.com/v1/pets?status=available>; rel=\\x22successor-version\\x22] [-]\n"
        "[no-store] [Bearer realm=\\x22petstore\\x22] [-] [-]\n";
    std::string log;
    wait_until([&] {
        log = read_file(store.nginx.path("sent.log"));
        return log.size() >= expected.size();
    });
    CHECK(log == expected);
}

TEST_CASE("nginx modules: a Location that is a path stays one")
{
    Store store;
    CHECK(store.http.post("/v1/pets", kPet).all("location")
          == Values{"/v1/pets/1"});
}

TEST_CASE("nginx modules: headers-more replaces and clears")
{
    NginxOptions options;
    options.main = kHeadersMore;
    options.location = std::string(R"(
        petstore_base_url https://api.example.com;
        more_set_headers "Cache-Control: private";
        more_set_headers -s 401 "WWW-Authenticate: Custom";
        more_set_headers -s 201 "Location: https://example.org/";
        more_clear_headers -s 200 Link;)")
                       + kFail;
    Store store(options);
    auto& http = store.http;

    const auto created = http.post("/v1/pets", kPet);
    CHECK(created.all("location") == Values{"https://example.org/"});
    CHECK(cache_control(created) == Values{"private"});
    const auto pet = http.get("/v1/pets/1");
    CHECK(cache_control(pet) == Values{"private"});
    CHECK_FALSE(pet.has("link"));
    const auto refused = http.get("/v1/pets", kWithoutKey);
    CHECK(cache_control(refused) == Values{"private"});
    CHECK(refused.all("www-authenticate") == Values{"Custom"});
    // The same for errors generated by nginx, although the module sets their
    // headers.
    const auto failed = http.get("/v1/pets?fail=500");
    CHECK(failed.status == 500);
    CHECK(cache_control(failed) == Values{"private"});
}

TEST_CASE("nginx modules: Lua reads and replaces")
{
    NginxOptions options = with_lua();
    options.location = std::string(R"(
        header_filter_by_lua_block {
            local headers = ngx.header
            headers["X-Seen"] = tostring(headers["Cache-Control"]) .. " " ..
                tostring(headers["WWW-Authenticate"]) .. " " ..
                tostring(headers["Content-Type"])
            headers["Cache-Control"] = "private"
            headers["Link"] = "</docs>"
            if headers["WWW-Authenticate"] then
                headers["WWW-Authenticate"] = "Custom"
            end
        })") + kFail;
    Store store(options);
    import_pets(store.redis, 1);

    const auto pet = store.http.get("/v1/pets/1");
    CHECK(pet.status == 200);
    CHECK(pet.header("x-seen") == "no-store nil application/json");
    CHECK(cache_control(pet) == Values{"private"});
    CHECK(pet.all("link") == Values{"</docs>"});

    const auto refused = store.http.get("/v1/pets", kWithoutKey);
    CHECK(refused.status == 401);
    CHECK(refused.header("x-seen")
          == std::string("no-store ") + kNoKey + " application/json");
    CHECK(cache_control(refused) == Values{"private"});
    CHECK(refused.all("www-authenticate") == Values{"Custom"});

    // Errors generated by nginx have the Error body before Lua sees them.
    const auto failed = store.http.get("/v1/pets?fail=500");
    CHECK(failed.status == 500);
    CHECK(failed.header("x-seen") == "no-store nil application/json");
    CHECK(cache_control(failed) == Values{"private"});
    CHECK(failed.json()["code"] == "internal_error");
}

TEST_CASE("nginx modules: headers set by Lua before an nginx error are kept")
{
    NginxOptions options = with_lua();
    options.location = R"(
        access_by_lua_block {
            ngx.header["Cache-Control"] = "private"
            ngx.header["Retry-After"] = "30"
            ngx.header["X-Reason"] = "maintenance"
            if ngx.var.arg_fail then ngx.exit(503) end
        })";
    Store store(options);
    const auto failed = store.http.get("/v1/pets?fail=1");
    CHECK(failed.status == 503);
    CHECK(failed.json()["code"] == "service_unavailable");
    CHECK(cache_control(failed) == Values{"private"});
    CHECK(failed.all("retry-after") == Values{"30"});
    CHECK(failed.header("x-reason") == "maintenance");
    rate_headers_of(failed);

    const auto list = store.http.get("/v1/pets");
    CHECK(list.status == 200);
    CHECK(cache_control(list) == Values{"private"});
}

TEST_CASE("nginx modules: auth_request passes on the 401 of the service")
{
    NginxOptions options;
    options.server = R"(
        location /private/ { auth_request /v1/pets; empty_gif; })";
    Store store(options);
    auto& http = store.http;

    CHECK(http.get("/private/x").status == 200);
    const auto none = http.get("/private/x", kWithoutKey);
    CHECK(none.status == 401);
    CHECK(none.all("www-authenticate") == Values{kNoKey});
    const auto wrong = http.get("/private/x", kWrongKey);
    CHECK(wrong.status == 401);
    CHECK(wrong.all("www-authenticate") == Values{kBadKey});

    auto stranger = Http(store.nginx.url(), "");
    const auto head = stranger.head("/private/x");
    CHECK(head.status == 401);
    CHECK(head.all("www-authenticate") == Values{kNoKey});
    CHECK(head.body.empty());
}

TEST_CASE("nginx modules: auth_request with errors in JSON")
{
    NginxOptions options;
    options.server = R"(
        petstore_json_errors on;
        location /private/ { auth_request /v1/pets; empty_gif; }
        location /store/v1/ { auth_request /v1/pets; petstore /store/v1; })";
    Store store(options);
    for (const char* path : {"/private/x", "/store/v1/pets"}) {
        INFO(path);
        CHECK(store.http.get(path).status == 200);
        const auto refused = store.http.get(path, kWithoutKey);
        expect_error(refused, 401, "unauthorized");
        CHECK(refused.all("www-authenticate") == Values{kNoKey});
    }
}

TEST_CASE("nginx modules: a 401 without a challenge gets one in the service")
{
    NginxOptions options;
    options.server = R"(
        petstore_json_errors on;
        location = /login { return 401; }
        location /asked/v1/ { auth_request /login; petstore /asked/v1; }
        location /closed/v1/ { return 401; petstore /closed/v1; }
        location /guarded/ {
            auth_request /login;
            petstore_guard on;
            empty_gif;
        }
        location /usage { auth_request /login; petstore_usage; }
        location /admin/ { auth_request /login; petstore_admin; }
        location /page/ {
            auth_request /login;
            petstore_guard on;
            error_page 401 = @page;
        }
        location @page { return 401; }
        location /elsewhere/ { auth_request /login; empty_gif; })";
    Store store(options);
    for (const char* path : {"/asked/v1/pets", "/closed/v1/pets", "/guarded/x",
                             "/usage", "/admin/keys", "/page/x"}) {
        INFO(path);
        const auto refused = store.http.get(path);
        expect_error(refused, 401, "unauthorized");
        CHECK(refused.all("www-authenticate") == Values{kNoKey});
    }
    CHECK(store.http.get("/elsewhere/x").all("www-authenticate").empty());
}

TEST_CASE("nginx modules: auth_basic keeps its challenge")
{
    NginxOptions options;
    options.server = R"(
        location /store/v1/ {
            auth_basic "staff";
            auth_basic_user_file %DIR%/nobody;
            petstore /store/v1;
        }
        location /either/v1/ {
            satisfy any;
            auth_basic "staff";
            auth_basic_user_file %DIR%/nobody;
            allow all;
            petstore /either/v1;
        })";
    Store store(options);
    write_file(store.nginx.path("nobody"), "nobody:x\n");

    const auto refused = store.http.get("/store/v1/pets", kWithoutKey);
    expect_error(refused, 401, "unauthorized");
    CHECK(refused.all("www-authenticate") == Values{"Basic realm=\"staff\""});
    // nginx has removed its own challenge here.
    const auto own = store.http.get("/either/v1/pets", kWithoutKey);
    expect_error(own, 401, "missing_api_key");
    CHECK(own.all("www-authenticate") == Values{kNoKey});
}

TEST_CASE("nginx modules: a response that a filter drops is an Error")
{
    NginxOptions options;
    options.http = "log_format codes '$status $petstore_error_code';";
    options.server = "access_log codes.log codes;";
    Store store(options);
    const auto failed = store.http.get("/v1/pets", {{"If-Match", "\"x\""}});
    expect_error(failed, 412, "bad_request");
    CHECK(failed.header("connection") == "close");
    CHECK(wait_until([&] {
        return read_file(store.nginx.path("codes.log")) == "412 bad_request\n";
    }));
}

TEST_CASE("nginx modules: an Error that a filter drops leaves its page whole")
{
    NginxOptions options;
    options.main = kImageFilter;
    options.http = "recursive_error_pages on;";
    options.server = R"(
        location /images/ {
            petstore_guard on;
            image_filter test;
            error_page 415 = /empty;
        }
        location = /empty { petstore_guard off; return 200 "empty"; })";
    Store store(options);
    const auto dropped = store.http.get("/images/", kWithoutKey);
    CHECK(dropped.status == 200);
    CHECK(dropped.body == "empty");
}

TEST_CASE(
    "nginx modules: a page instead of a dropped response has rate headers")
{
    NginxOptions options;
    options.location = "error_page 412 /page.html;";
    options.server = "location = /page.html { root %DIR%/pages; }";
    Store store(options);
    mkdir(store.nginx.path("pages").c_str(), 0777);
    write_file(store.nginx.path("pages/page.html"), "page");
    const auto failed = store.http.get("/v1/pets", {{"If-Match", "\"x\""}});
    CHECK(failed.status == 412);
    CHECK(failed.body == "page");
    CHECK(failed.all("x-ratelimit-limit").size() == 1);
}

TEST_CASE(
    "nginx modules: the service answers as the page of a dropped response")
{
    NginxOptions options;
    options.server = R"(
        location /missing/v1/ {
            petstore /missing/v1;
            error_page 412 = /v1/pets/0;
        }
        location /document/v1/ {
            petstore /document/v1;
            error_page 412 /v1/openapi.json;
        }
        location /again/v1/ {
            petstore /again/v1;
            error_page 412 = /v1/openapi.json;
        })";
    Store store(options);
    const Headers never = {{"If-Match", "\"x\""}};

    const auto missing = store.http.get("/missing/v1/pets", never);
    expect_error(missing, 404, "pet_not_found");
    CHECK(missing.all("deprecation").size() == 1);
    const auto document = store.http.get("/document/v1/pets", never);
    CHECK(document.status == 412);
    CHECK(document.json().contains("openapi"));
    // nginx drops this page, too.
    expect_error(store.http.get("/again/v1/pets", never), 412, "bad_request");
}

TEST_CASE("nginx modules: the service answers as the page of a 416")
{
    NginxOptions options;
    options.server = R"(
        location /files/pet/ {
            petstore_guard on;
            alias %DIR%/;
            error_page 416 = /v1/pets/1;
        }
        location /files/none/ {
            petstore_guard on;
            alias %DIR%/;
            error_page 416 /v1/pets/0;
        }
        location /files/refused/ {
            petstore_guard on;
            alias %DIR%/;
        }
        location /files/list/ {
            petstore_guard on;
            recursive_error_pages on;
            alias %DIR%/;
            error_page 416 = /v1/pets;
        }
        location /files/twice/ {
            petstore_guard on;
            alias %DIR%/;
            error_page 416 =200 /page;
        }
        location = /page { root %DIR%; })";
    Store store(options);
    import_pets(store.redis, 3);
    write_file(store.nginx.path("file"), "small");
    write_file(store.nginx.path("page"), "page");
    const Headers beyond = {{"Range", "bytes=90-"}};

    for (const auto& [path, start] :
         {std::pair("/files/pet/file", "{"), {"/files/list/file", "["}}) {
        INFO(path);
        const auto page = store.http.get(path, beyond);
        CHECK(page.status == 200);
        CHECK(page.header("content-type") == "application/json");
        CHECK(page.body.substr(0, 1) == start);
        CHECK(page.all("x-ratelimit-limit").size() == 1);
        CHECK(!page.has("content-range"));
        CHECK(!page.has("etag"));
        CHECK(!page.has("last-modified"));
    }
    const auto none = store.http.get("/files/none/file", beyond);
    expect_error(none, 404, "pet_not_found");
    CHECK(!none.has("content-range"));
    const auto refused = store.http.get("/files/refused/file", beyond);
    expect_error(refused, 416, "bad_request");
    CHECK(refused.has("content-range"));
    // nginx applies the Range to this page, too.
    const auto twice = store.http.get("/files/twice/file", beyond);
    expect_error(twice, 416, "bad_request");
    CHECK(twice.header("content-range") == "bytes */4");
}

TEST_CASE("nginx modules: the page of a dropped getPet announces its sunset")
{
    NginxOptions options;
    options.server = R"(
        location = /page { petstore_guard on; return 412; }
        location /later/v1/ {
            petstore /later/v1;
            petstore_get_sunset 2031-02-03;
            error_page 412 /page;
        }
        location /never/v1/ {
            petstore /never/v1;
            petstore_get_sunset off;
            error_page 412 /page;
        })";
    Store store(options);
    import_pets(store.redis, 1);
    const Headers never = {{"If-Match", "\"x\""}};

    const auto later = store.http.get("/later/v1/pets/1", never);
    expect_error(later, 412, "bad_request");
    CHECK(later.header("sunset") == "Mon, 03 Feb 2031 00:00:00 GMT");
    CHECK(later.header("link")
          == "</later/v1/pets?status=available>; rel=\"successor-version\"");
    const auto without_end = store.http.get("/never/v1/pets/1", never);
    CHECK(without_end.has("deprecation"));
    CHECK(!without_end.has("sunset"));
}

TEST_CASE("nginx modules: a 429 of limit_req is not the service's")
{
    NginxOptions options;
    options.http =
        "limit_req_zone $http_x_slow zone=slow:1m rate=1r/m;log_format codes '$status $petstore_error_code';";
    options.server = R"(
        access_log codes.log codes;
        petstore_json_errors on;
        limit_req_status 429;
        location /plain/ { limit_req zone=slow; empty_gif; })";
    options.location = "limit_req zone=slow;";
    Store store(options);
    store.http.use_key(limited_key(store.redis, 1).secret);

    for (const char* path : {"/v1/pets", "/plain/x"}) {
        INFO(path);
        const Headers slow = {{"X-Slow", path}};
        CHECK(store.http.get(path, slow).status == 200);
        const auto limited = store.http.get(path, slow);
        expect_error(limited, 429, "too_many_requests");
        CHECK(limited.all("retry-after") == Values{"1"});
    }
    // The first request used the key's only one.
    const auto own = store.http.get("/v1/pets");
    expect_error(own, 429, "rate_limit_exceeded");
    CHECK(own.header("retry-after") != "1");

    const std::string expected = "200 -\n429 too_many_requests\n"
                                 "200 -\n429 too_many_requests\n"
                                 "429 rate_limit_exceeded\n";
    std::string log;
    wait_until([&] {
        log = read_file(store.nginx.path("codes.log"));
        return log.size() >= expected.size();
    });
    CHECK(log == expected);
}

TEST_CASE("nginx modules: a 429 of limit_conn is not the service's")
{
    NginxOptions options;
    options.http = "limit_conn_zone $server_port zone=one:1m;";
    options.location = "limit_conn one 1; limit_conn_status 429;";
    Store store(options);
    RawClient busy(store.nginx.port());
    busy.send(store.head("POST /v1/pets HTTP/1.1", "Content-Length: 100\r\n"));
    Response limited;
    CHECK(wait_until([&] {
        limited = store.http.get("/v1/pets");
        return limited.status == 429;
    }));
    expect_error(limited, 429, "too_many_requests");
    CHECK(limited.all("retry-after") == Values{"1"});
}

TEST_CASE("nginx modules: a mirror leaves the answer and its log line alone")
{
    NginxOptions options;
    options.http =
        "log_format report '$request_uri $petstore_operation $petstore_limit_status $petstore_error_code';";
    options.server = R"(
        access_log report.log report;
        location /one/v1/ { mirror /v1/pets/2; petstore /one/v1; }
        location /list/v1/ { mirror /v1/pets; petstore /list/v1; }
        location /nowhere/v1/ { mirror /v1/nowhere; petstore /nowhere/v1; })";
    Store store(options);
    import_pets(store.redis, 3);
    auto& http = store.http;

    CHECK_FALSE(http.get("/one/v1/pets").has("deprecation"));
    CHECK(http.get("/list/v1/pets/1").has("deprecation"));
    CHECK(http.get("/nowhere/v1/pets").status == 200);
    store.nginx.quit();
    CHECK(read_file(store.nginx.path("report.log"))
          == "/one/v1/pets listPets PASSED -\n"
             "/list/v1/pets/1 getPet PASSED -\n"
             "/nowhere/v1/pets listPets PASSED -\n");
}

TEST_CASE("nginx modules: an error page of the API repeats no challenge")
{
    NginxOptions options;
    options.server = R"(
        location /again/v1/ {
            auth_request /v1/pets;
            error_page 401 = /v1/pets;
            petstore /again/v1;
        })";
    Store store(options);
    const auto response = store.http.get("/again/v1/pets", kWithoutKey);
    expect_error(response, 401, "missing_api_key");
    CHECK(response.all("www-authenticate") == Values{kNoKey});
}

// nginx runs them again for a request in no location, unless the rewrite
// module's handler is the first of its phase.
TEST_CASE("nginx modules: the rewrite rules of another server run once")
{
    NginxOptions options;
    options.servers = R"(
        server {
            listen %ADDRESS%:%PORT%;
            server_name whole;
            set $times "${times}a";
            rewrite ^/(.*)$ /site/$1;
            root %DIR%;
            add_header X-Times $times;
        }
        server {
            listen %ADDRESS%:%PORT%;
            server_name parts;
            rewrite ^(.*)$ /site$1;
            root %DIR%;
            location /never/ { }
            location @page { return 200 "named"; }
            error_page 404 = @page;
        })";
    SECTION("alone") {}
    SECTION("beside Lua, whose handler goes to the end of the phase")
    {
        options.env = with_lua().env;
        options.main = kLua;
        options.http = "rewrite_by_lua_block { ngx.ctx.a = 1 }";
    }
    Store store(options);
    std::filesystem::create_directory(store.nginx.path("site"));
    write_file(store.nginx.path("site/page"), "page");
    for (int i = 0; i < 2; ++i) {
        const auto whole = store.http.get("/page", {{"Host", "whole"}});
        CHECK(whole.body == "page");
        CHECK(whole.header("x-times") == "a");
        CHECK(store.http.get("/page", {{"Host", "parts"}}).body == "page");
        CHECK(store.http.get("/none", {{"Host", "parts"}}).body == "named");
    }
}
