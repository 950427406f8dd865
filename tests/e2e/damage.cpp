// docs/operations.md, "Damaged data": data in Redis that this service cannot
// have written. Clients must not mistake damage for a smaller store.
#include <functional>
#include <map>

#include "support/guarded_store.h"
#include "support/limits.h"
#include "support/stopped_worker.h"

using namespace petstore::e2e;

namespace {

const std::string kPets = "petstore:{petstore:pets}:";
const char* const kPet = "{\"name\":\"Rex\",\"categoryId\":7}";
constexpr int kCount = 300;

using Saved = std::map<std::string, std::string>;

Saved save(const RedisServer& redis, const std::string& pattern)
{
    Saved saved;
    for (const auto& name : redis.command({"KEYS", pattern}).items) {
        saved[name.text] = redis.command({"DUMP", name.text}).text;
    }
    return saved;
}

void restore(const RedisServer& redis, const std::string& pattern,
             const Saved& saved)
{
    for (const auto& name : redis.command({"KEYS", pattern}).items) {
        redis.command({"DEL", name.text});
    }
    for (const auto& [name, dump] : saved) {
        REQUIRE(redis.command({"RESTORE", name, "0", dump}).type
                != Value::Type::error);
    }
}

void run_all(const RedisServer& redis, const std::vector<Words>& commands)
{
    for (const auto& words : commands) {
        REQUIRE(redis.command(words).type != Value::Type::error);
    }
}

std::string line_on(const std::string& key)
{
    return "petstore: the Redis key " + key + " is damaged";
}

// The log lines about damage from now on: for one key only, and at most one per
// second.
class DamageLines {
public:
    explicit DamageLines(const NginxServer& nginx)
        : nginx_(nginx), before_(nginx.error_log().size()), start_(Clock::now())
    {}

    // `meet` runs into the damage, repeatedly: the last line may be less than a
    // second old.
    void check_only(const std::string& key, const std::function<void()>& meet)
    {
        CHECK(wait_until([&] {
            meet();
            return contains(text(), line_on(key));
        }));
        INFO(text());
        const auto lines = count_of(text(), " is damaged");
        CHECK(lines == count_of(text(), line_on(key)));
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(
            Clock::now() - start_);
        CHECK(lines <= static_cast<std::size_t>(seconds.count()) + 1);
        CHECK(count_of(text(), "[error]") == lines);
    }

private:
    std::string text() const { return nginx_.error_log().substr(before_); }

    const NginxServer& nginx_;
    const std::size_t before_;
    const Clock::time_point start_;
};

struct Walked {
    int status = 0;
    long long pets = 0;
};

// Follows the links like a client that copies all pets. Returns the status of
// the last page and the number of pets until then.
Walked copy(Http& http, const std::string& from)
{
    Walked walked;
    for (std::string next = from; !next.empty();) {
        const auto response = http.get(next);
        walked.status = response.status;
        if (response.status != 200) {
            expect_error(response, 500, "internal_error");
            return walked;
        }
        walked.pets += static_cast<long long>(response.json().size());
        next = next_of(response);
    }
    return walked;
}

struct Damage {
    const char* name;
    std::vector<Words> commands;
};

std::string bucket(int number)
{
    return kPets + "bucket:" + std::to_string(number);
}

// Damage of the bucket that affects at least pet 140.
std::vector<Damage> damages_of_bucket()
{
    const auto name = bucket(1);
    return {{"missing", {{"DEL", name}}},
            {"short", {{"LTRIM", name, "0", "10"}}},
            {"no record", {{"LSET", name, "11", "nonsense"}}},
            {"empty record", {{"LSET", name, "11", ""}}},
            {"not UTF-8", {{"LSET", name, "11", "p7:\xC3("}}},
            {"another type", {{"DEL", name}, {"SET", name, "x"}}}};
}

}  // namespace

TEST_CASE("damage: no page is cut short by a damaged bucket")
{
    Store store;
    import_pets(store.redis, kCount);
    const auto saved = save(store.redis, kPets + "*");
    const auto all = copy(store.http, "/v1/pets?limit=100");
    REQUIRE(all.pets == kCount);
    for (const auto& [name, commands] : damages_of_bucket()) {
        INFO(name);
        // Cached pets are valid as long as `changes` says so.
        run_all(store.redis, commands);
        store.redis.command({"INCR", kPets + "changes"});
        const auto damaged = save(store.redis, kPets + "*");
        DamageLines lines(store.nginx);
        // Pet 140 is pending. Repeated, to cover every kind of read.
        for (int i = 0; i < 4; ++i) {
            for (const char* const from :
                 {"/v1/pets?limit=100", "/v1/pets?limit=7",
                  "/v1/pets?limit=100&status=pending",
                  "/v1/pets?limit=7&status=pending"}) {
                INFO(from);
                const auto walked = copy(store.http, from);
                CHECK(walked.status == 500);
                CHECK(walked.pets <= 139);
            }
            expect_error(store.http.get("/v1/pets/140"), 500, "internal_error");
            CHECK(store.http.get("/v1/pets/128").status == 200);
            CHECK(store.http.get("/v1/pets/257").status == 200);
            CHECK(store.http.get("/v1/pets/301").status == 404);
        }
        lines.check_only(bucket(1), [&] { store.http.get("/v1/pets/140"); });
        CHECK(save(store.redis, kPets + "*") == damaged);

        restore(store.redis, kPets + "*", saved);
        store.redis.command({"INCR", kPets + "changes"});
        store.redis.command({"INCR", kPets + "changes"});
        CHECK(copy(store.http, "/v1/pets?limit=100").pets == kCount);
        CHECK(copy(store.http, "/v1/pets?status=pending").pets == kCount / 3);
        CHECK(store.http.get("/v1/pets/140").status == 200);
    }
}

TEST_CASE("damage: surplus rows of a bucket fail no pet")
{
    Store store;
    import_pets(store.redis, kCount);
    // More than a worker takes in one reply.
    Words rows = {"RPUSH", bucket(0)};
    rows.resize(rows.size() + 7000, "p7:Rex");
    run_all(store.redis, std::vector<Words>(10, rows));
    store.redis.command({"INCR", kPets + "changes"});
    DamageLines lines(store.nginx);
    // The bucket is read whole once some of its pets were read.
    lines.check_only(bucket(0), [&] {
        for (int id = 1; id <= 120; ++id) {
            const auto path = "/v1/pets/" + std::to_string(id);
            CHECK(store.http.get(path).status == 200);
        }
        CHECK(store.http.get("/v1/pets/140").status == 200);
    });
    CHECK(store.http.get("/v1/pets/257").status == 200);
    CHECK(store.http.post("/v1/pets", kPet).status == 201);
}

TEST_CASE("damage: a bitmap of another type")
{
    Store store;
    import_pets(store.redis, kCount);
    const auto bitmap = kPets + "status:sold";
    run_all(store.redis, {{"DEL", bitmap}, {"RPUSH", bitmap, "x"}});
    DamageLines lines(store.nginx);
    expect_error(store.http.get("/v1/pets?status=sold"), 500, "internal_error");
    CHECK(store.http.get("/v1/pets?status=pending").status == 200);
    // A pet that cannot be indexed by its status is not created at all.
    const auto before = save(store.redis, kPets + "*");
    expect_error(store.http.post(
                     "/v1/pets",
                     "{\"name\":\"Rex\",\"categoryId\":7,\"status\":\"sold\"}"),
                 500, "internal_error");
    CHECK(save(store.redis, kPets + "*") == before);
    CHECK(store.http.post("/v1/pets", kPet).status == 201);
    lines.check_only(bitmap, [&] { store.http.get("/v1/pets?status=sold"); });
}

TEST_CASE("damage: the numbers of the catalogue")
{
    Store store;
    import_pets(store.redis, kCount);
    const auto last_id = kPets + "count";
    const auto changes = kPets + "changes";
    const auto saved = save(store.redis, kPets + "*");
    struct Case {
        Damage damage;
        const std::string& key;
    };
    const std::vector<Case> cases = {
        {{"no last id", {{"DEL", last_id}}}, last_id},
        {{"last id 0", {{"SET", last_id, "0"}}}, last_id},
        {{"last id of letters", {{"SET", last_id, "x"}}}, last_id},
        {{"last id below 0", {{"SET", last_id, "-7"}}}, last_id},
        {{"last id of another type",
          {{"DEL", last_id}, {"RPUSH", last_id, "300"}}},
         last_id},
        {{"no numbers", {{"DEL", last_id, changes}}}, last_id},
        {{"no changes", {{"DEL", changes}}}, changes},
        {{"changes of letters", {{"SET", changes, "x"}}}, changes},
        {{"changes of another type",
          {{"DEL", changes}, {"RPUSH", changes, "7"}}},
         changes},
    };
    for (const auto& [damage, key] : cases) {
        INFO(damage.name);
        CHECK(store.http.get("/v1/pets/1").status == 200);
        run_all(store.redis, damage.commands);
        const auto damaged = save(store.redis, kPets + "*");
        DamageLines lines(store.nginx);
        const auto left =
            rate_headers_of(store.http.get("/v1/nothing")).remaining;
        for (int i = 0; i < 20; ++i) {
            for (const char* const target :
                 {"/v1/pets", "/v1/pets?status=sold", "/v1/pets?limit=100",
                  "/v1/pets/1", "/v1/pets/1000"}) {
                INFO(target);
                expect_error(store.http.get(target), 500, "internal_error");
            }
            expect_error(store.http.post("/v1/pets", kPet), 500,
                         "internal_error");
        }
        // Accounts are still charged correctly, and requests without pets work.
        const auto response = store.http.get("/v1/nothing");
        expect_error(response, 404, "not_found");
        CHECK(rate_headers_of(response).remaining == left - 121);
        CHECK(store.http.request("OPTIONS", "/v1/pets").status == 204);
        lines.check_only(key, [&] { store.http.get("/v1/pets"); });
        CHECK(save(store.redis, kPets + "*") == damaged);
        restore(store.redis, kPets + "*", saved);
        CHECK(copy(store.http, "/v1/pets?limit=100").pets == kCount);
    }
}

TEST_CASE("damage: an empty store is not damaged")
{
    Store store;
    CHECK(store.http.get("/v1/pets").body == "[]");
    CHECK(store.http.get("/v1/pets?status=sold").body == "[]");
    expect_error(store.http.get("/v1/pets/1"), 404, "pet_not_found");
    CHECK(store.http.post("/v1/pets", kPet).header("location") == "/v1/pets/1");
    CHECK(store.http.get("/v1/pets").json().size() == 1);
    CHECK(store.http.get("/v1/pets/1").status == 200);
    store.redis.command({"DEL", kPets + "count", kPets + "changes", bucket(0),
                         kPets + "status:available"});
    CHECK(store.http.get("/v1/pets").body == "[]");
    CHECK_FALSE(contains(store.nginx.error_log(), "damaged"));
}

TEST_CASE("damage: is detected in a request without a version from the limiter")
{
    NginxOptions options;
    options.server =
        "location = /twice { rewrite ^ /v1/pets/140 break; petstore; auth_request /v1/pets/1; }";
    Store store(options);
    import_pets(store.redis, kCount);
    CHECK(store.http.get("/twice").status == 200);
    store.redis.command({"DEL", bucket(1)});
    store.redis.command({"INCR", kPets + "changes"});
    DamageLines lines(store.nginx);
    expect_error(store.http.get("/twice"), 500, "internal_error");
    lines.check_only(bucket(1), [&] { store.http.get("/twice"); });
}

TEST_CASE("damage: the state of an account")
{
    Store store;
    const auto key = limited_key(store.redis, 10);
    Http bad(store.nginx.url(), key.secret);
    CHECK(bad.get("/v1/pets").status == 200);
    const auto state = account_key(key, "state");
    for (const auto& words :
         std::vector<Words>{{"SET", state, ""},
                            {"SET", state, "nonsense"},
                            {"SET", state, std::string(48, 'x')},
                            {"SET", state, std::string(80, 'x')},
                            {"RPUSH", state, "x"},
                            {"HSET", state, "x", "y"}}) {
        INFO(words[0]);
        store.redis.command({"DEL", state});
        run_all(store.redis, {words});
        const auto dump = store.redis.command({"DUMP", state}).text;
        DamageLines lines(store.nginx);
        for (int i = 0; i < 30; ++i) {
            expect_error(bad.get("/v1/pets"), 500, "internal_error");
            CHECK(store.http.get("/v1/pets").status == 200);
        }
        lines.check_only(state, [&] { bad.get("/v1/pets"); });
        CHECK(store.redis.command({"DUMP", state}).text == dump);
    }
    store.redis.command({"DEL", state});
    CHECK(bad.get("/v1/pets").status == 200);
}

TEST_CASE("damage: a limits marker of another type fails only new accounts")
{
    Store store;
    const auto usual = create_key(store.redis);
    const auto fresh = create_key(store.redis);
    std::vector<RawClient> clients;
    const auto send = [&](std::size_t i, const Key& key) {
        clients[i].send("GET /v1/pets HTTP/1.1\r\nHost: a\r\n"
                        "Authorization: Bearer "
                        + key.secret + "\r\n\r\n");
    };
    for (const auto& key : {usual, fresh}) {
        clients.emplace_back(store.nginx.port());
        send(clients.size() - 1, key);
        REQUIRE(clients.back().read().status == 200);
    }
    store.redis.command({"DEL", account_key(fresh, "state")});
    store.redis.command({"RPUSH", "petstore:limits-place", "x"});
    {
        const StoppedWorker stopped(store.nginx);
        send(0, usual);
        send(1, fresh);
    }
    const auto admitted = clients[0].read();
    CHECK(admitted.status == 200);
    CHECK(rate_headers_of(admitted).limit - rate_headers_of(admitted).remaining
          == 2);
    expect_error(clients[1].read(), 500, "internal_error");
    DamageLines lines(store.nginx);
    lines.check_only("petstore:limits-place", [&] {
        send(1, fresh);
        expect_error(clients[1].read(), 500, "internal_error");
    });

    store.redis.command({"DEL", "petstore:limits-place"});
    send(1, fresh);
    CHECK(clients[1].read().status == 200);
}

TEST_CASE("damage: strikes and bans of another type")
{
    NginxOptions options;
    options.location =
        "petstore_ban threshold=2 window=60s duration=300s max=1h;";
    Store store(options);
    for (const std::string what : {"strikes", "bans"}) {
        INFO(what);
        const auto key = limited_key(store.redis, 2);
        const auto name = account_key(key, what);
        store.redis.command({"RPUSH", name, "x"});
        DamageLines lines(store.nginx);
        Http http(store.nginx.url(), key.secret);
        for (int i = 0; i < 30; ++i) {
            const auto response = http.get("/v1/pets");
            CHECK(response.status == (i < 2 ? 200 : 429));
        }
        lines.check_only(name, [&] { http.get("/v1/pets"); });
        CHECK(store.redis.command({"LLEN", name}).integer == 1);
    }
}

TEST_CASE("damage: the record of a key")
{
    Store store;
    const auto key = create_key(store.redis);
    const auto digest =
        store.redis.command({"HGET", "petstore:keys", key.id}).text;
    const auto name = "petstore:key:" + digest;
    for (const auto& commands :
         std::vector<std::vector<Words>>{{{"HDEL", name, "account"}},
                                         {{"HSET", name, "created", "x"}},
                                         {{"DEL", name}, {"SET", name, "x"}}}) {
        run_all(store.redis, commands);
        DamageLines lines(store.nginx);
        Http http(store.nginx.url(), key.secret);
        for (int i = 0; i < 10; ++i) {
            expect_error(http.get("/v1/pets"), 500, "internal_error");
        }
        lines.check_only(name, [&] { http.get("/v1/pets"); });
    }
}

TEST_CASE("damage: no field of a key's record injects a header or a log line")
{
    const BackEnd back_end;
    NginxOptions options;
    options.server = R"(
        location /app/ {
            petstore_guard on;
            proxy_set_header X-Account $petstore_account;
            proxy_set_header X-Plan $petstore_plan;
            proxy_set_header X-Key-Id $petstore_key_id;
            proxy_pass http://%BACK_END%;
        })";
    Store store(with_back_end(options, back_end));
    const std::string injected = "x\r\nX-Injected: 1\r\n\r\n"
                                 "GET /injected HTTP/1.1\r\n[emerg] forged";
    for (const char* const field : {"account", "id", "plan"}) {
        INFO(field);
        const auto key = create_key(store.redis);
        const auto name =
            "petstore:key:"
            + store.redis.command({"HGET", "petstore:keys", key.id}).text;
        store.redis.command({"HSET", name, field, injected});
        Http http(store.nginx.url(), key.secret);
        DamageLines lines(store.nginx);
        for (const char* const path : {"/app/a", "/v1/pets"}) {
            expect_error(http.get(path), 500, "internal_error");
        }
        lines.check_only(name, [&] { http.get("/app/a"); });
        CHECK(back_end.count() == 0);
        CHECK_FALSE(contains(store.nginx.error_log(), "forged"));
        CHECK_FALSE(contains(store.nginx.access_log(), "forged"));

        const auto listed = ctl(store.redis.url(), {"key", "list"});
        CHECK(listed.code == 1);
        CHECK(contains(listed.err,
                       "the record of key " + key.id + " is damaged"));
        CHECK(ctl(store.redis.url(), {"key", "delete", key.id, "--yes"}).code
              == 0);
        CHECK(store.redis.command({"EXISTS", name}).integer == 0);
        CHECK(store.redis.command({"KEYS", "*Injected*"}).items.empty());
    }
    CHECK(store.http.get("/app/a").status == 200);
    CHECK(back_end.last().header("x-account") == store.key.account);
}

TEST_CASE("damage: a label is none, whatever it is")
{
    Store store;
    const auto key = create_key(store.redis, {"--label", "acme"});
    const auto name =
        "petstore:key:"
        + store.redis.command({"HGET", "petstore:keys", key.id}).text;
    Http http(store.nginx.url(), key.secret);
    for (const std::string& label :
         {std::string("a\r\nb\x1b[31m"), std::string("\xff\xfe"),
          std::string(10'000, 'x')}) {
        store.redis.command({"HSET", name, "label", label});
        REQUIRE(
            ctl(store.redis.url(), {"key", "set", key.id, "--plan", "pro"}).code
            == 0);
        CHECK(http.get("/v1/pets").status == 200);
        const auto listed = ctl(store.redis.url(), {"key", "list"});
        CHECK(listed.code == 0);
        CHECK(contains(listed.out, key.id));
        CHECK_FALSE(contains(listed.out, "\x1b["));
        RedisServer other;
        const auto backup = ctl(store.redis.url(), {"key", "export"});
        CHECK(backup.code == 0);
        CHECK(ctl(other.url(), {"key", "restore", "-"}, backup.out).code == 0);
        CHECK(ctl(other.url(), {"key", "show", key.id}).code == 0);
    }
}

TEST_CASE("damage: log lines report how many were suppressed")
{
    Store store;
    import_pets(store.redis, kCount);
    store.redis.command({"DEL", bucket(1)});
    CHECK(wait_until([&] {
        CHECK(store.http.get("/v1/pets/140").status == 500);
        return contains(store.nginx.error_log(),
                        " reports of damage since the last line");
    }));
    CHECK(contains(store.nginx.error_log(), line_on(bucket(1))));
}

TEST_CASE("damage: export and set-status fail, and name the key")
{
    RedisServer redis;
    import_pets(redis, 10'000);
    const auto saved = save(redis, kPets + "*");
    const auto last_id = kPets + "count";
    const auto changes = kPets + "changes";
    const auto export_fails = [&](const std::vector<Words>& commands,
                                  const std::string& key) {
        INFO(commands.back()[0] << ' ' << commands.back()[1]);
        run_all(redis, commands);
        const auto result = ctl(redis.url(), {"pet", "export"});
        CHECK(result.code == 1);
        CHECK(contains(result.err, key + " is damaged"));
        restore(redis, kPets + "*", saved);
        return result;
    };
    for (const int number : {0, 1, 40, 78}) {
        const auto name = bucket(number);
        const auto text = std::to_string(number);
        for (const auto& commands : std::vector<std::vector<Words>>{
                 {{"DEL", name}},
                 {{"LTRIM", name, "0", "5"}},
                 {{"LSET", name, "6", "nonsense"}},
                 {{"LSET", name, "6", "a7:\xFF"}},
                 {{"DEL", name}, {"SET", name, "x"}}}) {
            const auto result = export_fails(commands, name);
            // Pets before the damage are written, in whole lines only.
            const auto lines = count_of(result.out, "\n");
            CHECK(lines <= static_cast<std::size_t>(number) * 128 + 6);
            CHECK(lines + 106 >= static_cast<std::size_t>(number) * 128);
            CHECK((lines == 0 || result.out.back() == '\n'));
        }
    }
    export_fails({{"DEL", last_id}}, last_id);
    export_fails({{"DEL", last_id, changes}}, last_id);
    export_fails({{"SET", last_id, "x"}}, last_id);
    export_fails({{"SET", last_id, "20000"}}, bucket(78));
    export_fails({{"DEL", last_id}, {"RPUSH", last_id, "1"}}, last_id);
    export_fails({{"DEL", changes}}, changes);
    export_fails({{"DEL", changes}, {"RPUSH", changes, "1"}}, changes);

    const auto change_fails = [&](const std::vector<Words>& commands,
                                  const std::string& key) {
        INFO(commands.back()[0] << ' ' << commands.back()[1]);
        run_all(redis, commands);
        const auto damaged = save(redis, kPets + "*");
        const auto result =
            ctl(redis.url(), {"pet", "set-status", "140", "sold"});
        CHECK(result.code == 1);
        CHECK(contains(result.err, key + " is damaged"));
        CHECK(save(redis, kPets + "*") == damaged);
        restore(redis, kPets + "*", saved);
    };
    for (const auto& damage : damages_of_bucket()) {
        if (std::string(damage.name) != "not UTF-8") {  // its name is not read
            change_fails(damage.commands, bucket(1));
        }
    }
    change_fails({{"DEL", last_id}}, last_id);
    change_fails({{"DEL", changes}}, changes);
    const auto segments = kPets + "segments";
    change_fails({{"SETRANGE", segments, "5", "x"}}, segments);
    change_fails({{"SETRANGE", segments, "10", "-"}}, segments);
    change_fails({{"APPEND", segments, "x"}}, segments);
    change_fails({{"SET", segments, "xyz"}}, segments);
    const auto sold = kPets + "status:sold";
    change_fails({{"DEL", sold}, {"RPUSH", sold, "x"}}, sold);

    // An earlier export is not lost.
    const TempDir dir;
    const auto file = dir.path() + "/pets";
    CHECK(ctl(redis.url(), {"pet", "export", file}).code == 0);
    const auto exported = read_file(file);
    CHECK(count_of(exported, "\n") == 10'000);
    for (const Words& damage :
         {Words{"SET", segments, "xyz"}, {"DEL", last_id}}) {
        run_all(redis, {damage});
        CHECK(ctl(redis.url(), {"pet", "export", file}).code == 1);
        CHECK(read_file(file) == exported);
    }
    run_all(redis, {{"FLUSHALL"}});
    CHECK(ctl(redis.url(), {"pet", "export", file}).code == 0);
    CHECK(read_file(file).empty());
    RedisServer empty;
    const auto none = ctl(empty.url(), {"pet", "export"});
    CHECK(none.code == 0);
    CHECK(none.out.empty());
}

TEST_CASE("damage: petstorectl names an account's state of another type")
{
    const RedisServer redis;
    const auto key = create_key(redis);
    const auto state = "petstore:{" + key.account + "}:state";
    redis.command({"DEL", state});
    redis.command({"RPUSH", state, "1"});
    for (const auto& words : std::vector<std::vector<std::string>>{
             {"key", "usage", key.id},
             {"key", "set", key.id, "--label", "new"},
             {"key", "unban", key.id}}) {
        CAPTURE(words[1]);
        const auto result = ctl(redis.url(), words);
        CHECK(result.code == 1);
        CHECK(contains(result.err, "the Redis key " + state + " is damaged"));
    }
    redis.command({"DEL", state});
    CHECK(ctl(redis.url(), {"key", "set", key.id, "--label", "new"}).code == 0);
}

TEST_CASE("damage: petstorectl names the usage that a change cannot write")
{
    const RedisServer redis;
    const auto created = ctl(redis.url(), {"account", "create"});
    REQUIRE(created.code == 0);
    const auto account = split(created.out, '\n').at(0);
    const auto tag = "petstore:{" + account + "}:";
    // A state with 5 units of 2024-10-04, which are not in the usage yet.
    redis.command({"EVAL",
                   "return redis.call('SET', KEYS[1], struct.pack("
                   "'<dddddddddd', 1, 0, 0, 0, 0, 0, 5, 0, 20000, 0))",
                   "1", tag + "state"});
    redis.command({"SET", tag + "usage:202410", "x"});
    for (const char* command : {"reset", "delete"}) {
        CAPTURE(command);
        const auto result = ctl(redis.url(), {"account", command, account});
        CHECK(result.code == 1);
        CHECK(result.err
              == "petstorectl: the Redis key " + tag
                     + "usage:202410 is damaged\n");
    }
    redis.command({"DEL", tag + "usage:202410"});
    CHECK(ctl(redis.url(), {"account", "delete", account}).code == 0);
}
