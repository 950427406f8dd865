// docs/http.md, "Calling from browsers": calls from pages of other origins.
#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "support/guarded_store.h"
#include "support/one_worker.h"
#include "support/out_of_memory.h"

using namespace petstore::e2e;

namespace {

const std::string kApp = "https://app.example.com";
const std::string kLocal = "http://localhost:3000";
const std::string kOther = "https://evil.example";
const std::string kOrigins = "petstore_cors " + kApp + " " + kLocal + ";";

const std::string kListMethods = "GET, HEAD, POST, OPTIONS";
const std::string kGetMethods = "GET, HEAD, OPTIONS";
const std::string kGuardMethods =
    "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

const char* const kPet = "{\"name\":\"Rex\",\"categoryId\":7}";

NginxOptions with_cors(NginxOptions options = {},
                       const std::string& directive = kOrigins)
{
    options.server += directive;
    return options;
}

Headers from(const std::string& origin, Headers more = {})
{
    more.emplace_back("Origin", origin);
    return more;
}

// The entries of a list header, across all its lines.
std::vector<std::string> entries(const Response& response,
                                 const std::string& name)
{
    std::vector<std::string> all;
    for (const auto& line : response.all(name)) {
        for (auto entry : split(line, ',')) {
            entry.erase(0, entry.find_first_not_of(' '));
            all.push_back(to_lower(entry));
        }
    }
    return all;
}

std::vector<std::string> cors_headers(const Response& response)
{
    std::vector<std::string> names;
    for (const auto& header : response.headers) {
        if (header.first.rfind("access-control-", 0) == 0) {
            names.push_back(header.first);
        }
    }
    std::sort(names.begin(), names.end());
    return names;
}

using Names = std::vector<std::string>;

std::ptrdiff_t varies(const Response& response)
{
    const auto vary = entries(response, "vary");
    return std::count(vary.begin(), vary.end(), "origin");
}

// Checks that scripts of `origin` may read the response, and no others.
void expect_readable(const Response& response, const std::string& origin = kApp)
{
    INFO(response.status << " " << response.body);
    CHECK(cors_headers(response)
          == Names{"access-control-allow-origin",
                   "access-control-expose-headers"});
    CHECK(response.header("access-control-allow-origin") == origin);
    CHECK(varies(response) == (origin == "*" ? 0 : 1));
}

// Checks that the requesting origin may not read the response, and that caches
// do not serve it to another origin.
void expect_unreadable(const Response& response)
{
    INFO(response.status << " " << response.body);
    CHECK(cors_headers(response).empty());
    CHECK(varies(response) == 1);
}

void expect_without_cors(const Response& response)
{
    INFO(response.status << " " << response.body);
    CHECK(cors_headers(response).empty());
    CHECK(varies(response) == 0);
}

Response preflight(Http& http, const std::string& path,
                   const Headers& headers = from(kApp))
{
    Http::Request request{"OPTIONS", path, headers};
    request.headers.insert(
        request.headers.end(),
        {{"Access-Control-Request-Method", "POST"},
         {"Access-Control-Request-Headers", "authorization,content-type"},
         {"Authorization", ""}});
    return http.send(request);
}

void expect_preflight(const Response& response, const std::string& methods,
                      const std::string& origin = kApp)
{
    INFO(response.status << " " << response.body);
    CHECK(response.status == 204);
    CHECK(response.body.empty());
    CHECK(cors_headers(response)
          == Names{"access-control-allow-headers",
                   "access-control-allow-methods",
                   "access-control-allow-origin", "access-control-max-age"});
    CHECK(response.header("access-control-allow-origin") == origin);
    CHECK(response.header("access-control-allow-methods") == methods);
    CHECK(response.header("access-control-allow-headers")
          == "Authorization, Content-Type, Idempotency-Key");
    CHECK(response.header("access-control-max-age") == "600");
    CHECK(response.header("cache-control") == "no-store");
    CHECK(varies(response) == (origin == "*" ? 0 : 1));
    const auto rate = rate_headers_of(response);
    CHECK(rate.remaining == rate.limit);
}

// A response of a back end that sends its own CORS headers.
Response own_cors(const BackEnd::Request& request)
{
    return {200,
            "1.1",
            {{"Access-Control-Allow-Origin", kOther},
             {"access-control-allow-credentials", "true"},
             {"Access-Control-Expose-Headers", "X-Own"},
             {"Access-Control-Anything", "1"},
             {"X-Own", "1"},
             {"Cache-Control", "max-age=60"},
             {"Vary", "Accept-Encoding"}},
            request.target};
}

}  // namespace

TEST_CASE("cors: a preflight needs no key, on any path, and costs nothing")
{
    GuardedStore shop(with_cors());
    auto& store = shop.store;
    CHECK(store.http.get("/v1/pets").status == 200);  // connects to Redis
    Monitor monitor(store.redis);
    const std::pair<const char*, std::string> rows[] = {
        {"/v1/pets", kListMethods},
        {"/v1/pets?limit=0", kListMethods},
        {"/v1/pets/1", kGetMethods},
        {"/v1/pets/x", kGetMethods},
        {"/v1/pets/", kListMethods},
        {"/v1/store/orders", kListMethods},
        {"/v1/openapi.json", kGetMethods},
        {"/shop/", kGuardMethods},
        {"/shop/none/at/all", kGuardMethods},
    };
    for (const auto& [path, methods] : rows) {
        INFO(path);
        const auto response = preflight(store.http, path);
        expect_preflight(response, methods);
        const bool known = path[1] == 'v' && methods != kListMethods;
        if (known) {
            CHECK(response.header("allow") == methods);
        }
        // A key, valid or not, makes no difference.
        expect_preflight(
            preflight(store.http, path,
                      from(kLocal, {{"Authorization", "Bearer no-such"}})),
            methods, kLocal);
    }
    CHECK(preflight(store.http, "/v1/pets").header("allow") == kListMethods);
    CHECK_FALSE(preflight(store.http, "/shop/").has("allow"));
    CHECK(shop.back_end.count() == 0);
    CHECK(monitor.names().empty());
    CHECK(shop.charged() == 1);
}

TEST_CASE(
    "cors: other origins and OPTIONS are handled as without petstore_cors")
{
    GuardedStore shop(with_cors());
    auto& http = shop.http;
    const std::string origins[] = {
        kOther,
        "null",
        "https://APP.example.com",
        kApp + "/",
        kApp + ":443",
        kApp + ".evil.example",
        "http://app.example.com",
        "https://app.example.co",
        kApp + " " + kLocal,
        kApp + "," + kLocal,
        kApp + "\t.",
        "*",
        std::string(7000, 'x'),
    };
    for (const auto& origin : origins) {
        INFO(origin);
        const auto pets = preflight(http, "/v1/pets", from(origin));
        CHECK(pets.status == 204);
        CHECK(pets.header("allow") == kListMethods);
        expect_unreadable(pets);
        expect_error(preflight(http, "/v1/none", from(origin)), 404,
                     "not_found");
        const auto guarded = preflight(http, "/shop/", from(origin));
        expect_error(guarded, 401, "missing_api_key");
        expect_unreadable(guarded);
        expect_unreadable(http.get("/v1/pets", from(origin)));
        expect_unreadable(http.get("/shop/", from(origin)));
    }
    // Two Origin fields, in either order.
    for (const auto& [one, two] :
         {std::pair(kApp, kOther), {kOther, kApp}, {kApp, kApp}}) {
        RawClient client(shop.store.nginx.port());
        const auto both = "Origin: " + one + "\r\nOrigin: " + two + "\r\n";
        client.send(shop.store.head("GET /v1/pets HTTP/1.1", both)
                    + "OPTIONS /v1/pets HTTP/1.1\r\nHost: a\r\n" + both
                    + "Access-Control-Request-Method: PUT\r\n\r\n");
        expect_unreadable(client.read());
        expect_unreadable(client.read(true));
    }
    // Not a preflight, without Access-Control-Request-Method.
    const auto plain = http.send({"OPTIONS", "/v1/pets", from(kApp)});
    CHECK(plain.status == 204);
    expect_readable(plain);
    const auto none = http.send({"OPTIONS", "/v1/none", from(kApp)});
    expect_error(none, 404, "not_found");
    expect_readable(none);
    const auto guarded =
        http.send({"OPTIONS", "/shop/", from(kApp, {{"Authorization", ""}})});
    expect_error(guarded, 401, "missing_api_key");
    expect_readable(guarded);
    // Nor is a request without an Origin, or with another method.
    const Headers asks = {{"Access-Control-Request-Method", "POST"}};
    expect_unreadable(http.send({"OPTIONS", "/v1/pets", asks}));
    const auto get = http.get("/v1/pets", from(kApp, asks));
    CHECK(get.status == 200);
    expect_readable(get);
    expect_unreadable(http.get("/v1/pets"));
}

TEST_CASE("cors: every response of the API can be read")
{
    Store store(with_cors());
    import_pets(store.redis, 3);
    auto& http = store.http;
    const auto ask = [&](int status, const Http::Request& request) {
        auto asked = request;
        asked.headers.emplace_back("Origin", kApp);
        const auto response = http.send(asked);
        INFO(request.method << " " << request.path);
        CHECK(response.status == status);
        expect_readable(response);
        return response;
    };
    const auto page = ask(200, {"GET", "/v1/pets?limit=1"});
    const auto cached = ask(200, {"GET", "/v1/pets?limit=1"});
    CHECK(page.body == cached.body);
    ask(200, {"HEAD", "/v1/pets"});
    ask(200, {"GET", "/v1/pets/1"});
    const Headers json = {{"Content-Type", "application/json"}};
    ask(201, {"POST", "/v1/pets", json, kPet});
    auto once = json;
    once.emplace_back("Idempotency-Key", "a");
    ask(201, {"POST", "/v1/pets", once, kPet});
    ask(201, {"POST", "/v1/pets", once, kPet});
    ask(422, {"POST", "/v1/pets", once, std::string(kPet) + " "});
    ask(400, {"GET", "/v1/pets?limit=0"});
    ask(401, {"GET", "/v1/pets", kNoKey});
    ask(401, {"GET", "/v1/pets/1", kUnknownKey});
    ask(404, {"GET", "/v1/pets/99"});
    ask(404, {"GET", "/v1/none"});
    ask(405, {"DELETE", "/v1/pets"});
    ask(413, {"POST", "/v1/pets", json, std::string(20'000, 'x')});
    ask(413, {"POST", "/v1/pets", json, std::string(20'000, 'x'), true});
    ask(415, {"POST", "/v1/pets", {{"Content-Type", "text/plain"}}, kPet});
    const auto document = ask(200, {"GET", "/v1/openapi.json", kNoKey});
    CHECK(contains(document.body, "Access-Control-Expose-Headers"));
    ask(304, {"GET",
              "/v1/openapi.json",
              {{"If-None-Match", document.header("etag")}}});
    http.use_key(limited_key(store.redis, 1).secret);
    ask(200, {"GET", "/v1/pets"});
    ask(429, {"GET", "/v1/pets"});
}

TEST_CASE("cors: preflights need no Redis and ignore the address's limit")
{
    auto options = with_cors();
    options.location = "petstore_anonymous_limit 1 enforce;";
    GuardedStore shop(options, "petstore_anonymous_limit 1 enforce;");
    auto& store = shop.store;
    Http http(store.nginx.url());
    CHECK(http.get("/v1/pets").status == 401);
    CHECK(http.get("/v1/pets").status == 429);
    for (const char* path : {"/v1/pets", "/shop/"}) {
        const auto response = preflight(http, path);
        CHECK(response.status == 204);
        CHECK(response.has("access-control-allow-methods"));
        CHECK(rate_headers_of(response).remaining == 0);
        expect_readable(http.get(path, from(kApp)));
    }
    store.redis.stop();
    for (const char* path : {"/v1/pets", "/shop/"}) {
        INFO(path);
        CHECK(preflight(http, path).status == 204);
        const auto refused = store.http.get(path, from(kApp));
        expect_error(refused, 503, "service_unavailable");
        CHECK(refused.has("retry-after"));
        expect_readable(refused);
    }
    CHECK(shop.back_end.count() == 0);
}

TEST_CASE("cors: errors generated by nginx can be read")
{
    auto options = with_cors();
    options.http =
        "large_client_header_buffers 2 1k; client_header_buffer_size 1k;limit_req_zone $binary_remote_addr zone=all:1m rate=1r/m;";
    options.server += R"(
        petstore_json_errors on;
        location /small/ { petstore_guard on; client_max_body_size 10;
                           proxy_pass http://%BACK_END%; }
        location /slow/ { petstore_guard on; limit_req zone=all;
                          limit_req_status 429; proxy_pass http://%BACK_END%; }
        location /denied/ { petstore_guard on; deny all; root %DIR%; }
        location /basic/ { petstore_guard on; auth_basic a;
                           auth_basic_user_file none; root %DIR%; }
        location /dead/ { petstore_guard on;
                          proxy_pass http://unix:%DIR%/none.sock:/; }
        location /return/ { petstore_guard on; return 503; }
        location /redirect/ { petstore_guard on; return 302 /elsewhere; }
        location /written/ { return 404 "my own words"; })";
    options.location = "limit_except GET { deny all; }";
    options.servers = R"(server {
        listen %ADDRESS%:%TLS_PORT%;
        petstore_json_errors on;
        petstore_cors *;
    })";
    GuardedStore shop(options);
    auto& store = shop.store;
    auto& http = store.http;
    const auto expect = [](const Response& response, int status,
                           const std::string& code) {
        expect_error(response, status, code);
        expect_readable(response);
    };
    expect(http.post("/small/", "12345678901", from(kApp)), 413,
           "payload_too_large");
    CHECK(http.get("/slow/", from(kApp)).status == 200);
    expect(http.get("/slow/", from(kApp)), 429, "too_many_requests");
    expect(http.get("/denied/", from(kApp)), 403, "forbidden");
    expect(http.get("/basic/", from(kApp, kNoKey)), 401, "unauthorized");
    expect(http.get("/dead/", from(kApp)), 502, "service_unavailable");
    expect(http.get("/return/", from(kApp)), 503, "service_unavailable");
    expect(http.post("/v1/pets", kPet, from(kApp)), 403, "forbidden");
    const auto redirect = http.get("/redirect/", from(kApp));
    CHECK(redirect.status == 302);
    expect_readable(redirect);
    // For unknown paths, petstore_json_errors decides.
    expect(http.get("/nowhere", from(kApp)), 404, "not_found");
    expect_unreadable(http.get("/nowhere", from(kOther)));
    expect_without_cors(http.get("/written/", from(kApp)));

    // Modules that check credentials do not see preflights; limit_req does.
    for (const char* path : {"/small/", "/denied/", "/basic/", "/dead/"}) {
        expect_preflight(preflight(http, path), kGuardMethods);
    }
    expect_preflight(preflight(http, "/v1/pets"), kListMethods);
    expect(preflight(http, "/slow/"), 429, "too_many_requests");
    expect(preflight(http, "/return/"), 503, "service_unavailable");

    const auto raw = [](int port, const std::string& bytes) {
        RawClient client(port);
        client.send(bytes);
        return client.read();
    };
    const std::string head = " HTTP/1.1\r\nHost: a\r\nOrigin: " + kApp + "\r\n";
    const std::string line(3000, 'a');
    expect(raw(store.nginx.port(),
               "GET /v1/pets" + head + "X: " + line + "\r\n\r\n"),
           400, "header_too_large");
    expect(raw(store.nginx.port(),
               "POST /v1/pets" + head + "Transfer-Encoding: gzip\r\n\r\n"),
           501, "not_implemented");
    // nginx rejects the request before it reads Origin, so only "*" helps.
    const auto unread =
        raw(store.nginx.port(), "GET /v1/pets?" + line + head + "\r\n");
    expect_error(unread, 414, "uri_too_long");
    expect_unreadable(unread);
    const auto any =
        raw(store.nginx.tls_port(), "GET /v1/pets?" + line + head + "\r\n");
    expect_error(any, 414, "uri_too_long");
    expect_readable(any, "*");
    expect_readable(raw(store.nginx.tls_port(), "NONSENSE\r\n\r\n"), "*");
}

TEST_CASE("cors: error pages, in the service or not")
{
    auto options = with_cors({}, "");
    options.http = "limit_req_zone $binary_remote_addr zone=all:1m rate=1r/m;";
    options.server += R"(
        location /pages/ { root %DIR%; add_header X-Page 1 always; }
        location @named { return 503 "named"; }
        location /a/ { )"
                      + kOrigins + R"(petstore_guard on; root %DIR%;
            error_page 401 /pages/401.html; error_page 404 = /pages/404.html; }
        location /b/ { )"
                      + kOrigins + R"(petstore_guard on; limit_req zone=all;
            error_page 503 =429 /pages/429.html; root %DIR%; }
        location /c/ { )"
                      + kOrigins + R"(petstore_guard on; return 503;
            error_page 503 @named; }
        location /off/ { petstore_cors off; petstore_guard on; root %DIR%;
            error_page 401 /pages/401.html; }
        location /left/ { )"
                      + kOrigins + R"(petstore_guard on;
            rewrite ^ /pages/401.html last; })";
    Store store(options);
    mkdir(store.nginx.path("pages").c_str(), 0777);
    for (const char* page : {"401", "404", "429"}) {
        write_file(store.nginx.path(std::string("pages/") + page + ".html"),
                   page);
    }
    auto& http = store.http;
    const auto expect = [](const Response& response, int status,
                           const std::string& body) {
        CHECK(response.status == status);
        CHECK(response.body == body);
        expect_readable(response);
    };
    expect(http.get("/a/x", from(kApp, kNoKey)), 401, "401");
    expect(http.get("/a/x", from(kApp)), 200, "404");
    expect_unreadable(http.get("/a/x", from(kOther, kNoKey)));
    CHECK(http.get("/b/x", from(kApp)).status == 404);
    expect(http.get("/b/x", from(kApp)), 429, "429");
    expect(http.get("/c/x", from(kApp)), 503, "named");
    expect_without_cors(http.get("/off/x", from(kApp, kNoKey)));
    // No longer a location of the service, or never one.
    expect_without_cors(http.get("/left/x", from(kApp)));
    expect_without_cors(http.get("/pages/401.html", from(kApp)));
    expect_without_cors(http.get("/v1/pets", from(kApp)));
}

TEST_CASE("cors: a redirect before the access phase, and one in it")
{
    const std::string partner = "https://partner.example.com";
    auto options = with_cors({}, "");
    options.server += "location /go/ {" + kOrigins
                      + R"(petstore_guard on; empty_gif;
            error_page 418 = @partner; if ($arg_partner) { return 418; } }
        location /denied/ {)"
                      + kOrigins + R"(petstore_guard on; deny all;
            error_page 403 = @partner; }
        location /busy/ {)"
                      + kOrigins + R"(petstore_guard on; return 503;
            error_page 503 /busy.html; }
        location /full/ {)"
                      + kOrigins + R"(petstore_guard on; return 503;
            error_page 503 =200 /full.html; }
        location = /full.html { internal; petstore_guard on; empty_gif; }
        location = /busy.html { internal; petstore_guard on; petstore_cors )"
                      + partner + R"(; empty_gif; }
        location @partner { petstore_guard on; petstore_cors )"
                      + partner + "; empty_gif; }";
    Store store(options);
    auto& http = store.http;
    const char* const theirs = "/go/x?partner=1";
    // The page of an error before the access phase.
    const auto busy = http.get("/busy/x", from(kApp));
    CHECK(busy.status == 503);
    expect_readable(busy);
    expect_unreadable(http.get("/busy/x", from(partner)));
    const auto full = http.get("/full/x", from(kApp));
    CHECK(full.status == 200);
    expect_readable(full);
    expect_preflight(preflight(http, theirs, from(partner)), kGuardMethods,
                     partner);
    expect_preflight(preflight(http, "/go/x"), kGuardMethods);
    // It is denied after the preflight has been answered.
    expect_preflight(preflight(http, "/denied/x"), kGuardMethods);
    for (const auto& [path, origin, other] :
         {std::tuple(theirs, partner, kApp), std::tuple("/go/x", kApp, partner),
          std::tuple("/denied/x", kApp, partner)}) {
        INFO(path);
        const auto sent = http.get(path, from(origin));
        CHECK(sent.status == 200);
        expect_readable(sent, origin);
        expect_unreadable(http.get(path, from(other)));
        expect_unreadable(preflight(http, path, from(other)));
    }
}

TEST_CASE("cors: off in the location that a redirect leads to")
{
    auto options = with_cors();
    options.server += R"(location /go/ { petstore_guard on;
            error_page 418 = @private; return 418; }
        location @private { petstore_guard on; petstore_cors off; empty_gif; })";
    Store store(options);
    const auto sent = store.http.get("/go/x", from(kApp));
    CHECK(sent.status == 200);
    expect_without_cors(sent);
    const auto asked = preflight(store.http, "/go/x");
    CHECK(asked.status == 401);
    expect_without_cors(asked);
}

TEST_CASE("cors: the page of what limit_req refuses")
{
    auto options = with_cors();
    options.http = "limit_req_zone $http_x_slow zone=slow:1m rate=1r/m;";
    options.server += R"(location /slow/ { petstore_guard on; empty_gif;
            limit_req zone=slow; limit_req_status 429;
            error_page 429 = /slow.html; }
        location = /slow.html { petstore_guard on;
            petstore_cors https://partner.example.com; empty_gif; })";
    Store store(options);
    expect_preflight(preflight(store.http, "/slow/x"), kGuardMethods);
    for (int i = 0; i < 2; ++i) {
        const auto sent =
            store.http.get("/slow/x", from(kApp, {{"X-Slow", "1"}}));
        CHECK(sent.status == 200);
        expect_readable(sent);
    }
    CHECK(contains(store.nginx.error_log(), "limiting requests"));
}

TEST_CASE("cors: a back end's own CORS headers are replaced")
{
    GuardedStore shop(with_cors(), "", own_cors);
    auto& http = shop.http;
    const auto allowed = http.get("/shop/", from(kApp));
    CHECK(allowed.status == 200);
    CHECK(allowed.header("x-own") == "1");
    expect_readable(allowed);
    CHECK_FALSE(
        contains(allowed.header("access-control-expose-headers"), "X-Own"));
    for (const auto& headers : {from(kOther), Headers{}}) {
        const auto other = http.get("/shop/", headers);
        CHECK(other.status == 200);
        CHECK(other.header("x-own") == "1");
        expect_unreadable(other);
    }
    // The back end still receives the Origin.
    CHECK(http.get("/shop/", from(kOther)).status == 200);
    CHECK(shop.back_end.last().header("origin") == kOther);

    // Without petstore_cors the back end's headers pass unchanged.
    GuardedStore plain({}, "", own_cors);
    const auto passed = plain.http.get("/shop/", from(kApp));
    CHECK(passed.header("access-control-allow-origin") == kOther);
    CHECK(passed.header("vary") == "Accept-Encoding");
    const auto options = preflight(plain.http, "/shop/");
    expect_error(options, 401, "missing_api_key");
    CHECK(cors_headers(options).empty());
}

TEST_CASE("cors: Vary names the origin once and loses nothing")
{
    const struct {
        Names sent;
        Names merged;
        std::string any;  // with "*"
    } rows[] = {
        {{}, {"Origin"}, ""},
        {{"Accept-Encoding"}, {"Accept-Encoding, Origin"}, ""},
        {{"origin"}, {"origin"}, ""},
        {{"ORIGIN , Accept"}, {"ORIGIN , Accept"}, ""},
        {{"Accept,Origin"}, {"Accept,Origin"}, ""},
        {{"X-Origin, Original"}, {"X-Origin, Original, Origin"}, ""},
        {{"*"}, {"*"}, ""},
        {{"Accept", "*"}, {"Accept", "*"}, ""},
        {{"Accept", "Origin"}, {"Accept", "Origin"}, ""},
        {{"Origin", "Accept"}, {"Origin", "Accept"}, ""},
        {{"Accept", "Cookie"}, {"Accept", "Cookie, Origin"}, ""},
        {{",, ,"}, {",, ,, Origin"}, ""},
    };
    for (const auto& row : rows) {
        GuardedStore shop(
            with_cors(),
            "location /shop/any/ { petstore_cors *;proxy_pass http://%BACK_END%; }",
            [&](const BackEnd::Request&) {
                Response response{200, "1.1", {}, "x"};
                for (const auto& value : row.sent) {
                    response.headers.emplace_back("Vary", value);
                }
                return response;
            });
        for (const auto& origin : {kApp, kOther}) {
            const auto response = shop.http.get("/shop/", from(origin));
            CHECK(response.all("vary") == row.merged);
        }
        const auto any = shop.http.get("/shop/any/", from(kApp));
        CHECK(any.all("vary") == row.sent);
        CHECK(any.header("access-control-allow-origin") == "*");
    }

    auto options = with_cors();
    options.server +=
        "gzip on; gzip_types application/json; gzip_vary on;gzip_min_length 1;";
    Store store(options);
    import_pets(store.redis, 9);
    const auto page =
        store.http.get("/v1/pets", from(kApp, {{"Accept-Encoding", "gzip"}}));
    CHECK(page.header("content-encoding") == "gzip");
    // nginx adds the first line itself; caches may use only the last one.
    CHECK(page.all("vary")
          == Names{"Accept-Encoding", "Accept-Encoding, Origin"});
    expect_readable(page);
}

TEST_CASE("cors: a cache in front keeps compressed responses apart")
{
    NginxOptions options;
    options.file = one_worker(
        "proxy_cache_path cache keys_zone=cache:1m;petstore_redis %REDIS%; %TIMEOUTS%",
        kOrigins + R"(
        gzip on;
        gzip_types application/json;
        gzip_vary on;
        gzip_min_length 1;
        gzip_http_version 1.0;
        gzip_proxied any;
        location /v1/ {
            petstore;
            expires 1h;
        }
        location /cached/ {
            proxy_cache cache;
            proxy_pass http://%ADDRESS%:%PORT%/v1/;
        })");
    options.workers = 3;  // with the cache's manager and loader
    const Store store(options);
    Http http(store.nginx.url());
    const auto zipped = http.get("/cached/openapi.json",
                                 from(kApp, {{"Accept-Encoding", "gzip"}}));
    CHECK(zipped.header("content-encoding") == "gzip");
    const auto plain = http.get("/cached/openapi.json", from(kApp));
    CHECK(plain.status == 200);
    CHECK_FALSE(plain.has("content-encoding"));
}

TEST_CASE("cors: a cached response of a back end serves every origin")
{
    const BackEnd back_end(own_cors);
    NginxOptions options;
    options.file = one_worker(
        "proxy_cache_path cache keys_zone=cache:1m;petstore_redis %REDIS%; %TIMEOUTS%",
        "petstore_guard on; proxy_cache cache;add_header X-Cache $upstream_cache_status;"
            + kOrigins + "location / { proxy_pass http://" + back_end.address()
            + "; }");
    options.workers = 3;  // with the cache's manager and loader
    const Store store(options);
    auto http = store.client();
    CHECK(http.get("/x", from(kOther)).header("x-cache") == "MISS");
    for (const auto& origin : {kApp, kLocal, kApp}) {
        const auto response = http.get("/x", from(origin));
        CHECK(response.header("x-cache") == "HIT");
        expect_readable(response, origin);
        CHECK(response.header("vary") == "Accept-Encoding, Origin");
    }
    expect_unreadable(http.get("/x", from(kOther)));
    expect_unreadable(http.get("/x"));
    CHECK(back_end.count() == 1);
}

TEST_CASE("cors: scripts can read all headers that the module sends")
{
    // CORS-safelisted headers, nginx's own, and those meant for browsers only.
    const std::set<std::string> known = {
        "cache-control", "content-type",      "content-length", "server",
        "date",          "connection",        "expires",        "vary",
        "keep-alive",    "transfer-encoding", "last-modified",
    };
    std::set<std::string> seen;
    for (const char* form : {"standard", "windows", "ietf"}) {
        auto options = with_cors();
        options.http += "petstore_plan small minute=3 day=100 month=1000;";
        options.server += std::string("petstore_limit_headers ") + form + ";";
        GuardedStore shop(options);
        import_pets(shop.store.redis, 3);
        const auto small = create_key(shop.store.redis, {"--plan", "small"});
        const Headers once = from(kApp, {{"Idempotency-Key", "a"},
                                         {"Content-Type", "application/json"}});
        std::vector<Response> responses;
        auto& http = shop.http;
        responses.push_back(http.get("/v1/pets?limit=1", from(kApp)));
        responses.push_back(http.get("/v1/pets/1", from(kApp)));
        responses.push_back(http.post("/v1/pets", kPet, once));
        responses.push_back(http.post("/v1/pets", kPet, once));
        responses.push_back(http.get("/v1/pets", from(kApp, kUnknownKey)));
        responses.push_back(http.send({"DELETE", "/v1/pets", from(kApp)}));
        responses.push_back(http.send({"OPTIONS", "/v1/pets", from(kApp)}));
        responses.push_back(http.get("/shop/", from(kApp)));
        responses.push_back(http.get("/v1/openapi.json", from(kApp)));
        http.use_key(small.secret);
        for (int i = 0; i < 4; ++i) {
            responses.push_back(http.get("/v1/pets", from(kApp)));
        }
        CHECK(responses.back().status == 429);
        for (const auto& response : responses) {
            const auto exposed =
                entries(response, "access-control-expose-headers");
            CHECK(std::set<std::string>(exposed.begin(), exposed.end()).size()
                  == exposed.size());
            for (const auto& [name, value] : response.headers) {
                if (known.count(name) == 0
                    && name.rfind("access-control-", 0) != 0) {
                    INFO(form << " " << name);
                    CHECK(std::count(exposed.begin(), exposed.end(), name)
                          == 1);
                    seen.insert(name);
                }
            }
        }
    }
    for (const char* name :
         {"etag", "link", "location", "retry-after", "deprecation", "sunset",
          "idempotent-replayed", "allow", "www-authenticate",
          "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset",
          "x-ratelimit-limit-minute", "x-ratelimit-reset-day",
          "x-ratelimit-remaining-month", "ratelimit", "ratelimit-policy"}) {
        INFO(name);
        CHECK(seen.count(name) == 1);
    }
}

TEST_CASE("cors: levels of the configuration")
{
    NginxOptions options;
    options.http = "petstore_cors " + kApp + ";";
    options.server = R"(
        location /own/v1/ { petstore /own/v1; petstore_cors http://[::1]:9
            capacitor://localhost; }
        location /any/v1/ { petstore /any/v1; petstore_cors *; }
        location /off/v1/ { petstore /off/v1; petstore_cors off; }
        location /status { petstore_status; }
        location /plain/ { return 200 "plain"; }
        location /limited/v1/ { petstore /limited/v1;
            limit_except GET { allow all; }
            if ($arg_fail) { return 502; } })";
    Store store(options);
    auto& http = store.http;
    expect_readable(http.get("/v1/pets", from(kApp)));
    for (const char* origin : {"http://[::1]:9", "capacitor://localhost"}) {
        expect_readable(http.get("/own/v1/pets", from(origin)), origin);
    }
    expect_unreadable(http.get("/own/v1/pets", from(kApp)));
    for (const auto& headers : {from(kApp), from("null"), Headers{}}) {
        expect_readable(http.get("/any/v1/pets", headers), "*");
    }
    expect_preflight(preflight(http, "/any/v1/pets", from("null")),
                     kListMethods, "*");
    expect_without_cors(http.get("/off/v1/pets", from(kApp)));
    CHECK_FALSE(
        contains(http.get("/off/v1/openapi.json").body, "Access-Control-"));
    expect_without_cors(preflight(http, "/off/v1/pets"));
    expect_error(preflight(http, "/off/v1/none"), 404, "not_found");
    expect_without_cors(http.get("/status", from(kApp)));
    expect_without_cors(http.get("/plain/", from(kApp)));
    CHECK_FALSE(preflight(http, "/plain/").has("access-control-allow-origin"));
    // Without petstore_json_errors, only in the service's locations.
    expect_without_cors(http.get("/nowhere", from(kApp)));
    expect_readable(http.get("/limited/v1/pets?fail=1", from(kApp)));
    expect_readable(http.post("/limited/v1/pets", kPet, from(kApp)));
    expect_preflight(preflight(http, "/limited/v1/pets"), kListMethods);
}

TEST_CASE("cors: files, ranges, redirects inside nginx, SSI and WebSockets")
{
    auto options = with_cors();
    options.server += R"(
        petstore_guard on;
        location /status { petstore_status; }
        location /files/ { root %DIR%; }
        location /ssi/ { root %DIR%; ssi on; }
        location /internal/ { internal; petstore_guard off;
                              alias %DIR%/files/; }
        location /guarded/ { internal; petstore_cors off;
                             alias %DIR%/files/; }
        location /theirs/ { internal; petstore_cors https://evil.example;
                            alias %DIR%/files/; })";
    GuardedStore shop(
        options,
        "proxy_http_version 1.1;proxy_set_header Upgrade $http_upgrade;proxy_set_header Connection upgrade;",
        [](const BackEnd::Request& request) {
            const auto name = request.target.substr(sizeof("/shop/") - 1);
            if (!name.empty()) {
                return Response{200,
                                "1.1",
                                {{"X-Accel-Redirect", "/" + name + "/a.txt"},
                                 {"Vary", "Accept"},
                                 {"Access-Control-Allow-Origin", kOther}},
                                ""};
            }
            return Response{
                101,
                "1.1",
                {{"Upgrade", "websocket"}, {"Connection", "Upgrade"}},
                ""};
        });
    auto& store = shop.store;
    auto& http = store.http;
    for (const char* folder : {"files", "ssi"}) {
        mkdir(store.nginx.path(folder).c_str(), 0777);
    }
    write_file(store.nginx.path("files/a.txt"), "0123456789");
    write_file(
        store.nginx.path("ssi/page.html"),
        "<!--#include virtual=\"/v1/pets\" -->,<!--#include virtual=\"/files/a.txt\" -->");

    const auto file = http.get("/files/a.txt", from(kApp));
    CHECK(file.body == "0123456789");
    expect_readable(file);
    const auto part =
        http.get("/files/a.txt", from(kApp, {{"Range", "bytes=2-4"}}));
    CHECK(part.status == 206);
    expect_readable(part);
    const auto beyond =
        http.get("/files/a.txt", from(kApp, {{"Range", "bytes=20-"}}));
    expect_error(beyond, 416, "bad_request");
    expect_readable(beyond);
    const auto unchanged = http.get(
        "/files/a.txt", from(kApp, {{"If-None-Match", file.header("etag")}}));
    CHECK(unchanged.status == 304);
    expect_readable(unchanged);
    const auto failed =
        http.get("/files/a.txt", from(kApp, {{"If-Match", "\"x\""}}));
    expect_error(failed, 412, "bad_request");
    expect_readable(failed);
    expect_readable(http.send({"HEAD", "/files/a.txt", from(kApp)}));

    // The location of the preflight decides, wherever nginx goes on.
    for (const std::string name : {"internal", "guarded", "theirs"}) {
        INFO(name);
        const auto sent = http.get("/shop/" + name, from(kApp));
        CHECK(sent.body == "0123456789");
        expect_readable(sent);
        expect_unreadable(http.get("/shop/" + name, from(kOther)));
    }
    const auto page = http.get("/ssi/page.html", from(kApp));
    CHECK(page.body == "[],0123456789");
    expect_readable(page);
    expect_without_cors(http.get("/status", from(kApp)));

    RawClient client(store.nginx.port());
    client.send(store.head("GET /shop/ HTTP/1.1",
                           "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                           "Origin: "
                               + kApp + "\r\n"));
    const auto upgraded = client.read();
    CHECK(upgraded.status == 101);
    expect_readable(upgraded);
    client.send("one");
    CHECK(client.take(3) == "one");
}

TEST_CASE("cors: HTTP/2")
{
    auto options = with_cors();
    options.tls = true;
    GuardedStore shop(options, "", own_cors);
    Http http(shop.store.nginx.tls_url(), shop.store.key.secret);
    http.use_http2();
    const auto response = preflight(http, "/v1/pets");
    CHECK(response.version == "2");
    expect_preflight(response, kListMethods);
    expect_preflight(preflight(http, "/shop/"), kGuardMethods);
    expect_unreadable(preflight(http, "/shop/", from(kOther)));
    expect_readable(http.get("/v1/pets", from(kApp)));
    expect_readable(http.get("/v1/pets", from(kApp, kNoKey)));
    const auto proxied = http.get("/shop/", from(kApp));
    expect_readable(proxied);
    CHECK(proxied.header("vary") == "Accept-Encoding, Origin");
}

TEST_CASE("cors: the connection stays usable after a preflight")
{
    GuardedStore shop(with_cors());
    auto& store = shop.store;
    const std::string head = "Host: a\r\nOrigin: " + kApp
                             + "\r\nAccess-Control-Request-Method: GET\r\n";
    const std::string smuggled = store.head("GET /shop/smuggled HTTP/1.1");
    for (const char* path : {"/v1/pets", "/shop/x"}) {
        RawClient client(store.nginx.port());
        client.send(std::string("OPTIONS ") + path + " HTTP/1.1\r\n" + head
                    + "\r\nOPTIONS " + path + " HTTP/1.1\r\n" + head
                    + "Content-Length: " + std::to_string(smuggled.size())
                    + "\r\n\r\n" + smuggled
                    + store.head("GET /v1/pets HTTP/1.1"));
        CHECK(client.read(true).status == 204);
        CHECK(client.read(true).status == 204);
        CHECK(client.read().status == 200);
        client.send(std::string("OPTIONS ") + path + " HTTP/1.0\r\n" + head
                    + "\r\n");
        CHECK(client.read(true).status == 204);
        CHECK(client.closes());
    }
    CHECK(shop.back_end.count() == 0);
}

TEST_CASE("cors: an operator may allow and expose more")
{
    auto options = with_cors();
    options.server +=
        "add_header Access-Control-Expose-Headers X-Own always;add_header Access-Control-Allow-Headers X-Own;";
    GuardedStore shop(options);
    const auto response = shop.http.get("/shop/", from(kApp));
    auto exposed = entries(response, "access-control-expose-headers");
    CHECK(exposed.front() == "link");
    CHECK(exposed.back() == "x-own");
    const auto allowed =
        entries(preflight(shop.http, "/shop/"), "access-control-allow-headers");
    CHECK(
        allowed
        == Names{"authorization", "content-type", "idempotency-key", "x-own"});
}

TEST_CASE("cors: preflights are counted as options")
{
    auto options = with_cors();
    options.server += "location = /status { petstore_status; }";
    GuardedStore shop(options);
    preflight(shop.http, "/v1/pets");
    preflight(shop.http, "/v1/none");
    preflight(shop.http, "/shop/");
    preflight(shop.http, "/shop/", from(kOther));
    Http http(shop.store.nginx.url());
    const auto counted = [&](const std::string& operation, int status,
                             int count) {
        const auto line = "petstore_requests_total{operation=\"" + operation
                          + "\",status=\"" + std::to_string(status) + "\"} "
                          + std::to_string(count) + "\n";
        return wait_until(
            [&] { return contains(http.get("/status").body, line); });
    };
    CHECK(counted("options", 204, 3));
    CHECK(counted("guard", 401, 1));
    CHECK(contains(http.get("/status").body,
                   "petstore_request_duration_seconds_count 4\n"));
}

TEST_CASE("cors: wrong origins are errors of nginx -t")
{
    const auto said = [](const std::string& arguments) {
        NginxOptions options;
        options.redis = "redis://127.0.0.1:6379";
        options.location = "petstore_cors " + arguments + ";";
        const auto output = NginxServer::check(options);
        return std::pair(output.code == 0, output.err);
    };
    const std::pair<const char*, const char*> wrong[] = {
        {"https://app.example.com/",
         "invalid origin \"https://app.example.com/\" in \"petstore_cors\" directive: browsers send no path and no trailing slash, so it would never match"},
        {"https://user:hunter2@a.example", "***@a.example"},
        {"* https://a.example",
         "\"*\" in \"petstore_cors\" directive cannot be combined"},
        {"https://a.example *",
         "\"*\" in \"petstore_cors\" directive cannot be combined"},
        {"off https://a.example",
         "\"off\" in \"petstore_cors\" directive cannot be combined"},
        {"https://a.example http://b https://a.example",
         "duplicate origin \"https://a.example\" in \"petstore_cors\""},
        {"", "invalid number of arguments in \"petstore_cors\" directive"},
        {"*; petstore_cors *", "\"petstore_cors\" directive is duplicate"},
        {"off; petstore_cors *", "\"petstore_cors\" directive is duplicate"},
    };
    for (const auto& [arguments, message] : wrong) {
        INFO(arguments);
        const auto [accepted, text] = said(arguments);
        INFO(text);
        CHECK_FALSE(accepted);
        CHECK(contains(text, message));
        CHECK(contains(text, "nginx.conf:"));
        CHECK_FALSE(contains(text, "hunter2"));
    }
    for (const char* right :
         {"*", "off", "https://a.example http://a.example https://b.example"}) {
        INFO(right);
        const auto [accepted, text] = said(right);
        INFO(text);
        CHECK(accepted);
        CHECK_FALSE(contains(text, "[warn]"));
    }

    const auto warned = [](const std::string& server) {
        NginxOptions options;
        options.redis = "redis://127.0.0.1:6379";
        options.server = server;
        const auto output = NginxServer::check(options);
        CHECK(output.code == 0);
        return contains(output.err, "\"petstore_cors\" has no effect");
    };
    CHECK(warned("location /a/ { petstore_cors *; }"));
    CHECK(warned("location /a/ { petstore_cors *; location /a/b { } }"));
    CHECK_FALSE(warned("petstore_cors *;"));
    CHECK_FALSE(warned(
        "location /a/ { petstore_cors *;location /a/b { petstore_guard on; } }"));
}

TEST_CASE("cors: out of memory")
{
    BackEnd back_end(own_cors);
    auto options = with_cors();
    options.server +=
        "location /shop/ { petstore_guard on;proxy_pass http://%BACK_END%; }";
    StarvedServer target(with_back_end(options, back_end));
    const Headers asks = from(kApp, {{"Access-Control-Request-Method", "POST"},
                                     {"Authorization", ""}});
    // Browsers would reject a response without its CORS headers.
    const auto readable = [](int status) {
        return [=](const Response& response) -> std::string {
            return response.status == status
                           && response.header("access-control-allow-origin")
                                  == kApp
                           && varies(response) == 1
                       ? ""
                       : "not readable: " + std::to_string(response.status);
        };
    };
    const auto send = [&](Http::Request request) {
        return [&target, request] { return target.send(request); };
    };
    fail_each_allocation(
        target,
        {{"a preflight", send({"OPTIONS", "/v1/pets", asks}), readable(204)},
         {"a preflight of a guard", send({"OPTIONS", "/shop/", asks}),
          readable(204)},
         {"a list", send({"GET", "/v1/pets", from(kApp)}), readable(200)},
         {"no key", send({"GET", "/v1/pets", from(kApp, kNoKey)}),
          readable(401)},
         {"a back end's response", send({"GET", "/shop/", from(kApp)}),
          readable(200)},
         {"an error elsewhere", send({"GET", "/none", from(kApp)}),
          [](const Response& response) {
              return response.status == 404 ? "" : "not 404";
          }}});
}
