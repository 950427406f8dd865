// Each allocation of a request fails in turn: the worker survives, the client
// gets a response or is disconnected, and nothing is left behind. See
// fail_each_allocation().
#include "support/out_of_memory.h"
#include "support/limits.h"

using namespace petstore::e2e;

namespace {

const char* const kPet = R"({"name":"Rex","categoryId":7})";

std::function<Response()> request(StarvedServer& target, Http::Request request)
{
    return [&target, request] { return target.send(request); };
}

std::function<Response()> get(StarvedServer& target, const std::string& path)
{
    return request(target, {"GET", path});
}

std::function<Response()> post(StarvedServer& target, const std::string& path,
                               const std::string& body)
{
    return request(
        target, {"POST", path, {{"Content-Type", "application/json"}}, body});
}

Headers with_key(const std::string& secret)
{
    return {{"Authorization", "Bearer " + secret}};
}

std::string imported_pet(long long id)
{
    static const char* const statuses[] = {"available", "pending", "sold"};
    return pet_json(id, "pet " + std::to_string(id), std::to_string(id * 10),
                    statuses[(id - 1) % 3]);
}

std::string imported_pets(long long first, int count, int step = 1)
{
    std::string body = "[";
    for (int i = 0; i < count; ++i) {
        body += (i == 0 ? "" : ",") + imported_pet(first + i * step);
    }
    return body + "]";
}

// Invalidates the workers' caches, as a change of a pet does.
std::function<void()> changed(StarvedServer& target)
{
    return [&] {
        target.redis.command({"INCR", "petstore:{petstore:pets}:changes"});
    };
}

long long last_id(const StarvedServer& target)
{
    const auto id =
        target.redis.command({"GET", "petstore:{petstore:pets}:count"});
    return std::atoll(id.text.c_str());
}

// Checks that the response is the pet created last.
Check is_newest(const StarvedServer& target)
{
    return [&](const Response& response) {
        return is_body(201, pet_json(last_id(target), "Rex", "7", "available"))(
            response);
    };
}

// The links of every `step`-th page.
std::vector<std::string> links(StarvedServer& target, std::string path,
                               int step)
{
    NginxOptions options;
    options.redis = target.redis.url();
    NginxServer other(options);
    Http http(other.url(), target.key.secret);
    std::vector<std::string> paths;
    for (int i = 1; !path.empty(); ++i) {
        if (i % step == 0) {
            paths.push_back(path);
        }
        path = next_of(http.get(path));
    }
    return paths;
}

}  // namespace

TEST_CASE("out of memory: pages")
{
    StarvedServer target;
    import_pets(target.redis, 1000);
    const auto right = is_body(200, imported_pets(1, 20));
    fail_each_allocation(
        target,
        {{"from memory", get(target, "/v1/pets"), right},
         {"by whole buckets", get(target, "/v1/pets"), right, changed(target)},
         {"a wrong parameter", get(target, "/v1/pets?limit=0"),
          is_error(400, "invalid_parameter")},
         {"filtered, from memory", get(target, "/v1/pets?status=sold"),
          is_body(200, imported_pets(3, 20, 3))},
         {"filtered, by whole buckets",
          get(target, "/v1/pets?status=sold&limit=60"),
          is_body(200, imported_pets(3, 60, 3)), changed(target)}});
}

TEST_CASE("out of memory: the first request of a worker")
{
    StarvedServer target;
    import_pets(target.redis, 200);
    FaultCase filtered{"a page", get(target, "/v1/pets?status=sold"),
                       is_body(200, imported_pets(3, 20, 3)),
                       [&] { target.nginx.reload_and_settle(); }};
    filtered.max_rounds = 20;
    fail_each_allocation(target, {filtered});
}

// Each round reads a page that has not been read before.
TEST_CASE("out of memory: pages read ahead")
{
    StarvedServer target;
    import_pets(target.redis, 40'000);
    std::size_t next = 0;
    std::string path;
    const auto send = [&] { return target.send({"GET", path}); };
    const auto plain = links(target, "/v1/pets?limit=100", 3);
    const auto filtered = links(target, "/v1/pets?status=sold&limit=90", 2);
    REQUIRE(plain.size() > 100);
    fail_each_allocation(
        target, {{"plain", send,
                  [&](const Response& response) {
                      const auto page = (next - 1) % plain.size();
                      return is_body(200, imported_pets(page * 300 + 201, 100))(
                          response);
                  },
                  [&] { path = plain[next++ % plain.size()]; }},
                 {"filtered", send,
                  [&](const Response& response) {
                      const auto page = (next - 1) % filtered.size();
                      return is_body(200, imported_pets(page * 540 + 273, 90,
                                                        3))(response);
                  },
                  [&] { path = filtered[next++ % filtered.size()]; }}});
}

TEST_CASE("out of memory: one pet")
{
    StarvedServer target;
    import_pets(target.redis, 30'000);
    long long id = 0;
    fail_each_allocation(
        target,
        {{"read ahead",
          [&] {
              return target.send({"GET", "/v1/pets/" + std::to_string(id)});
          },
          [&](const Response& response) {
              return is_body(200, imported_pet(id))(response);
          },
          [&] { id = (id + 128) % 30'000 + 1; }},
         {"from memory", get(target, "/v1/pets/1"),
          is_body(200, imported_pet(1))},
         {"by a whole bucket", get(target, "/v1/pets/1"),
          is_body(200, imported_pet(1)), changed(target)},
         {"missing", get(target, "/v1/pets/30001"),
          is_error(404, "pet_not_found")},
         {"no id", get(target, "/v1/pets/1x"),
          is_error(404, "pet_not_found")}});
}

TEST_CASE("out of memory: answers without a read")
{
    NginxOptions options;
    options.servers = R"(server {
        listen %ADDRESS%:%TLS_PORT%;
        location /v1/ { petstore; petstore_anonymous_limit 1 enforce; }
    })";
    StarvedServer target(options);
    const Http::Request no_key{"GET", "/v1/pets", {{"Authorization", ""}}};
    fail_each_allocation(
        target,
        {{"no such path", get(target, "/v1/store/orders"),
          is_error(404, "not_found")},
         {"no such method", request(target, {"PUT", "/v1/pets"}),
          is_error(405, "method_not_allowed")},
         {"OPTIONS", request(target, {"OPTIONS", "/v1/pets"}),
          is_body(204, "")},
         {"no key", request(target, no_key), is_error(401, "missing_api_key")},
         {"over the address's limit",
          [&] {
              Http http(http_url(target.nginx.tls_port()));
              http.tolerate_failures();
              return http.send(no_key);
          },
          is_error(429, "rate_limit_exceeded")},
         {"outside the API", get(target, "/elsewhere"),
          is_error(404, "not_found")},
         {"an error of nginx",
          request(target,
                  {"POST", "/v1/pets", {{"Transfer-Encoding", "none"}}, kPet}),
          is_error(501, "not_implemented")}});
}

TEST_CASE("out of memory: keys")
{
    StarvedServer target;
    import_pets(target.redis, 1);
    const auto page = is_body(200, imported_pets(1, 1));
    const auto invalid = is_error(401, "invalid_api_key");
    int number = 0;
    std::string secret;
    const auto send = [&] {
        return target.send({"GET", "/v1/pets", with_key(secret)});
    };
    fail_each_allocation(
        target,
        {{"of no key's form", send, invalid,
          [&] { secret = "petstore_" + std::to_string(++number); }},
         {"unknown", send, invalid,
          [&] { secret = "unknown-" + std::to_string(++number); }},
         {"known to be unknown", send, invalid},
         {"new", send, page, [&] { secret = create_key(target.redis).secret; }},
         {"changed", get(target, "/v1/pets"), page, [&] {
              const auto epoch =
                  number_of(target.redis, target.key, Number::epoch);
              set_number(target.redis, target.key, Number::epoch, epoch + 1);
          }}});
}

TEST_CASE("out of memory: refusals")
{
    NginxOptions options;
    options.location = "petstore_ban threshold=3 window=60s;";
    options.servers = R"(server {
        listen %ADDRESS%:%TLS_PORT%;
        location /v1/ { petstore; petstore_limit_dry_run on; }
    })";
    StarvedServer target(options);
    import_pets(target.redis, 1);
    Key key;
    const auto send = [&] {
        return target.send({"GET", "/v1/pets", with_key(key.secret)});
    };
    // Uses up the key's limit and sends `more` further requests.
    const auto used_up = [&](int more) {
        return [&, more] {
            key = limited_key(target.redis, 1);
            for (int i = 0; i < 1 + more; ++i) {
                send();
            }
        };
    };
    const auto limited = is_error(429, "rate_limit_exceeded");
    const auto banned = is_error(429, "api_key_banned");
    // Strikes lost for lack of memory delay the ban.
    const Check refused = [&](const Response& response) {
        return banned(response).empty() ? "" : limited(response);
    };
    fail_each_allocation(
        target, {{"by Redis", send, limited, used_up(0)},
                 {"from memory", send, refused, used_up(1)},
                 {"the ban", send, refused, used_up(3)},
                 {"banned", send, banned},
                 {"dry run",
                  [&] {
                      Http http(http_url(target.nginx.tls_port()), key.secret);
                      http.tolerate_failures();
                      return http.get("/v1/pets");
                  },
                  is_body(200, imported_pets(1, 1))}});
}

// A timer sends the strikes of denied requests.
TEST_CASE("out of memory: reports of refusals")
{
    StarvedServer target;
    Key key;
    Response last;
    bool reported = true;
    const auto denied = [&] {
        return target.send({"GET", "/v1/pets", with_key(key.secret)});
    };
    fail_each_allocation(
        target,
        {{"strikes",
          [&] {
              if (reported) {
                  return denied();
              }
              wait_until([&] { return used(target.redis, key, "strikes") > 0; },
                         700ms);
              reported = true;
              return last;
          },
          is_error(429, "rate_limit_exceeded"),
          [&] {
              key = limited_key(target.redis, 1);
              denied();
              last = denied();
              reported = false;
          }}});
}

TEST_CASE("out of memory: creating")
{
    StarvedServer target;
    long long last = 0;
    int number = 0;
    const auto with_number = [&] {
        return target.send({"POST",
                            "/v1/pets",
                            {{"Content-Type", "application/json"},
                             {"Idempotency-Key", std::to_string(number)}},
                            kPet});
    };
    // The same request twice creates one pet.
    const Check once = [&](const Response& response) {
        return last_id(target) > last + 1
                   ? "created twice\n"
                   : is_body(201, pet_json(last + 1, "Rex", "7", "available"))(
                       response);
    };
    fail_each_allocation(
        target,
        {{"a pet", post(target, "/v1/pets", kPet), is_newest(target)},
         {"once", with_number, once,
          [&] {
              last = last_id(target);
              ++number;
          }},
         {"again", with_number, once, [&] { last = last_id(target) - 1; }},
         {"without its script", post(target, "/v1/pets", kPet),
          is_newest(target), [&] {
              target.redis.command({"SCRIPT", "FLUSH"});
          }}});
}

TEST_CASE("out of memory: bodies")
{
    NginxOptions options;
    options.server = R"(
        location /mirrored/v1/ {
            petstore /mirrored/v1;
            mirror /nowhere;
            client_body_in_file_only clean;
        })";
    StarvedServer target(options);
    // The body arrives in pieces, after the server has asked for it.
    const auto in_pieces = [&] {
        RawClient client(target.nginx.port());
        try {
            client.send("POST /v1/pets HTTP/1.1\r\nHost: a\r\n"
                        "Connection: close\r\nExpect: 100-continue\r\n"
                        "Transfer-Encoding: chunked\r\n"
                        "Authorization: Bearer "
                        + target.key.secret + "\r\n\r\n");
            auto response = client.read();
            if (response.status == 100) {
                client.send("8\r\n{\"name\":\r\n");
                client.send("15\r\n\"Rex\",\"categoryId\":7}\r\n");
                client.send("0\r\n\r\n");
                response = client.read();
            }
            return response;
        } catch (const HarnessError& error) {
            if (contains(error.what(), "no response in time")) {
                throw;
            }
            return Response{};
        }
    };
    const auto large = "{\"more\":\"" + repeat("x", 5000) + "\","
                       + std::string(kPet).substr(1);
    FaultCase from_file{"from a file", post(target, "/mirrored/v1/pets", large),
                        is_newest(target)};
    from_file.nginx_fails = true;
    fail_each_allocation(
        target,
        {from_file,
         {"in pieces", in_pieces, is_newest(target)},
         {"that are none", post(target, "/v1/pets", "{"),
          is_error(400, "invalid_json")},
         {"that are too large", post(target, "/v1/pets", repeat(" ", 20'000)),
          is_error(413, "payload_too_large")}});
}

TEST_CASE("out of memory: subrequests")
{
    NginxOptions options;
    options.server = R"(
        location = /page.html { ssi on; root %DIR%; }
        location /checked/v1/ { auth_request /v1/pets; petstore /checked/v1; }
        location = /failed { error_page 404 = /v1/pets; return 404; })";
    StarvedServer target(options);
    import_pets(target.redis, 3);
    write_file(
        target.nginx.path("page.html"),
        "<!--#include virtual=\"/v1/pets/1\" -->|<!--#include virtual=\"/v1/pets/2\" -->|<!--#include virtual=\"/v1/pets/3\" -->");
    std::string secret = target.key.secret;
    const auto page = [&] {
        return target.send({"GET", "/page.html", with_key(secret)});
    };
    const auto right = is_body(200, imported_pet(1) + "|" + imported_pet(2)
                                        + "|" + imported_pet(3));
    // Checks each part separately: nginx has already sent the status of the
    // page.
    const Check in_part = [&](const Response& response) -> std::string {
        long long id = 0;
        for (const auto& part : split(response.body, '|')) {
            const bool is_right =
                part == imported_pet(++id)
                || contains(part, "an error occurred while processing")
                || contains(part, "\"status\":50")
                || contains(part, "500 Internal Server Error");
            if (!is_right) {
                return "a wrong part: " + part + "\n";
            }
        }
        return "";
    };
    const auto pets = is_body(200, imported_pets(1, 3));
    fail_each_allocation(
        target,
        {{"of one page", page, right, [] {}, in_part, true},
         {"of one page, with a new key", page, right,
          [&] { secret = create_key(target.redis).secret; }, in_part, true},
         {"auth_request", get(target, "/checked/v1/pets"), pets},
         {"error_page", get(target, "/failed"), pets}});
}

// nginx shares OpenSSL's error queue, and logs errors left in it.
TEST_CASE("out of memory: over TLS")
{
    NginxOptions options;
    options.tls = true;
    // With TLS 1.3, nginx 1.26 itself leaves errors in the queue.
    options.http = "ssl_protocols TLSv1.2;";
    StarvedServer target(options);
    import_pets(target.redis, 20);
    std::unique_ptr<Http> http;
    // Uses an established connection: the handshake is not under test.
    const auto connect = [&](bool http2) {
        return [&, http2] {
            http = std::make_unique<Http>(target.nginx.tls_url(),
                                          target.key.secret);
            if (http2) {
                http->use_http2();
            }
            http->tolerate_failures();
            http->request("OPTIONS", "/v1/pets");
        };
    };
    const auto get = [&] {
        const auto response = http->get("/v1/pets");
        http->close();
        return response;
    };
    const auto page = is_body(200, imported_pets(1, 20));
    fail_each_allocation(target,
                         {{"HTTP/1.1", get, page, connect(false)},
                          {"HTTP/2", get, page, connect(true), {}, true}});
}

TEST_CASE("out of memory: Redis's connection")
{
    StarvedServer target;
    import_pets(target.redis, 200);
    const auto page = is_body(200, imported_pets(1, 20));
    fail_each_allocation(
        target,
        {{"made for the request", get(target, "/v1/pets"), page,
          [&] {
              target.redis.command({"CLIENT", "KILL", "TYPE", "normal"});
          }},
         {"without scripts", get(target, "/v1/pets?status=sold"),
          is_body(200, imported_pets(3, 20, 3)), [&] {
              changed(target)();
              target.redis.command({"SCRIPT", "FLUSH"});
          }}});
}

TEST_CASE("out of memory: a Redis that fails")
{
    using Fault = StarvedServer::Fault;
    StarvedServer target(behind_proxy());
    import_pets(target.redis, 20);
    const auto page = is_body(200, imported_pets(1, 20));
    const auto unavailable = is_error(503, "service_unavailable");
    // On a slow machine, the connection is idle by then, and the worker
    // replaces it at no cost.
    const auto either = [=](const Response& response) {
        return page(response).empty() ? std::string() : unavailable(response);
    };
    const auto send = [&] {
        const auto response = target.send({"GET", "/v1/pets"});
        target.next_fault = Fault::none;  // in case it was not used
        return response;
    };
    fail_each_allocation(
        target, {{"closes", send, page,
                  [&] { target.next_fault = Fault::close; }, either},
                 {"talks rubbish", send, page,
                  [&] { target.next_fault = Fault::garbage; }, unavailable},
                 {"is loading", send, page,
                  [&] { target.next_fault = Fault::loading; }, unavailable},
                 {"is silent",
                  [&] {
                      const auto response = send();
                      target.proxy.release();
                      return response;
                  },
                  page, [&] { target.proxy.hold(); }, unavailable}});
}
