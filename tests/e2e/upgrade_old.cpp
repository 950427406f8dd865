// petstorectl upgrade of a store that the last version of format 1 has filled,
// and what that version does to it afterwards.
#include "support/format_1.h"
#include "support/limits.h"
#include "support/two_redis.h"

#include <cstdlib>
#include <iostream>

using namespace petstore::e2e;

namespace {

using Arguments = std::vector<std::string>;
using Json = nlohmann::json;

// Where scripts/build-format-1 left that version.
const std::string kOld = std::string(E2E_MODULE_DIR) + "/format-1/build/";

// False, and then the test counts as skipped, without it.
bool has_old_version()
{
    // Its module is not sanitized.
    if (!sanitized() && !read_file(kOld + "petstorectl", 1).empty()) {
        return true;
    }
    std::cout << "format 1 is not built\n";
    return false;
}

// While it exists, NginxServer starts servers with the old module.
struct OldModule {
    OldModule()
    {
        setenv("PETSTORE_E2E_MODULE",
               (kOld + "ngx_http_petstore_module.so").c_str(), 1);
    }
    ~OldModule() { unsetenv("PETSTORE_E2E_MODULE"); }
    OldModule(const OldModule&) = delete;
    OldModule& operator=(const OldModule&) = delete;
};

Output old_ctl(const RedisServer& redis, Arguments arguments,
               const std::string& input = "")
{
    arguments.insert(arguments.begin(),
                     {kOld + "petstorectl", "--redis", redis.url()});
    return run(arguments, input);
}

struct OldKey {
    std::string secret;
    std::string id;
};

OldKey old_key(const RedisServer& redis, Arguments arguments = {})
{
    arguments.insert(arguments.begin(), {"key", "create", "--json"});
    const auto created = old_ctl(redis, arguments);
    INFO(created.err);
    REQUIRE(created.code == 0);
    const auto json = Json::parse(created.out);
    remember_secret(json.at("key"));
    return {json.at("key"), json.at("id")};
}

// All values in Redis, without those that expire in seconds.
std::map<std::string, std::string> values(const RedisServer& redis)
{
    std::map<std::string, std::string> all;
    auto client = redis.client();
    for (const auto& key : client.command({"KEYS", "*"}).items) {
        if (!contains(key.text, "probe")) {
            all[key.text] = client.command({"DUMP", key.text}).text;
        }
    }
    return all;
}

NginxOptions options_of(const RedisServer& redis)
{
    NginxOptions options;
    options.redis = redis.url();
    options.server = "location /guarded/ { petstore_guard on; }";
    return options;
}

}  // namespace

TEST_CASE("upgrade: a store of the last version of format 1")
{
    if (!has_old_version()) {
        return;
    }
    RedisServer redis;
    const auto key = old_key(redis, {"--plan", "pro", "--label", "Acme"});
    const auto idle = old_key(redis);
    const auto off = old_key(redis);
    const auto banned = old_key(
        redis, {"--plan", "enterprise", "--per-minute", "1", "--per-day", "1"});
    REQUIRE(old_ctl(redis, {"key", "disable", off.id}).code == 0);
    const std::string body = "{\"name\":\"a\",\"categoryId\":1}";
    const Headers once = {{"Idempotency-Key", "order-1"}};
    long long reset = 0;
    {
        const OldModule module;
        NginxServer nginx(options_of(redis));
        Http http(nginx.url(), key.secret);
        for (int i = 0; i < 130; ++i) {
            REQUIRE(http.post("/v1/pets", body).status == 201);
        }
        REQUIRE(http.post("/v1/pets", body, once).json().at("id") == 131);
        const auto last = rate_headers_of(http.get("/v1/pets/131"));
        REQUIRE(last.remaining == 300 - 132);
        reset = last.reset;
        Http other(nginx.url(), banned.secret);
        REQUIRE(wait_until([&] {
            return code_of(other.get("/v1/pets")) == "api_key_banned";
        }));
    }
    const auto pets = old_ctl(redis, {"pet", "export"}).out;
    const auto keys =
        Json::parse(old_ctl(redis, {"key", "list", "--json"}).out);

    const auto upgraded = ctl(redis.url(), {"upgrade"});
    INFO(upgraded.err);
    REQUIRE(upgraded.code == 0);

    CHECK(ctl(redis.url(), {"pet", "export"}).out == pets);
    const auto now =
        Json::parse(ctl(redis.url(), {"key", "list", "--json"}).out);
    REQUIRE(now.size() == keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
        for (const auto& [name, value] : keys[i].items()) {
            // Plans and numbers are the account's now, with the same effect.
            INFO(name);
            // What is absent is null since then.
            CHECK(now[i].at(name) == (value == "" ? Json(nullptr) : value));
        }
    }
    NginxServer nginx(options_of(redis));
    Http http(nginx.url(), key.secret);
    const auto replayed = http.post("/v1/pets", body, once);
    CHECK(replayed.json().at("id") == 131);
    CHECK(replayed.header("idempotent-replayed") == "true");
    const auto next = http.post("/v1/pets", body);
    CHECK(next.json().at("id") == 132);
    const auto rate = rate_headers_of(next);
    // The same window, unless it has ended.
    CHECK((rate.reset > reset
           || (rate.reset == reset && rate.remaining == 300 - 134)));
    CHECK(Http(nginx.url(), idle.secret).get("/v1/pets/1").status == 200);
    CHECK(Http(nginx.url(), off.secret).get("/v1/pets/1").status == 401);
    expect_error(Http(nginx.url(), banned.secret).get("/v1/pets"), 429,
                 "api_key_banned");
}

TEST_CASE("upgrade: afterwards, the old version fails and changes nothing")
{
    if (!has_old_version()) {
        return;
    }
    RedisServer redis;
    RedisServer another;
    const auto key = old_key(redis);
    const auto idle = old_key(redis);
    const std::string pet = "{\"name\":\"a\",\"categoryId\":1}\n";
    REQUIRE(old_ctl(redis, {"pet", "import", "-"}, pet).code == 0);
    const OldModule module;
    NginxServer forgotten(options_of(redis));
    Http http(forgotten.url(), key.secret);
    REQUIRE(http.get("/v1/pets/1").status == 200);

    // It serves during the upgrade, and caches keys and pets.
    const auto upgraded = ctl(redis.url(), {"upgrade"});
    INFO(upgraded.err);
    REQUIRE(upgraded.code == 0);
    const auto before = values(redis);

    for (const auto& secret : {key.secret, idle.secret}) {
        http.use_key(secret);
        for (const auto& response :
             {http.get("/v1/pets/1"), http.get("/v1/pets"),
              http.get("/guarded/x"), http.post("/v1/pets", pet)}) {
            CHECK((response.status == 500 || response.status == 503));
        }
    }
    CHECK(contains(forgotten.error_log(), "[error]"));
    for (const auto& command :
         {Arguments{"key", "list"},
          {"key", "create"},
          {"key", "set", key.id, "--plan", "pro"},
          {"key", "delete", key.id},
          {"key", "unban", key.id},
          {"key", "rotate", key.id},
          {"pet", "set-status", "1", "sold"},
          {"cache", "clear"},
          {"move", "--to", another.url()},
          {"--limit-redis", another.url(), "limits", "move"},
          {"--limit-redis", another.url(), "limits", "return"}}) {
        INFO(command.front() << ' ' << command.at(1));
        const auto result = old_ctl(redis, command);
        CHECK(result.code != 0);
        CHECK_FALSE(result.err.empty());
    }
    CHECK(old_ctl(redis, {"pet", "import", "-"}, pet).code != 0);
    CHECK(values(redis) == before);
    CHECK(values(another).empty());
}
