// docs/redis-keys.md, "Records of accounts": what workers do with them.
#include <algorithm>

#include "support/back_end.h"
#include "support/guarded_store.h"
#include "support/limits.h"

using namespace petstore::e2e;

namespace {

using Words = std::vector<std::string>;

std::string record_of(const std::string& account)
{
    return "petstore:account:" + account;
}

// Gives the account a new epoch, as petstorectl does after each change.
void announce(const RedisServer& redis, const Key& key)
{
    set_number(redis, key, Number::epoch, redis_millis(redis) * 1000);
}

// Changes the account's record.
void change(const RedisServer& redis, const Key& key, Words fields)
{
    fields.insert(fields.begin(), {"HSET", record_of(key.account)});
    redis.command(fields);
    announce(redis, key);
}

// Another key of the account.
Key second_key(const RedisServer& redis, const Key& first)
{
    Key key = create_key(redis, {"--plan", "pro"});
    const auto name =
        "petstore:key:" + redis.command({"HGET", "petstore:keys", key.id}).text;
    redis.command({"HSET", name, "account", first.account});
    redis.command({"HDEL", name, "plan"});
    key.account = first.account;
    return key;
}

// A key with neither plan nor numbers of its own.
Key plain_key(const RedisServer& redis)
{
    const Key key = create_key(redis, {"--plan", "pro"});
    redis.command({"HDEL",
                   "petstore:key:"
                       + redis.command({"HGET", "petstore:keys", key.id}).text,
                   "plan", "per_minute", "per_day"});
    redis.command(
        {"HDEL", record_of(key.account), "plan", "per_minute", "per_day"});
    return key;
}

bool limit_is(const Response& response, const std::string& limit)
{
    return response.status == 200
           && response.header("x-ratelimit-limit") == limit;
}

// Whether an error line says so, once the log allows the next one.
bool logged(const NginxServer& nginx, std::size_t from, const std::string& text,
            const std::function<void()>& meet)
{
    return wait_until([&] {
        meet();
        return contains(nginx.error_log().substr(from), text);
    });
}

}  // namespace

TEST_CASE("accounts: keys of one account share one budget")
{
    const Hosts hosts(2);
    const auto one = plain_key(hosts.redis);
    const auto two = second_key(hosts.redis, one);
    change(hosts.redis, one, {"per_minute", "10"});

    int passed = 0;
    int limited = 0;
    auto workers = one_per_worker(hosts);
    for (int i = 0; i < 6; ++i) {
        for (Http& worker : workers) {
            for (const auto* key : {&one, &two}) {
                worker.use_key(key->secret);
                const auto status = worker.get("/v1/pets").status;
                passed += status == 200;
                limited += status == 429;
            }
        }
    }
    CHECK(passed == 10);
    CHECK(limited == 6 * 2 * static_cast<int>(workers.size()) - 10);
    CHECK(used(hosts.redis, one, "minute") == 10);
}

TEST_CASE("accounts: a change takes effect on all keys and workers within a "
          "second")
{
    const Hosts hosts(2);
    const auto one = plain_key(hosts.redis);
    const auto two = second_key(hosts.redis, one);
    auto workers = one_per_worker(hosts);
    const auto all_have = [&](const std::string& limit) {
        for (const auto* key : {&one, &two}) {
            CHECK(within_a_second(workers, key->secret,
                                  [&](const Response& response) {
                                      return limit_is(response, limit);
                                  }));
        }
    };
    all_have("60");  // free
    change(hosts.redis, one, {"plan", "business"});
    all_have("1000");
    change(hosts.redis, one, {"per_minute", "70"});
    all_have("70");

    // A key's own numbers and plan come first.
    const auto name =
        "petstore:key:"
        + hosts.redis.command({"HGET", "petstore:keys", two.id}).text;
    hosts.redis.command({"HSET", name, "plan", "pro"});
    announce(hosts.redis, two);
    CHECK(within_a_second(workers, two.secret, [](const Response& response) {
        return limit_is(response, "300");
    }));
    CHECK(within_a_second(workers, one.secret, [](const Response& response) {
        return limit_is(response, "70");
    }));
}

TEST_CASE("accounts: disabling one refuses all of its keys")
{
    const Hosts hosts(2);
    const auto one = create_key(hosts.redis);
    const auto two = second_key(hosts.redis, one);
    const auto other = create_key(hosts.redis);
    auto workers = one_per_worker(hosts);
    for (const auto* key : {&one, &two, &other}) {
        CHECK(within_a_second(workers, key->secret, 200));
    }
    change(hosts.redis, one, {"disabled", "1"});
    CHECK(within_a_second(workers, one.secret, 401, "invalid_api_key"));
    CHECK(within_a_second(workers, two.secret, 401, "invalid_api_key"));
    CHECK(within_a_second(workers, other.secret, 200));
    change(hosts.redis, one, {"disabled", "0"});
    CHECK(within_a_second(workers, one.secret, 200));
    CHECK(within_a_second(workers, two.secret, 200));
    // As after `account delete`.
    change(hosts.redis, one, {"deleted", "1800000000"});
    CHECK(within_a_second(workers, one.secret, 401, "invalid_api_key"));
    CHECK(within_a_second(workers, two.secret, 401, "invalid_api_key"));
}

TEST_CASE("accounts: variables name the plan in force and the external id")
{
    const BackEnd back_end;
    NginxOptions options;
    options.server = R"(
        location /app/ {
            petstore_guard on;
            proxy_set_header X-Seen-Plan "<$petstore_plan>";
            proxy_set_header X-Seen-External "<$petstore_external_id>";
            proxy_pass http://%BACK_END%;
        })";
    Store store(with_back_end(options, back_end));
    const auto key = plain_key(store.redis);
    Http http(store.nginx.url(), key.secret);
    const auto seen = [&](const std::string& plan, const std::string& id) {
        CHECK(http.get("/app/").status == 200);
        CHECK(back_end.last().header("x-seen-plan") == "<" + plan + ">");
        CHECK(back_end.last().header("x-seen-external") == "<" + id + ">");
    };
    seen("free", "");
    change(store.redis, key,
           {"plan", "business", "external_id",
            "cust_42~" + std::string(100, 'x')});
    seen("business", "cust_42~" + std::string(100, 'x'));
    store.redis.command({"HDEL", record_of(key.account), "external_id"});
    announce(store.redis, key);
    seen("business", "");
}

TEST_CASE("accounts: a damaged record fails its keys and injects nothing")
{
    const BackEnd back_end;
    NginxOptions options;
    options.server = R"(
        location /app/ {
            petstore_guard on;
            proxy_set_header X-Plan $petstore_plan;
            proxy_set_header X-External-Id $petstore_external_id;
            proxy_pass http://%BACK_END%;
        })";
    Store store(with_back_end(options, back_end));
    const std::string injected = "x\r\nX-Injected: 1\r\n\r\n"
                                 "GET /injected HTTP/1.1\r\n[emerg] forged";
    Http http(store.nginx.url());
    for (const auto& fields : std::vector<Words>{{"id", injected},
                                                 {"id", "another"},
                                                 {"external_id", injected},
                                                 {"external_id", ""},
                                                 {"plan", injected},
                                                 {"per_minute", "0"},
                                                 {"per_day", "1e3"},
                                                 {"per_month", "-1"},
                                                 {"disabled", "yes"},
                                                 {"created", "yesterday"},
                                                 {"implicit", "0"},
                                                 {"deleted", "never"},
                                                 {"epoch", injected}}) {
        INFO(fields[0]);
        const auto key = create_key(store.redis);
        http.use_key(key.secret);
        CHECK(http.get("/v1/pets").status == 200);
        const auto from = store.nginx.error_log().size();
        change(store.redis, key, fields);
        for (const char* const path : {"/app/a", "/v1/pets"}) {
            expect_error(http.get(path), 500, "internal_error");
        }
        CHECK(logged(store.nginx, from,
                     "the Redis key " + record_of(key.account) + " is damaged",
                     [&] { http.get("/v1/pets"); }));
    }
    for (const Words& command :
         {Words{"DEL", record_of(store.key.account)},
          Words{"SET", record_of(store.key.account), "x"}}) {
        store.redis.command(command);
    }
    announce(store.redis, store.key);
    expect_error(store.http.get("/v1/pets"), 500, "internal_error");
    CHECK(back_end.count() == 0);
    CHECK_FALSE(contains(store.nginx.error_log(), "forged"));
    CHECK_FALSE(contains(store.nginx.access_log(), "forged"));
    CHECK(store.redis.command({"KEYS", "*Injected*"}).items.empty());

    // A label is never damage.
    const auto key = create_key(store.redis);
    change(store.redis, key, {"label", injected});
    http.use_key(key.secret);
    CHECK(http.get("/v1/pets").status == 200);
}

TEST_CASE("accounts: a key without its account's record is of an earlier "
          "version")
{
    Store store;
    CHECK(store.http.get("/v1/pets").status == 200);
    store.redis.command({"DEL", record_of(store.key.account)});
    announce(store.redis, store.key);
    const auto from = store.nginx.error_log().size();
    const auto start = Clock::now();
    CHECK(logged(store.nginx, from, "run \"petstorectl upgrade\"", [&] {
        expect_error(store.http.get("/v1/pets"), 503, "service_unavailable");
    }));
    for (int i = 0; i < 20; ++i) {
        CHECK(store.http.get("/v1/pets").status == 503);
    }
    // At most one line per second.
    const auto most = (Clock::now() - start) / 1s + 2;
    CHECK(count_of(store.nginx.error_log().substr(from), "petstorectl upgrade")
          <= static_cast<std::size_t>(most));
    CHECK(used(store.redis, store.key, "minute") == 1);
}

TEST_CASE("accounts: keys of one account share the read of its record")
{
    Store store;
    std::vector<Key> keys = {store.key};
    for (int i = 0; i < 9; ++i) {
        keys.push_back(second_key(store.redis, store.key));
    }
    std::vector<RawClient> clients;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        clients.emplace_back(store.nginx.port());
    }
    const auto ask_all = [&] {
        for (std::size_t i = 0; i < keys.size(); ++i) {
            clients[i].send("GET /v1/pets HTTP/1.1\r\nHost: h\r\n"
                            "Authorization: Bearer "
                            + keys[i].secret + "\r\n\r\n");
        }
        for (auto& client : clients) {
            CHECK(client.read().status == 200);
        }
    };
    ask_all();
    // Each worker reads each record once after a change.
    change(store.redis, store.key, {"plan", "business"});
    Monitor monitor(store.redis);
    const auto reads = [&] {
        const auto names = monitor.names();
        return std::count(names.begin(), names.end(), "HGETALL");
    };
    ask_all();
    const auto once = reads();
    CHECK(once > 10);   // each key
    CHECK(once <= 20);  // and its account, unless several share the read
    ask_all();
    CHECK(reads() == 0);
}
