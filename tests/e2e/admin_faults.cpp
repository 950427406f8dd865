// docs/admin.md: repetitions, simultaneous requests, and a Redis that fails in
// the middle of a change.
#include <atomic>
#include <thread>

#include "chaos/cut_redis.h"
#include "support/admin_store.h"
#include "support/limits.h"
#include "support/raw_client.h"

using namespace petstore::e2e;
using nlohmann::json;

namespace {

// The secrets in these responses will not be in a log.
void remember(const Response& response)
{
    const auto object = response.json();
    if (object.is_object() && object.contains("key")) {
        remember_secret(object["key"]);
    }
}

// Sends the request with several clients at once.
std::vector<Response> at_once(const AdminStore& store, std::size_t clients,
                              const std::string& path, const std::string& body,
                              const Headers& headers)
{
    std::vector<Response> responses(clients);
    std::vector<std::thread> threads;
    for (auto& response : responses) {
        threads.emplace_back([&] {
            Http http(store.nginx.url(), store.admin_key.secret);
            response = AdminStore::send_to(http, "POST", path, body, headers);
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    for (const auto& response : responses) {
        remember(response);
    }
    return responses;
}

template <typename Wanted>
std::size_t count_of(const std::vector<Response>& responses, Wanted&& wanted)
{
    return static_cast<std::size_t>(
        std::count_if(responses.begin(), responses.end(), wanted));
}

std::vector<json> keys_with_label(const RedisServer& redis,
                                  const std::string& label)
{
    const auto output = ctl(redis.url(), {"key", "list", "--json"});
    REQUIRE(output.code == 0);
    std::vector<json> found;
    for (const auto& key : json::parse(output.out)) {
        if (key["label"] == label) {
            found.push_back(key);
        }
    }
    return found;
}

}  // namespace

TEST_CASE("admin faults: a repetition gets the first answer")
{
    AdminStore store;
    const Headers once = {{"Idempotency-Key", "order-1"}};
    json first = store.made("/keys", R"({"label":"L"})", once);
    CHECK(first.erase("key") == 1);
    const auto again = store.send("POST", "/keys", R"({"label":"L"})", once);
    CHECK(again.status == 201);
    CHECK(again.json() == first);
    CHECK(again.header("idempotent-replayed") == "true");
    CHECK(again.header("location")
          == "/admin/v1/keys/" + first["id"].get<std::string>());
    expect_error(store.send("POST", "/keys", R"({"label":"M"})", once), 422,
                 "idempotency_key_reused");
    expect_error(store.send("POST", "/accounts", R"({"label":"L"})", once), 422,
                 "idempotency_key_reused");
    // It ends after a day.
    const auto claims =
        store.redis.command({"KEYS", "petstore:admin-request:*"});
    REQUIRE(claims.items.size() == 1);
    const auto ttl = store.redis.command({"TTL", claims.items[0].text}).integer;
    CHECK(ttl > 86'000);
    CHECK(ttl <= 86'400);
    // Actions have no object.
    const std::string unban =
        "/accounts/" + first["account"].get<std::string>() + "/unban";
    const Headers other = {{"Idempotency-Key", "order-2"}};
    CHECK(store.send("POST", unban, "", other).status == 204);
    const auto replayed = store.send("POST", unban, "", other);
    CHECK(replayed.status == 204);
    CHECK(replayed.header("idempotent-replayed") == "true");
}

TEST_CASE("admin faults: of simultaneous repetitions one creates")
{
    NginxOptions options;
    options.workers = 2;
    AdminStore store(options);
    for (int round = 0; round < 5; ++round) {
        const std::string label = "round-" + std::to_string(round);
        const auto responses =
            at_once(store, 8, "/keys", "{\"label\":\"" + label + "\"}",
                    {{"Idempotency-Key", label}});
        CHECK(count_of(responses,
                       [](const Response& r) { return r.status == 201; })
              == 8);
        CHECK(
            count_of(responses,
                     [](const Response& r) { return r.json().contains("key"); })
            == 1);
        CHECK(keys_with_label(store.redis, label).size() == 1);
    }
}

TEST_CASE("admin faults: of simultaneous rotations one succeeds")
{
    NginxOptions options;
    options.workers = 2;
    AdminStore store(options);
    const json key = store.made("/keys", R"({"label":"L"})");
    const auto responses =
        at_once(store, 6, "/keys/" + key["id"].get<std::string>() + "/rotate",
                R"({"grace":"1h"})", {});
    CHECK(count_of(responses, [](const Response& r) { return r.status == 201; })
          == 1);
    CHECK(count_of(responses,
                   [](const Response& r) {
                       return r.status == 409
                              && r.json()["code"] == "already_rotated";
                   })
          == 5);
    CHECK(keys_with_label(store.redis, "L").size() == 2);
}

TEST_CASE("admin faults: Redis is lost at each command of a create")
{
    const RedisServer redis;
    CutRedis cut(redis);
    NginxOptions options;
    options.redis = cut.url();
    NginxServer nginx(with_admin(options));
    const auto key = create_key(redis, {"--scopes", "admin"});
    Http http(nginx.url(), key.secret);
    CHECK(http.get("/admin/v1/plans").status == 200);
    int unknown = 0;
    for (const auto how : {CutRedis::How::before, CutRedis::How::after}) {
        for (int number = 1;; ++number) {
            REQUIRE(number < 60);
            CAPTURE(number, how == CutRedis::How::after);
            const std::string label =
                "k" + std::to_string(number)
                + (how == CutRedis::How::after ? "a" : "b");
            const auto create = [&] {
                const auto response = AdminStore::send_to(
                    http, "POST", "/keys", "{\"label\":\"" + label + "\"}",
                    {{"Idempotency-Key", label}});
                remember(response);
                return response;
            };
            cut.cut_at(number, how);
            auto response = create();
            const bool was_cut = cut.was_cut();
            if (response.status != 201) {
                CHECK(was_cut);
                CHECK(response.status == 503);
                unknown += response.json()["code"] == "outcome_unknown" ? 1 : 0;
                CHECK(wait_until([&] {
                    response = create();
                    return response.status != 503;
                }));
            }
            CHECK(response.status == 201);
            const auto keys = keys_with_label(redis, label);
            REQUIRE(keys.size() == 1);
            CHECK(keys[0]["state"] == "usable");
            CHECK(keys[0]["id"] == response.json()["id"]);
            if (!was_cut) {
                break;
            }
        }
    }
    CHECK(unknown > 5);
}

TEST_CASE("admin faults: clients that leave do not stop a change")
{
    AdminStore store;
    const std::string body = R"({"label":"left"})";
    const std::string request =
        "POST /admin/v1/keys HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer "
        + store.admin_key.secret + "\r\nContent-Length: "
        + std::to_string(body.size()) + "\r\n\r\n" + body;
    // Some leave before the change has begun, some in the middle of it.
    constexpr int kClients = 80;
    for (int i = 0; i < kClients; ++i) {
        RawClient client(store.nginx.port());
        client.send(request);
        std::this_thread::sleep_for(i * 250us);
        if (i % 2 == 0) {
            client.reset();
        }
    }
    // A change is made wholly or not at all.
    CHECK(store.send("GET", "/keys").status == 200);
    CHECK(wait_until([&] {
        const auto keys = keys_with_label(store.redis, "left");
        return !keys.empty()
               && std::all_of(keys.begin(), keys.end(), [](const json& key) {
                      return key["state"] == "usable";
                  });
    }));
    store.nginx.quit();
}

TEST_CASE("admin faults: a change that a move overtakes changes nothing")
{
    AdminStore store;
    const struct {
        std::string target;
        std::string body;
    } changes[] = {
        {"PUT /admin/v1/plans/late", R"({"per_minute":5,"per_day":9})"},
        {"POST /admin/v1/accounts", R"({"label":"late"})"},
        {"POST /admin/v1/keys", R"({"label":"late"})"},
    };
    std::vector<RawClient> clients;
    for (const auto& [target, body] : changes) {
        auto& client = clients.emplace_back(store.nginx.port());
        client.send(target + " HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer "
                    + store.admin_key.secret
                    + "\r\nExpect: 100-continue\r\nContent-Length: "
                    + std::to_string(body.size()) + "\r\n\r\n");
        REQUIRE(client.read().status == 100);
    }
    RedisServer other;
    const auto moved = ctl(store.redis.url(), {"move", "--to", other.url()});
    INFO(moved.err);
    REQUIRE(moved.code == 0);
    const auto accounts = [&] {
        return store.redis.command({"KEYS", "petstore:account:*"}).items.size();
    };
    const auto before = accounts();
    for (std::size_t i = 0; i < clients.size(); ++i) {
        INFO(changes[i].target);
        clients[i].send(changes[i].body);
        expect_error(clients[i].read(), 503, "service_unavailable");
    }
    CHECK(accounts() == before);
    CHECK(store.redis.command({"EXISTS", "petstore:plans"}).integer == 0);
}

TEST_CASE("admin faults: a repetition that waits outlives a reload")
{
    AdminStore store;
    const Headers once = {{"Idempotency-Key", "order-1"}};
    store.made("/accounts", R"({"label":"L"})", once);
    // As if that attempt had not ended. A repetition waits a second for it.
    const auto name =
        store.redis.command({"KEYS", "petstore:admin-request:*"}).items.at(0);
    const auto claim = store.redis.command({"GET", name.text}).text;
    const auto request = claim.substr(0, claim.find(" done"));
    store.redis.command(
        {"SET", name.text, request + " pending attempt account-1:account-2"});

    const auto claims = [&] { return command_counts(store.redis)["set"]; };
    const auto before = claims();
    Response response;
    std::thread client([&] {
        Http http(store.nginx.url(), store.admin_key.secret);
        http.tolerate_failures();
        response = AdminStore::send_to(http, "POST", "/accounts",
                                       R"({"label":"L"})", once);
    });
    CHECK(wait_until([&] { return claims() > before; }));
    store.nginx.reload_and_settle();
    client.join();
    CHECK(response.status == 201);
    CHECK(response.json()["id"] == "account-1");
}

TEST_CASE("admin faults: Redis is away, stopped and back")
{
    AdminStore store;
    CHECK(store.send("GET", "/keys").status == 200);
    store.redis.pause();
    CHECK(store.send("GET", "/keys").status == 503);
    store.redis.resume();
    CHECK(wait_until([&] { return store.send("GET", "/keys").status == 200; }));
    store.redis.stop();
    CHECK(store.send("POST", "/keys", "{}").status == 503);
    store.redis.restart();
}

TEST_CASE("admin faults: two changes of one thing at once both end")
{
    AdminStore store;  // with one worker, so that they go on in step
    const auto twice = [&](const std::string& method, const std::string& path,
                           const std::string& body) {
        std::vector<Response> responses(2);
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < responses.size(); ++i) {
            threads.emplace_back([&, i] {
                Http http(store.nginx.url(), store.admin_key.secret);
                std::string own = body;
                if (!own.empty()) {
                    own.replace(own.find('?'), 1, std::to_string(i));
                }
                responses[i] = AdminStore::send_to(http, method, path, own);
            });
        }
        for (auto& thread : threads) {
            thread.join();
        }
        return responses;
    };
    for (int round = 0; round < 10; ++round) {
        CAPTURE(round);
        const json key = store.made("/keys", "{}");
        const std::string account =
            "/accounts/" + key["account"].get<std::string>();
        for (const auto& response :
             twice("PATCH", account,
                   "{\"external_id\":\"r" + std::to_string(round) + "-?\"}")) {
            CHECK(response.status == 200);
        }
        for (const auto& response :
             twice("DELETE", "/keys/" + key["id"].get<std::string>(), "")) {
            CHECK((response.status == 204 || response.status == 404));
        }
        expect_error(store.send("GET", "/keys/" + key["id"].get<std::string>()),
                     404, "not_found");
    }
}

TEST_CASE("admin faults: changes of one key race")
{
    NginxOptions options;
    options.workers = 2;
    AdminStore store(options);
    for (int round = 0; round < 10; ++round) {
        const json key = store.made("/keys", R"({"label":"race"})");
        const std::string path = "/keys/" + key["id"].get<std::string>();
        std::atomic<int> errors{0};
        std::vector<std::thread> threads;
        const auto race = [&](const std::string& method,
                              const std::string& where,
                              const std::string& body) {
            threads.emplace_back([&, method, where, body] {
                Http http(store.nginx.url(), store.admin_key.secret);
                const auto response =
                    AdminStore::send_to(http, method, where, body);
                remember(response);
                errors += response.status >= 500 ? 1 : 0;
            });
        };
        race("DELETE", path, "");
        race("PATCH", path, R"({"label":"raced"})");
        race("POST", path + "/rotate", "");
        race("PATCH", "/accounts/" + key["account"].get<std::string>(),
             R"({"plan":"pro"})");
        for (auto& thread : threads) {
            thread.join();
        }
        CHECK(errors == 0);
    }
    // Whatever is listed can be read.
    for (const json& key : walk(store.admin, "/admin/v1/keys")) {
        const auto found = store.get("/keys/" + key["id"].get<std::string>());
        CHECK(found["state"] != "unfinished");
    }
}
