// petstore_identity_headers: what back ends behind fastcgi_pass, grpc_pass,
// uwsgi_pass and scgi_pass see.
#include <algorithm>

#include "support/guarded_store.h"

using namespace petstore::e2e;

namespace {

// What reached a back end. "-" and "_" in the names of headers are the same to
// many; here, too.
struct Reached {
    BackEnd::Request request;
    std::string bytes;  // of all of it

    Reached() = default;

    explicit Reached(const BackEnd::Request& whole)
        : request(whole), bytes(whole.target + "\n")
    {
        request.headers.clear();
        for (const auto& [name, value] : whole.headers) {
            add(name, value);
            bytes += name + ": " + value + "\n";
        }
        bytes += whole.body;
    }

    void add(const std::string& name, const std::string& value)
    {
        auto folded = to_lower(name);
        std::replace(folded.begin(), folded.end(), '_', '-');
        request.headers.emplace_back(folded, value);
    }
};

// A uwsgi or SCGI server that records requests.
class ParameterServer {
public:
    // Returns false if bytes are missing.
    using Parse = bool (*)(const std::string& bytes, Headers& parameters,
                           std::string& body);

    explicit ParameterServer(Parse parse)
        : parse_(parse),
          server_(listen_tcp(port_), [this](int fd) { serve(fd); })
    {}

    std::string address() const
    {
        return own_address() + ":" + std::to_string(port_);
    }

    std::vector<Reached> reached() const
    {
        const std::lock_guard lock(mutex_);
        return reached_;
    }

private:
    void serve(int fd)
    {
        Reached reached;
        while (!is_complete(reached)) {
            if (!receive_some(fd, reached.bytes)) {
                break;
            }
        }
        {
            const std::lock_guard lock(mutex_);
            reached_.push_back(reached);
        }
        send_all(fd, "Status: 200 OK\r\nContent-Type: text/plain\r\n"
                     "Content-Length: 8\r\n\r\nback end");
    }

    bool is_complete(Reached& reached) const
    {
        Headers parameters;
        auto& request = reached.request;
        if (!parse_(reached.bytes, parameters, request.body)) {
            return false;
        }
        request.headers.clear();
        std::size_t size = 0;
        for (const auto& [name, value] : parameters) {
            if (name == "CONTENT_LENGTH" && !value.empty()) {
                size = std::stoul(value);
            } else if (name == "REQUEST_URI") {
                request.target = value;
            } else if (name.rfind("HTTP_", 0) == 0) {
                reached.add(name.substr(5), value);
            }
        }
        return request.body.size() >= size;
    }

    const Parse parse_;
    const int port_ = free_port();
    mutable std::mutex mutex_;
    std::vector<Reached> reached_;  // under the mutex
    ThreadedServer server_;
};

std::size_t little_endian(const std::string& bytes, std::size_t at)
{
    return static_cast<unsigned char>(bytes.at(at))
           | std::size_t{static_cast<unsigned char>(bytes.at(at + 1))} << 8;
}

// https://uwsgi-docs.readthedocs.io/en/latest/Protocol.html
bool parse_uwsgi(const std::string& bytes, Headers& parameters,
                 std::string& body)
{
    std::size_t at = 4;
    if (bytes.size() < at || bytes.size() < at + little_endian(bytes, 1)) {
        return false;
    }
    const std::size_t end = at + little_endian(bytes, 1);
    const auto take = [&] {
        const auto size = little_endian(bytes, at);
        const auto text = bytes.substr(at + 2, size);
        at += 2 + size;
        return text;
    };
    while (at < end) {
        const auto name = take();
        parameters.emplace_back(name, take());
    }
    body = bytes.substr(end);
    return true;
}

// https://python.ca/scgi/protocol.txt
bool parse_scgi(const std::string& bytes, Headers& parameters,
                std::string& body)
{
    const auto colon = bytes.find(':');
    if (colon == std::string::npos) {
        return false;
    }
    const auto begin = colon + 1;
    const auto size = std::stoul(bytes);
    if (bytes.size() < begin + size + 1) {  // with the comma
        return false;
    }
    const auto words = split(bytes.substr(begin, size), '\0');
    for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
        parameters.emplace_back(words[i], words[i + 1]);
    }
    body = bytes.substr(begin + size + 1);
    return true;
}

const Words kKinds = {"fastcgi", "grpc", "uwsgi", "scgi"};

// A back end of each kind, and an nginx that guards and passes on /fastcgi/,
// /grpc/, /uwsgi/ and /scgi/. `locations` is repeated, with the kind of the
// back end for %KIND%, and for %PASS% the directives that pass a request on;
// with %RETRY% another server fails first. A server block of the same nginx
// takes the gRPC calls and passes them on to a back end that records them.
struct BackEnds {
    explicit BackEnds(const std::string& server = "",
                      const std::string& locations =
                          "location /%KIND%/ { petstore_guard on; %PASS% }")
        : store(options(server, locations))
    {}

    std::vector<Reached> reached(const std::string& kind) const
    {
        if (kind == "uwsgi" || kind == "scgi") {
            return (kind == "uwsgi" ? uwsgi : scgi).reached();
        }
        const auto requests =
            (kind == "grpc" ? behind_grpc : fastcgi).requests();
        std::vector<Reached> all;
        for (const auto& request : requests) {
            all.emplace_back(request);
        }
        return all;
    }

    std::size_t count(const std::string& kind) const
    {
        return reached(kind).size();
    }

    Reached last(const std::string& kind) const
    {
        const auto all = reached(kind);
        REQUIRE_FALSE(all.empty());
        return all.back();
    }

    // A client with HTTP/1.1 and one with HTTP/2.
    std::vector<Http> clients(const std::string& secret = "") const
    {
        std::vector<Http> clients;
        clients.emplace_back(store.nginx.url(), secret);
        clients.emplace_back(store.nginx.tls_url(), secret);
        clients.back().use_http2();
        return clients;
    }

    BackEnd fastcgi{{}, BackEnd::Protocol::fastcgi};
    BackEnd behind_grpc;
    ParameterServer uwsgi{parse_uwsgi};
    ParameterServer scgi{parse_scgi};
    const std::string grpc_address = free_address();
    const Store store;

private:
    static std::string free_address()
    {
        return own_address() + ":" + std::to_string(free_port());
    }

    std::string address(const std::string& kind) const
    {
        if (kind == "grpc") {
            return grpc_address;
        }
        return kind == "fastcgi" ? fastcgi.address()
                                 : (kind == "uwsgi" ? uwsgi : scgi).address();
    }

    static std::string pass(const std::string& kind, const std::string& to)
    {
        if (kind == "grpc") {
            return "grpc_pass grpc://" + to + ";";
        }
        const auto parameter = kind + "_param ";
        return parameter
               + "REQUEST_URI $request_uri;"
               // nginx sends it to SCGI servers in any case.
               + (kind == "uwsgi"
                      ? parameter + "CONTENT_LENGTH $content_length;"
                      : "")
               + kind + "_pass " + to + ";";
    }

    NginxOptions options(const std::string& server,
                         const std::string& locations) const
    {
        NginxOptions options;
        options.tls = true;
        options.http = "underscores_in_headers on;";
        options.server = server;
        for (const auto& kind : kKinds) {
            const auto retry = "retry_" + kind;
            options.http += "upstream " + retry + " { server " + free_address()
                            + "; server " + address(kind) + " backup; }";
            auto text = locations;
            replace_all(text, "%PASS%", pass(kind, address(kind)));
            replace_all(text, "%RETRY%", pass(kind, retry));
            replace_all(text, "%KIND%", kind);
            options.server += text;
        }
        options.servers = "server { listen " + grpc_address
                          + " http2; location / {"
                            "proxy_set_header X-Protocol $server_protocol;"
                            "proxy_pass http://%BACK_END%; } }";
        return with_back_end(options, behind_grpc);
    }
};

// A customer's key: its account has an external id.
Key customer(const RedisServer& redis)
{
    const auto made = ctl(redis.url(), {"account", "create", "--external-id",
                                        "cust_42", "--plan", "pro"});
    REQUIRE(made.code == 0);
    return create_key(redis, {"--external-id", "cust_42"});
}

// What a client may invent, in all spellings.
const Headers kInvented = {
    {"X-Account", "invented"},     {"x-account", "invented"},
    {"X_Account", "invented"},     {"x-plan", "invented"},
    {"X_Plan", "invented"},        {"X-KEY_ID", "invented"},
    {"X-Key-Id", "invented"},      {"X_EXTERNAL-ID", "invented"},
    {"X-External-Id", "invented"}, {"X-Other", "kept"}};

Headers with_invented(const Headers& headers)
{
    auto all = kInvented;
    all.insert(all.end(), headers.begin(), headers.end());
    return all;
}

Words names_of(const Reached& reached)
{
    Words names;
    for (const auto& header : reached.request.headers) {
        names.push_back(header.first);
    }
    std::sort(names.begin(), names.end());
    return names;
}

// The sorted names of a GET's headers: these and the usual ones.
Words names_with(const std::string& kind, Words names)
{
    names.insert(names.end(), {"accept", "host", "x-other"});
    if (kind == "grpc") {  // by the server that takes the calls
        names.insert(names.end(), {"connection", "x-protocol"});
    }
    std::sort(names.begin(), names.end());
    return names;
}

const Words kIdentity = {"x-account", "x-external-id", "x-key-id", "x-plan"};

// Every header of the identity occurs once and is true.
void expect_identity(const Reached& reached, const Key& key)
{
    const auto& request = reached.request;
    CHECK(request.header("x-account") == key.account);
    CHECK(request.header("x-external-id") == "cust_42");
    CHECK(request.header("x-plan") == "pro");
    CHECK(request.header("x-key-id") == key.id);
    CHECK(request.header("x-other") == "kept");
    CHECK_FALSE(contains(reached.bytes, "invented"));
    CHECK_FALSE(contains(reached.bytes, key.secret));
}

}  // namespace

TEST_CASE("identity: back ends of other protocols learn who was admitted")
{
    const BackEnds shop;
    const auto key = customer(shop.store.redis);
    for (const auto& kind : kKinds) {
        INFO(kind);
        const auto path = "/" + kind + "/";
        for (auto& http : shop.clients(key.secret)) {
            const auto response = http.get(path + "a", kInvented);
            INFO("HTTP/" << response.version);
            CHECK(response.status == 200);
            CHECK(response.body == "back end");
            rate_headers_of(response);
            const auto got = shop.last(kind);
            CHECK(got.request.target == path + "a");
            expect_identity(got, key);
            CHECK(names_of(got) == names_with(kind, kIdentity));

            const std::string body(100'000, 'x');
            CHECK(http.post(path + "b", body,
                            with_invented({{"Content-Type", "application/grpc"},
                                           {"TE", "trailers"}}))
                      .status
                  == 200);
            const auto posted = shop.last(kind);
            CHECK(posted.request.target == path + "b");
            CHECK((posted.request.body == body));
            expect_identity(posted, key);
        }
        CHECK(shop.count(kind) == 4);
    }
    CHECK(shop.last("grpc").request.header("x-protocol") == "HTTP/2.0");
    CHECK(used(shop.store.redis, key, "minute") == 16);

    // An account without an external id has none.
    for (const auto& kind : kKinds) {
        INFO(kind);
        for (auto& http : shop.clients(shop.store.key.secret)) {
            CHECK(http.get("/" + kind + "/", kInvented).status == 200);
            CHECK(names_of(shop.last(kind))
                  == names_with(kind, {"x-account", "x-key-id", "x-plan"}));
            CHECK(shop.last(kind).request.header("x-account")
                  == shop.store.key.account);
        }
    }
}

TEST_CASE("identity: back ends of other protocols see no key of any header")
{
    const BackEnds shop("petstore_key_header X-API-Key;");
    const auto key = customer(shop.store.redis);
    const std::string token = "Bearer eyJhbGciOiJub25lIn0.e30.";
    auto with_token = kIdentity;
    with_token.emplace_back("authorization");
    for (const auto& kind : kKinds) {
        INFO(kind);
        for (auto& http : shop.clients()) {
            const auto get = [&](const Headers& headers) {
                const auto response =
                    http.get("/" + kind + "/", with_invented(headers));
                INFO("HTTP/" << response.version);
                CHECK(response.status == 200);
                expect_identity(shop.last(kind), key);
                return shop.last(kind);
            };
            const auto plain = names_with(kind, kIdentity);
            CHECK(names_of(get({{"X-API-Key", key.secret}})) == plain);
            CHECK(names_of(get(
                      {{"X_API_Key", key.secret}, {"x-api-key", key.secret}}))
                  == plain);
            const auto got =
                get({{"X-API-Key", key.secret}, {"Authorization", token}});
            CHECK(names_of(got) == names_with(kind, with_token));
            CHECK(got.request.header("authorization") == token);
            // Bearer is possible as well.
            CHECK(names_of(get({{"Authorization", "Bearer " + key.secret}}))
                  == plain);
        }
        CHECK(shop.count(kind) == 8);
    }
}

TEST_CASE("identity: no refused request reaches back ends of other protocols")
{
    const BackEnds shop("petstore_key_header X-API-Key;");
    const auto& redis = shop.store.redis;
    const auto reader = create_key(redis, {"--scopes", "reports"});
    for (const auto& kind : kKinds) {
        INFO(kind);
        const auto path = "/" + kind + "/";
        std::size_t admitted = 0;
        for (auto& http : shop.clients()) {
            const auto limited = limited_key(redis, 1);
            const auto refused = [&](const Headers& headers, int status,
                                     const std::string& code) {
                const auto response = http.get(path, with_invented(headers));
                INFO("HTTP/" << response.version);
                expect_error(response, status, code);
                CHECK(shop.count(kind) == admitted);
            };
            refused({}, 401, "missing_api_key");
            refused(kUnknownKey, 401, "invalid_api_key");
            refused({{"X-API-Key", "unknown"}}, 401, "invalid_api_key");
            refused({{"X-API-Key", reader.secret}}, 403, "insufficient_scope");
            refused({{"Authorization", "Bearer " + reader.secret}}, 403,
                    "insufficient_scope");
            http.use_key(limited.secret);
            CHECK(http.get(path + "admitted").status == 200);
            CHECK(shop.count(kind) == ++admitted);
            refused({}, 429, "rate_limit_exceeded");
            // Whatever came late would be the last.
            http.use_key(shop.store.key.secret);
            CHECK(http.get(path + "last").status == 200);
            CHECK(shop.count(kind) == ++admitted);
            CHECK(shop.last(kind).request.target == path + "last");
        }
    }
}

TEST_CASE("identity: pages of refusals by other protocols see no identity")
{
    const BackEnds shop("petstore_key_header X-API-Key;", R"(
        location /%KIND%/ {
            petstore_guard on;
            error_page 400 401 403 429 = @%KIND%;
            %PASS%
        }
        location @%KIND% { %PASS% })");
    const auto& redis = shop.store.redis;
    const auto reader = create_key(redis, {"--scopes", "reports"});
    for (const auto& kind : kKinds) {
        INFO(kind);
        for (auto& http : shop.clients()) {
            const auto limited = limited_key(redis, 1);
            const auto page = [&](const Headers& headers) {
                const auto before = shop.count(kind);
                const auto response =
                    http.get("/" + kind + "/", with_invented(headers));
                INFO("HTTP/" << response.version);
                CHECK(response.body == "back end");
                REQUIRE(shop.count(kind) == before + 1);
                const auto got = shop.last(kind);
                CHECK(names_of(got) == names_with(kind, {}));
                CHECK_FALSE(contains(got.bytes, "invented"));
                for (const auto& secret : {reader.secret, limited.secret}) {
                    CHECK_FALSE(contains(got.bytes, secret));
                }
            };
            page({});
            page(kUnknownKey);
            page({{"Authorization", "Basic cGV0OnN0b3Jl"}});
            page({{"Authorization", "Bearer " + reader.secret}});
            page({{"X-API-Key", reader.secret}});
            page({{"X-API-Key", limited.secret}, {"X-Api-Key", "other"}});
            http.use_key(limited.secret);
            CHECK(http.get("/" + kind + "/").status == 200);
            page({});
            page({{"X-API-Key", limited.secret}, {"Authorization", ""}});
        }
    }
}

TEST_CASE("identity: off passes everything on by other protocols")
{
    const BackEnds shop(
        "petstore_identity_headers off; petstore_key_header X-API-Key;");
    const auto key = customer(shop.store.redis);
    const std::string bearer = "Bearer " + key.secret;
    for (const auto& kind : kKinds) {
        INFO(kind);
        for (auto& http : shop.clients()) {
            const auto get = [&](Headers headers) {
                headers.insert(headers.end(), {{"X-Account", "invented"},
                                               {"X_Plan", "invented"},
                                               {"X-Other", "kept"}});
                const auto response = http.get("/" + kind + "/", headers);
                INFO("HTTP/" << response.version);
                CHECK(response.status == 200);
                const auto got = shop.last(kind);
                CHECK(got.request.header("x-account") == "invented");
                CHECK(got.request.header("x-plan") == "invented");
                CHECK_FALSE(contains(got.bytes, key.account));
                return got;
            };
            auto got = get({{"Authorization", bearer}});
            CHECK(got.request.header("authorization") == bearer);
            CHECK(
                names_of(got)
                == names_with(kind, {"authorization", "x-account", "x-plan"}));
            got = get({{"X-API-Key", key.secret}});
            CHECK(got.request.header("x-api-key") == key.secret);
            CHECK(names_of(got)
                  == names_with(kind, {"x-account", "x-api-key", "x-plan"}));
            const auto before = shop.count(kind);
            expect_error(http.get("/" + kind + "/"), 401, "missing_api_key");
            CHECK(shop.count(kind) == before);
        }
    }
}

TEST_CASE("identity: other protocols after try_files, mirror and a retry")
{
    const BackEnds shop("", R"(
        location @%KIND% { %PASS% }
        location = /copy/%KIND% { internal; %PASS% }
        location /tried/%KIND% {
            petstore_guard on;
            try_files /none @%KIND%;
        }
        location /mirrored/%KIND% {
            petstore_guard on;
            mirror /copy/%KIND%;
            empty_gif;
        }
        location /retried/%KIND% { petstore_guard on; %RETRY% })");
    const auto key = customer(shop.store.redis);
    for (const auto& kind : kKinds) {
        INFO(kind);
        for (auto& http : shop.clients(key.secret)) {
            for (const std::string path :
                 {"/tried/", "/mirrored/", "/retried/"}) {
                INFO(path);
                const auto before = shop.count(kind);
                const auto response = http.get(path + kind, kInvented);
                INFO("HTTP/" << response.version);
                CHECK(response.status == 200);
                REQUIRE(wait_until([&] { return shop.count(kind) > before; }));
                expect_identity(shop.last(kind), key);
                CHECK(names_of(shop.last(kind)) == names_with(kind, kIdentity));
            }
        }
        CHECK(shop.count(kind) == 6);
    }
}

TEST_CASE("identity: headers and parameters of other protocols replace it")
{
    const BackEnds shop("", R"(
        location /set/%KIND% {
            petstore_guard on;
            fastcgi_param HTTP_X_PLAN "<$http_x_plan>";
            grpc_set_header X-Plan "<$http_x_plan>";
            uwsgi_param HTTP_X_PLAN "<$http_x_plan>";
            scgi_param HTTP_X_PLAN "<$http_x_plan>";
            fastcgi_param HTTP_X_ACCOUNT "" if_not_empty;
            grpc_set_header X-Account "";
            uwsgi_param HTTP_X_ACCOUNT "" if_not_empty;
            scgi_param HTTP_X_ACCOUNT "" if_not_empty;
            %PASS%
        }
        location /none/%KIND% {
            petstore_guard on;
            fastcgi_pass_request_headers off;
            uwsgi_pass_request_headers off;
            scgi_pass_request_headers off;
            %PASS%
        })");
    const auto key = customer(shop.store.redis);
    for (const auto& kind : kKinds) {
        INFO(kind);
        for (auto& http : shop.clients(key.secret)) {
            CHECK(http.get("/set/" + kind, kInvented).status == 200);
            auto got = shop.last(kind);
            CHECK(got.request.header("x-plan") == "<pro>");
            CHECK_FALSE(got.request.has("x-account"));
            CHECK(got.request.header("x-key-id") == key.id);
            CHECK_FALSE(contains(got.bytes, "invented"));
            CHECK_FALSE(contains(got.bytes, key.secret));

            CHECK(http.get("/none/" + kind, kInvented).status == 200);
            got = shop.last(kind);
            if (kind == "grpc") {  // has no such directive
                expect_identity(got, key);
            } else {
                CHECK(got.request.headers.empty());
            }
        }
    }
}
