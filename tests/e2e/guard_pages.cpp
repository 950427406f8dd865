// docs/guard.md, "Redirects, error pages and subrequests": which pages a guard
// serves without a key.
#include <sys/stat.h>

#include <functional>

#include "support/guarded_store.h"

using namespace petstore::e2e;

namespace {

void make_pages(const Store& store, const std::vector<std::string>& files)
{
    mkdir(store.nginx.path("pages").c_str(), 0777);
    for (const auto& file : files) {
        write_file(store.nginx.path("pages/" + file), file);
    }
}

// Ways to be refused by nginx before the guard, whatever the page is.
struct Refused {
    Http::Request request;
    int status;
};

const std::vector<Refused> kRefused = {
    {{"GET", "/denied/"}, 403},
    {{"GET", "/basic/"}, 401},
    {{"POST", "/small/", {}, std::string(11, 'x')}, 413},
    {{"GET", "/internal/"}, 404},
    {{"GET", "/slow/", {{"X-Slow", "a"}}}, 429},
    {{"GET", "/returned/"}, 503},
};

// The locations of the above. Each has the error pages of the server.
NginxOptions refusing(const std::string& server)
{
    NginxOptions options;
    options.http = "limit_req_zone $http_x_slow zone=slow:1m rate=1r/m;";
    options.server = R"(
        petstore_guard on;
        root %DIR%/pages;
        proxy_pass_request_body off;  # nginx has discarded it
        proxy_set_header Content-Length "";
        location /denied/ { deny all; proxy_pass http://%BACK_END%; }
        location /basic/ {
            auth_basic staff;
            auth_basic_user_file %DIR%/nobody;
            proxy_pass http://%BACK_END%;
        }
        location /slow/ {
            limit_req zone=slow;
            limit_req_status 429;
            proxy_pass http://%BACK_END%;
        }
        location /small/ {
            client_max_body_size 10;
            proxy_pass http://%BACK_END%;
        }
        location /internal/ { internal; proxy_pass http://%BACK_END%; }
        location /returned/ { return 503; })"
                     + server;
    return options;
}

// What the client gets when it is refused, with a key and without one. Nothing
// is charged but the request that fills the zone of limit_req.
void for_each_refusal(
    GuardedStore& shop,
    const std::function<void(const Response&, int, bool has_key)>& check)
{
    auto& http = shop.http;
    write_file(shop.store.nginx.path("nobody"), "nobody:x\n");
    CHECK(http.get("/slow/", {{"X-Slow", "a"}}).status == 200);
    for (const bool has_key : {true, false}) {
        for (auto [request, status] : kRefused) {
            INFO(request.path << (has_key ? "" : " without a key"));
            if (!has_key) {
                request.headers.insert(request.headers.end(), kNoKey.begin(),
                                       kNoKey.end());
                request.headers.emplace_back("X-Nobody", "1");
            }
            check(http.send(request), status, has_key);
        }
    }
}

}  // namespace

TEST_CASE("guard pages: a file shows what nginx has refused before the guard")
{
    const std::string pages = "error_page 401 403 404 413 429 503 /page.html;";
    const std::string places[] = {
        "", "location / { }", "location = /page.html { }",
        "location /page { if ($arg_x) { set $x 1; } }",
        "location = /page.html { add_header X-Page 1 always; }"};
    for (const auto& place : places) {
        INFO(place);
        GuardedStore shop(refusing(pages + place));
        make_pages(shop.store, {"page.html"});
        for_each_refusal(shop, [](const Response& response, int status, bool) {
            CHECK(response.status == status);
            CHECK(response.body == "page.html");
            // The key was not checked.
            CHECK(rate_headers_of(response).remaining == 60);
        });
        CHECK(shop.charged() == 1);
        CHECK(shop.back_end.count() == 1);
        // It is guarded in every other way.
        const auto direct = shop.http.get("/page.html", kNoKey);
        CHECK(direct.status == 401);
        CHECK(direct.has("www-authenticate"));
        CHECK(shop.http.get("/page.html").status == 200);
        CHECK(shop.charged() == 2);
    }
}

TEST_CASE("guard pages: nothing but a file at a fixed URI passes")
{
    // A page by name, by a URI from the client, of another handler, guarded by
    // itself, as an answer instead of an error, or that leads elsewhere.
    const std::string statuses = "error_page 401 403 404 413 429 503 ";
    const std::string cases[] = {
        statuses + "@page; location @page { proxy_pass http://%BACK_END%; }",
        statuses + "@page; location @page { try_files /page.html =404; }",
        statuses + "/app; location = /app { proxy_pass http://%BACK_END%; }",
        statuses + "= /app; location = /app { proxy_pass http://%BACK_END%; }",
        statuses + "= /page.html;",
        statuses + "=200 /page.html;",
        statuses + "/$arg_page/page.html;",
        statuses + "/page.html; location = /page.html { petstore_guard on; }",
        statuses
            + "/page.html; location /page { petstore_guard on; if ($uri) { } }",
        statuses
            + "/app; location = /app { if ($uri) { proxy_pass http://%BACK_END%; } }",
        statuses
            + "/page.html; location = /page.html { try_files /no /app; }"
              "location = /app { proxy_pass http://%BACK_END%; }",
        statuses
            + "/page.html; location = /page.html { rewrite ^ /app last; }"
              "location = /app { proxy_pass http://%BACK_END%; }",
        statuses
            + "/page.html; mirror /copy; location = /copy { petstore_guard off;"
              "proxy_pass http://%BACK_END%; }",
        statuses + "/folder/; location /folder/ { autoindex on; }",
    };
    for (const auto& lines : cases) {
        INFO(lines);
        GuardedStore shop(refusing(lines));
        make_pages(shop.store, {"page.html"});
        mkdir(shop.store.nginx.path("pages/folder").c_str(), 0777);
        write_file(shop.store.nginx.path("pages/folder/page.html"), "x");
        for_each_refusal(shop, [](const Response& response, int, bool has_key) {
            if (!has_key) {
                expect_error(response, 401, "missing_api_key");
            }
        });
        for (const auto& request : shop.back_end.requests()) {
            CHECK_FALSE(request.has("x-nobody"));
        }
    }
}

TEST_CASE("guard pages: petstore_guard off frees any page")
{
    const std::string statuses = "error_page 401 403 404 413 429 503 ";
    for (const std::string lines :
         {"@page; location @page { petstore_guard off;",
          "/app; location = /app { internal; petstore_guard off;"}) {
        INFO(lines);
        GuardedStore shop(
            refusing(statuses + lines + "proxy_pass http://%BACK_END%; }"));
        for_each_refusal(shop, [](const Response& response, int, bool) {
            CHECK(response.body == "back end");
        });
        CHECK(shop.charged() == 1);
    }
}

TEST_CASE("guard pages: an error provoked outside of the guard reveals nothing")
{
    NginxOptions options;
    options.server = R"(
        petstore_guard on;
        root %DIR%/pages;
        location /open/ { petstore_guard off; error_page 404 = /secret/; }
        location /again/ {
            petstore_guard off;
            error_page 404 /accel/;
        }
        location /accel/ { petstore_guard off; proxy_pass http://%BACK_END%; }
        location /dispatch/ { error_page 418 = @secret; return 418; }
        location /secret/ { proxy_pass http://%BACK_END%; }
        location @secret { proxy_pass http://%BACK_END%; }
        location /files/ { })";
    GuardedStore shop(options, "", [](const BackEnd::Request& request) {
        if (contains(request.target, "/accel/")) {
            return Response{
                200, "1.1", {{"X-Accel-Redirect", "/files/page.html"}}, ""};
        }
        return Response{200, "1.1", {}, "back end"};
    });
    make_pages(shop.store, {});
    mkdir(shop.store.nginx.path("pages/files").c_str(), 0777);
    write_file(shop.store.nginx.path("pages/files/page.html"), "secret");
    for (const std::string path : {"/open/x", "/again/x", "/dispatch/x"}) {
        INFO(path);
        const auto refused = shop.http.get(path, kNoKey);
        expect_error(refused, 401, "missing_api_key");
        const auto before = shop.charged();
        const auto admitted = shop.http.get(path);
        CHECK((admitted.body == "back end" || admitted.body == "secret"));
        CHECK(shop.charged() == before + 1);
    }
}
