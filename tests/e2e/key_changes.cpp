// docs/operations.md, "Interrupted commands": a change of a key takes effect
// completely or not at all, whatever happens to the command, and a change
// reported as in effect is never lost.
#include <map>
#include <set>

#include "chaos/cut_redis.h"
#include "support/limits.h"

using namespace petstore::e2e;

namespace {

using Record = std::map<std::string, std::string>;

Record hash(const RedisServer& redis, const std::string& name)
{
    Record record;
    const auto reply = redis.command({"HGETALL", name});
    for (std::size_t i = 0; i + 1 < reply.items.size(); i += 2) {
        record[reply.items[i].text] = reply.items[i + 1].text;
    }
    return record;
}

std::vector<std::string> record_names(const RedisServer& redis)
{
    std::vector<std::string> names;
    for (const auto& name : redis.command({"KEYS", "petstore:key:*"}).items) {
        names.push_back(name.text);
    }
    return names;
}

// Checks the invariants after a command was interrupted and run again. Returns
// the existing keys' records by id.
std::map<std::string, Record> consistent_keys(const RedisServer& redis)
{
    const auto index = hash(redis, "petstore:keys");
    std::map<std::string, Record> keys;
    for (const auto& name : record_names(redis)) {
        const auto record = hash(redis, name);
        INFO(name);
        REQUIRE(record.count("id") == 1);
        const auto& id = record.at("id");
        const auto entry = index.find(id);
        if (record.count("unfinished") != 0) {
            // The record of an interrupted create: it is not valid, and
            // expires.
            CHECK(record.at("disabled") == "1");
            CHECK(redis.command({"PTTL", name}).integer > 0);
            CHECK((entry == index.end()
                   || "petstore:key:" + entry->second == name));
            continue;
        }
        CHECK(redis.command({"PTTL", name}).integer == -1);
        REQUIRE(entry != index.end());
        CHECK("petstore:key:" + entry->second == name);
        keys[id] = record;
    }
    for (const auto& [id, digest] : index) {
        INFO(id);
        const auto record = hash(redis, "petstore:key:" + digest);
        REQUIRE(record.count("id") == 1);
        CHECK(record.at("id") == id);
    }
    return keys;
}

void forget_everything(const RedisServer& redis)
{
    redis.command({"FLUSHALL"});
}

// Runs `body` with an interruption at each command that petstorectl sends,
// before and after its execution, until none is interrupted. `body` returns
// whether it was interrupted.
template <class Body>
void at_each_command(Body body)
{
    for (const auto how : {CutRedis::How::before, CutRedis::How::after}) {
        int number = 1;
        for (; number < 40; ++number) {
            INFO("cut at command "
                 << number
                 << (how == CutRedis::How::before ? ", not executed"
                                                  : ", executed"));
            if (!body(number, how)) {
                break;
            }
        }
        CHECK(number > 2);
        CHECK(number < 40);
    }
}

// An nginx with one worker, which caches key records.
struct Setup {
    RedisServer redis;
    CutRedis cut{redis};
    NginxServer nginx{options()};

    NginxOptions options() const
    {
        NginxOptions wanted;
        wanted.redis = redis.url();
        return wanted;
    }

    int status(const std::string& secret) const
    {
        return Http(nginx.url(), secret).get("/v1/pets").status;
    }

    // Waits, because a worker remembers an unknown key for up to a second.
    bool soon(const std::string& secret, int wanted) const
    {
        return wait_until([&] { return status(secret) == wanted; }, 3s);
    }

    // Runs petstorectl over the connection that fails at this command.
    Output interrupted(int number, CutRedis::How how,
                       const std::vector<std::string>& arguments,
                       const std::string& input = "")
    {
        cut.cut_at(number, how);
        auto first = ctl(cut.url(), arguments, input);
        // What is read after the change only adds to the message.
        const bool changed = contains(first.out + first.err, " is enabled; ");
        if (cut.was_cut() && !changed) {
            CHECK((first.code == 1 || first.code == 4));
            CHECK_FALSE(first.err.empty());
        } else {
            CHECK(first.code == 0);
        }
        return first;
    }
};

nlohmann::json json_of(const Output& output)
{
    return nlohmann::json::parse(output.out, nullptr, false);
}

// Interrupts a command on a key id that changes a worker's status for the key
// from `before` to `after`.
void interrupt_change(const std::vector<std::string>& prepare,
                      const std::vector<std::string>& command, int before,
                      int after)
{
    Setup setup;
    const auto with_id = [](const std::vector<std::string>& words,
                            const Key& key) {
        std::vector<std::string> arguments = {"key", words[0], key.id};
        arguments.insert(arguments.end(), words.begin() + 1, words.end());
        return arguments;
    };
    at_each_command([&](int number, CutRedis::How how) {
        forget_everything(setup.redis);
        const auto key = create_key(setup.redis, {"--plan", "business"});
        if (!prepare.empty()) {
            REQUIRE(ctl(setup.redis.url(), with_id(prepare, key)).code == 0);
        }
        REQUIRE(setup.soon(key.secret, before));

        const auto names = record_names(setup.redis);
        const auto record = hash(setup.redis, names.at(0));
        const auto first =
            setup.interrupted(number, how, with_id(command, key));
        const bool cut = setup.cut.was_cut();
        if (cut && hash(setup.redis, names.at(0)) != record
            && !contains(first.err, "not yet in effect, run again")) {
            // What failed came after the change.
            CHECK(setup.soon(key.secret, after));
        }
        if (cut) {
            const auto again = ctl(setup.redis.url(), with_id(command, key));
            // Only delete may report that the key no longer exists.
            CHECK((again.code == 0
                   || (command[0] == "delete"
                       && contains(again.err, "there is no key"))));
        }
        CHECK(setup.soon(key.secret, after));
        CHECK(setup.status(key.secret) == after);
        consistent_keys(setup.redis);
        return cut;
    });
}

}  // namespace

TEST_CASE("key changes: an interrupted disable can be run again")
{
    interrupt_change({}, {"disable"}, 200, 401);
}

TEST_CASE("key changes: an interrupted enable can be run again")
{
    interrupt_change({"disable"}, {"enable"}, 401, 200);
}

TEST_CASE("key changes: an interrupted delete can be run again")
{
    interrupt_change({}, {"delete"}, 200, 401);
}

TEST_CASE("key changes: an interrupted set can be run again")
{
    interrupt_change({}, {"set", "--expires", "2020-01-01"}, 200, 401);
}

TEST_CASE("key changes: an interrupted unban can be run again")
{
    Setup setup;
    at_each_command([&](int number, CutRedis::How how) {
        forget_everything(setup.redis);
        const auto key = create_key(setup.redis, {"--plan", "business"});
        REQUIRE(setup.soon(key.secret, 200));
        set_number(setup.redis, key, Number::ban_end,
                   redis_millis(setup.redis) + 600'000);
        set_number(setup.redis, key, Number::usual_day, 0);
        REQUIRE(setup.soon(key.secret, 429));

        setup.interrupted(number, how, {"key", "unban", key.id});
        const bool cut = setup.cut.was_cut();
        if (cut) {
            CHECK(ctl(setup.redis.url(), {"key", "unban", key.id}).code == 0);
        }
        CHECK(setup.soon(key.secret, 200));
        return cut;
    });
}

TEST_CASE("key changes: an interrupted create leaves no key that works")
{
    Setup setup;
    at_each_command([&](int number, CutRedis::How how) {
        forget_everything(setup.redis);
        const std::vector<std::string> command = {"key", "create", "--json"};
        const auto first = setup.interrupted(number, how, command);
        const bool cut = setup.cut.was_cut();
        if (!first.out.empty()) {
            remember_secret(json_of(first).at("key"));
        }
        if (!cut) {
            return false;
        }
        const auto left = consistent_keys(setup.redis);
        // A key may work only if it was printed.
        CHECK(left.size() <= (first.out.empty() ? 0 : 1));
        const auto again = json_of(ctl(setup.redis.url(), command));
        REQUIRE(again.is_object());
        remember_secret(again.at("key"));
        CHECK(setup.soon(again.at("key"), 200));
        CHECK(consistent_keys(setup.redis).size() == left.size() + 1);

        // A printed key can be completed.
        if (!first.out.empty()) {
            if (left.empty()) {
                CHECK(contains(ctl(setup.redis.url(), {"key", "list"}).out,
                               "unfinished"));
            }
            CHECK(ctl(setup.redis.url(),
                      {"key", "enable", json_of(first).at("id")})
                      .code
                  == 0);
            CHECK(setup.soon(json_of(first).at("key"), 200));
            CHECK(consistent_keys(setup.redis).size() == 2);
        }
        return true;
    });
}

TEST_CASE("key changes: an interrupted import can be run again")
{
    Setup setup;
    const std::string secret = "a-key-made-elsewhere-0123456789";
    remember_secret(secret);
    at_each_command([&](int number, CutRedis::How how) {
        forget_everything(setup.redis);
        const std::vector<std::string> command = {"key", "import", "-",
                                                  "--label", "mine"};
        setup.interrupted(number, how, command, secret + "\n");
        const bool cut = setup.cut.was_cut();
        if (cut) {
            const auto again = ctl(setup.redis.url(), command, secret + "\n");
            CHECK((again.code == 0 || contains(again.err, "exists already")));
        }
        CHECK(setup.soon(secret, 200));
        const auto keys = consistent_keys(setup.redis);
        CHECK(keys.size() == 1);
        CHECK(record_names(setup.redis).size() == 1);
        CHECK(hash(setup.redis, "petstore:keys").size() == 1);
        CHECK(keys.begin()->second.at("label") == "mine");
        return cut;
    });
}

TEST_CASE("key changes: an interrupted rotation can be run again")
{
    Setup setup;
    at_each_command([&](int number, CutRedis::How how) {
        forget_everything(setup.redis);
        const auto key = create_key(setup.redis, {"--plan", "business"});
        REQUIRE(setup.soon(key.secret, 200));
        const std::vector<std::string> command = {
            "key", "rotate", key.id, "--grace", "0", "--json"};
        auto shown = setup.interrupted(number, how, command);
        if (!shown.out.empty()) {
            remember_secret(json_of(shown).at("key"));
        }
        const bool cut = setup.cut.was_cut();
        if (cut) {
            const bool over =
                consistent_keys(setup.redis).at(key.id).count("replaced_by")
                != 0;
            if (!over) {
                // The key is still valid, with its expiry unchanged.
                CHECK(setup.status(key.secret) == 200);
            }
            const auto again = ctl(setup.redis.url(), command);
            if (over) {
                CHECK(again.code == 1);
                CHECK(contains(again.err, "was rotated before"));
                CHECK(contains(again.err,
                               json_of(shown).at("id").get<std::string>()));
            } else {
                REQUIRE(again.code == 0);
                shown = again;
                remember_secret(json_of(shown).at("key"));
            }
        }
        REQUIRE(json_of(shown).is_object());
        CHECK(setup.soon(key.secret, 401));
        CHECK(setup.soon(json_of(shown).at("key"), 200));

        // Only the old key and its replacement exist.
        const auto keys = consistent_keys(setup.redis);
        CHECK(keys.size() == 2);
        CHECK(record_names(setup.redis).size() == 2);
        const std::string next = json_of(shown).at("id");
        REQUIRE(keys.count(next) == 1);
        CHECK(keys.at(key.id).at("replaced_by") == next);
        CHECK(keys.at(key.id).count("successors") == 0);
        CHECK(keys.at(next).at("disabled") == "0");
        CHECK(keys.at(next).at("account") == key.account);
        return cut;
    });
}

TEST_CASE("key changes: of six concurrent rotations one succeeds")
{
    RedisServer redis;
    TempDir dir;
    for (int round = 0; round < 5; ++round) {
        const auto key = create_key(redis);
        std::vector<Process> processes;
        for (int i = 0; i < 6; ++i) {
            const std::string name =
                dir / (std::to_string(round) + '-' + std::to_string(i));
            processes.emplace_back(
                Process::Setup{{ctl_binary(), "--redis", redis.url(), "key",
                                "rotate", key.id, "--json"},
                               {},
                               "",
                               name + ".out",
                               name + ".err"});
        }
        int succeeded = 0;
        std::string next;
        for (std::size_t i = 0; i < processes.size(); ++i) {
            const std::string name =
                dir / (std::to_string(round) + '-' + std::to_string(i));
            const auto code = processes[i].wait(30s);
            REQUIRE(code);
            const auto out = read_file(name + ".out");
            const auto err = read_file(name + ".err");
            INFO(err);
            if (*code == 0) {
                ++succeeded;
                const auto json = nlohmann::json::parse(out);
                next = json.at("id");
                remember_secret(json.at("key"));
            } else {
                CHECK(*code == 1);
                // On a busy machine, a rotation may be overtaken after it has
                // printed its key.
                CHECK(((out.empty() && contains(err, "was rotated before"))
                       || contains(err, "deleted by another command")));
            }
        }
        CHECK(succeeded == 1);
        const auto keys = consistent_keys(redis);
        REQUIRE(keys.count(next) == 1);
        CHECK(keys.at(key.id).at("replaced_by") == next);
        int of_account = 0;
        for (const auto& [id, record] : keys) {
            of_account += record.at("account") == key.account;
        }
        CHECK(of_account == 2);
    }
}

TEST_CASE("key changes: a delayed rotation that was overtaken fails")
{
    RedisServer redis;
    CutRedis cut(redis);
    TempDir dir;
    for (int number = 1; number < 40; ++number) {
        INFO("asleep at command " << number);
        forget_everything(redis);
        const auto key = create_key(redis);
        const std::string name = dir / std::to_string(number);
        cut.cut_at(number, CutRedis::How::sleep);
        Process sleeper({{ctl_binary(), "--redis", cut.url(), "key", "rotate",
                          key.id, "--json"},
                         {},
                         "",
                         name + ".out",
                         name + ".err"});
        REQUIRE(
            wait_until([&] { return cut.was_cut() || !sleeper.running(); }));
        if (!cut.was_cut()) {
            CHECK(number > 8);
            break;
        }
        const auto other =
            ctl(redis.url(), {"key", "rotate", key.id, "--json"});
        cut.wake();
        const auto code = sleeper.wait(30s);
        REQUIRE(code);
        const auto shown = read_file(name + ".out");
        for (const auto& out : {shown, other.out}) {
            if (!out.empty()) {
                remember_secret(nlohmann::json::parse(out).at("key"));
            }
        }

        INFO(read_file(name + ".err") << other.err);
        CHECK((*code == 0) + (other.code == 0) == 1);
        const std::string next =
            nlohmann::json::parse(*code == 0 ? shown : other.out).at("id");
        const auto keys = consistent_keys(redis);
        CHECK(keys.size() == 2);
        CHECK(record_names(redis).size() == 2);
        REQUIRE(keys.count(next) == 1);
        CHECK(keys.at(next).at("disabled") == "0");
        CHECK(keys.at(key.id).at("replaced_by") == next);
    }
}

TEST_CASE("key changes: a key that cannot be shown is not left behind")
{
    RedisServer redis;
    const auto key = create_key(redis);
    const auto before = hash(redis, "petstore:keys");
    const auto accounts = hash(redis, "petstore:accounts");
    const auto record = "petstore:key:" + before.at(key.id);
    const auto old = hash(redis, record);

    const std::string create = "key create";
    const std::string rotate = "key rotate " + key.id + " --grace 0";
    for (const auto& command :
         {create, create + " --json", rotate, rotate + " --json"}) {
        // A full disk, a closed standard output, and a pipe without a reader.
        for (
            const char* to :
            {"\"$@\" > /dev/full", "\"$@\" >&-",
             "mkfifo $DIR/pipe; exec 3<> $DIR/pipe 4> $DIR/pipe 3<&-; rm $DIR/pipe; \"$@\" >&4"}) {
            TempDir dir;
            INFO(command << ' ' << to);
            std::vector<std::string> argv = {
                "sh", "-c", to, "sh", ctl_binary(), "--redis", redis.url()};
            for (const auto& word : split(command, ' ')) {
                argv.push_back(word);
            }
            const auto result = run(argv, "", {{"DIR", dir.path()}});
            CHECK(result.code == 1);
            CHECK(contains(result.err, "standard output"));
            CHECK(hash(redis, "petstore:keys") == before);
            CHECK(hash(redis, "petstore:accounts") == accounts);
            CHECK(redis.command({"KEYS", "petstore:account:*"}).items.size()
                  == 1);
            CHECK(record_names(redis).size() == 1);
            // The old key's expiry did not change.
            auto now = hash(redis, record);
            now["epoch"] = old.at("epoch");
            CHECK(now == old);
        }
    }
}

TEST_CASE("key changes: a new state of an account accepts no old record")
{
    RedisServer redis;
    const auto one = create_key(redis);
    const auto rotated =
        ctl(redis.url(), {"key", "rotate", one.id, "--grace", "1h", "--json"});
    const std::string two = nlohmann::json::parse(rotated.out).at("key");
    const std::string two_id = nlohmann::json::parse(rotated.out).at("id");
    remember_secret(two);

    // A worker caches the second key with the current epoch.
    NginxOptions options;
    options.redis = redis.url();
    NginxServer remembers(options);
    NginxServer other(options);
    Http idle(remembers.url(), two);
    CHECK(idle.get("/v1/pets").status == 200);
    const auto epoch = number_of(redis, one, Number::epoch);

    // The second key is disabled. The first key's record may still have the
    // previous epoch, because nothing is required to update it.
    REQUIRE(ctl(redis.url(), {"key", "disable", two_id}).code == 0);
    redis.command({"HSET",
                   "petstore:key:" + hash(redis, "petstore:keys").at(one.id),
                   "epoch", std::to_string(epoch)});

    // As if after two days: the account's state has expired, and the first key
    // is used.
    redis.command({"DEL", account_key(one, "state")});
    CHECK(Http(other.url(), one.secret).get("/v1/pets").status == 200);
    CHECK(idle.get("/v1/pets").status == 401);
}

TEST_CASE("key changes: a worker reads a changed record once")
{
    Setup setup;
    const auto key = create_key(setup.redis);
    REQUIRE(setup.status(key.secret) == 200);
    // Each lookup is by a new worker with empty caches.
    const auto look = [&] {
        NginxServer cold(setup.options());
        Monitor monitor(setup.redis);
        CHECK(Http(cold.url(), key.secret).get("/v1/nowhere").status == 404);
        std::vector<std::string> names;
        for (const auto& name : monitor.names()) {
            if (name == "HGETALL" || name == "EVALSHA") {
                names.push_back(name);
            }
        }
        return names;
    };
    const std::vector<std::string> once = {"HGETALL", "HGETALL", "EVALSHA"};
    CHECK(look() == once);
    REQUIRE(
        ctl(setup.redis.url(), {"key", "set", key.id, "--label", "new"}).code
        == 0);
    CHECK(look() == once);
    REQUIRE(ctl(setup.redis.url(), {"key", "unban", key.id}).code == 0);
    REQUIRE(ctl(setup.redis.url(), {"key", "disable", key.id}).code == 0);
    REQUIRE(ctl(setup.redis.url(), {"key", "enable", key.id}).code == 0);
    CHECK(look() == once);
}

TEST_CASE("key changes: an entry without a record is named and can be deleted")
{
    RedisServer redis;
    const auto key = create_key(redis);
    redis.command(
        {"HSET", "petstore:keys", "AAAABBBBCCCCDDDD", std::string(64, '0')});
    auto listed = ctl(redis.url(), {"key", "list"});
    CHECK(listed.code == 0);
    CHECK_FALSE(contains(listed.out, "AAAABBBBCCCCDDDD"));
    CHECK(contains(listed.err, "key delete AAAABBBBCCCCDDDD"));
    CHECK(ctl(redis.url(), {"key", "delete", "AAAABBBBCCCCDDDD"}).code == 0);
    CHECK(ctl(redis.url(), {"key", "list"}).err.empty());

    // Deleting an entry that points to another key's record leaves that key
    // alone.
    const auto digest = hash(redis, "petstore:keys").at(key.id);
    redis.command({"HSET", "petstore:keys", "AAAABBBBCCCCDDDD", digest});
    CHECK(ctl(redis.url(), {"key", "show", "AAAABBBBCCCCDDDD"}).code == 3);
    CHECK(ctl(redis.url(), {"key", "delete", "AAAABBBBCCCCDDDD"}).code == 0);
    CHECK(ctl(redis.url(), {"key", "show", key.id}).code == 0);
}
