// What petstorectl prints on terminals and for programs.
#include "support/cluster_servers.h"
#include "support/terminal.h"
#include "support/threaded_server.h"
#include "support/two_redis.h"

using namespace petstore::e2e;

namespace {

// An escape sequence, a C1 control, DEL, a bidirectional control, and a byte
// that is not UTF-8.
const std::string kHostile = "a\x1b[2Jb\xc2\x9b"
                             "31mc\x7f\xe2\x80\xae"
                             "d\xff";
const std::string kHarmless = "a\\u001b[2Jb\\u009b31mc\\u007f\\u202ed\\xff";

bool is_harmless(const std::string& output)
{
    const auto text = without_colours(output);
    for (const char* control :
         {"\x1b", "\x07", "\x7f", "\xc2\x9b", "\xe2\x80\xae", "\xff"}) {
        if (contains(text, control)) {
            return false;
        }
    }
    return true;
}

nlohmann::json error_of(const Output& output)
{
    const auto error = nlohmann::json::parse(output.err, nullptr, false);
    INFO(output.err);
    REQUIRE(error.is_object());
    CHECK(error.size() == 2);
    CHECK(output.out.empty());
    return error;
}

}  // namespace

TEST_CASE("command line: nothing that Redis holds controls a terminal")
{
    for (const std::string field :
         {"label", "plan", "account", "id", "last4", "replaced_by"}) {
        RedisServer redis;
        const auto key = create_key(redis);
        const std::string record =
            "petstore:key:"
            + redis.command({"HGET", "petstore:keys", key.id}).text;
        redis.command({"HSET", "petstore:keys", kHostile, "zz"});
        redis.command({"HSET", record, field, kHostile});
        for (const std::string& command :
             Words{"key list", "key list --json", "key export",
                   "key show " + key.id, "key show " + key.id + " --json",
                   "key usage " + key.id, "key unban " + key.id,
                   "key set --label x " + key.id, "key rotate " + key.id,
                   "key delete " + key.id, "doctor", "doctor --json"}) {
            INFO(field << ": " << command);
            const auto output = on_terminal(redis.url(), command, "n\n");
            INFO(output.out);
            CHECK(is_harmless(output.out));
            if (field == "label" && command == "key list") {
                CHECK(contains(output.out, kHarmless));
            }
        }
        // Tables and messages in files: people read them on terminals.
        const auto listed = ctl(redis.url(), {"key", "list"});
        CHECK(is_harmless(listed.out));
        CHECK(is_harmless(listed.err));
    }
}

TEST_CASE("command line: nothing that Redis says controls a terminal")
{
    const std::string info =
        "redis_version:" + kHostile + "\r\nrole:" + kHostile + "\r\n";
    FakeRedis fake([&](const Words& words) {
        return FakeRedis::Answer{words[0] == "INFO"
                                     ? "$" + std::to_string(info.size())
                                           + "\r\n" + info + "\r\n"
                                     : "-ERR " + kHostile + "\r\n"};
    });
    for (const char* command : {"key list", "doctor", "doctor --json"}) {
        INFO(command);
        const auto output = on_terminal(fake.url(), command);
        INFO(output.out);
        CHECK(is_harmless(output.out));
        CHECK(contains(output.out, "\\u009b31mc"));
    }
}

TEST_CASE("command line: a line feed in a label makes no line of a table")
{
    RedisServer redis;
    const auto key = create_key(redis);
    const std::string record =
        "petstore:key:" + redis.command({"HGET", "petstore:keys", key.id}).text;
    redis.command({"HSET", record, "label", "a\nb\rc\td"});
    const auto list = ctl(redis.url(), {"key", "list"});
    CHECK(split(list.out, '\n').size() == 2);
    CHECK(contains(list.out, "a\\u000ab\\u000dc\\u0009d"));
}

TEST_CASE("command line: files and pipes get data byte by byte")
{
    RedisServer redis;
    const std::string name = "a\xe2\x80\xae"
                             "b\xc3\xa9";
    const std::string pet = R"({"id":1,"name":")" + name
                            + R"(","categoryId":7,"status":"available"})"
                            + "\n";
    REQUIRE(ctl(redis.url(), {"pet", "import", "-"}, pet).code == 0);
    CHECK(ctl(redis.url(), {"pet", "export"}).out == pet);
    const auto shown = on_terminal(redis.url(), "pet export").out;
    CHECK(contains(shown, R"("name":"a\u202eb)"
                          "\xc3\xa9\""));
    const auto begin = shown.find('{');
    CHECK(
        nlohmann::json::parse(shown.substr(begin, shown.rfind('}') + 1 - begin))
        == nlohmann::json::parse(pet));

    const auto key = create_key(redis);
    const std::string record =
        "petstore:key:" + redis.command({"HGET", "petstore:keys", key.id}).text;
    // Versions before this one accepted such labels.
    redis.command({"HSET", record, "label", name});
    const auto backup = ctl(redis.url(), {"key", "export"}).out;
    CHECK(contains(backup, name));
    RedisServer other;
    CHECK(ctl(other.url(), {"key", "restore", "-"}, backup).code == 0);
    CHECK(ctl(other.url(), {"key", "export"}).out == backup);
}

TEST_CASE("command line: a new label cannot reorder the text around it")
{
    RedisServer redis;
    const auto key = create_key(redis);
    for (const char* control :
         {"\xd8\x9c", "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xaa",
          "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa9"}) {
        const std::string label = std::string("a") + control + "b";
        for (const Words& command :
             {Words{"key", "create"}, {"key", "set", key.id}}) {
            auto words = command;
            words.insert(words.end(), {"--label", label});
            const auto output = ctl(redis.url(), words);
            CHECK(output.code == 2);
            CHECK(contains(output.err, "--label must not contain"));
        }
    }
    CHECK(ctl(redis.url(), {"key", "set", key.id, "--label", "\xd7\xa9"}).code
          == 0);
}

TEST_CASE("command line: the exit code says what failed, and so does JSON")
{
    RedisServer redis;
    const auto key = create_key(redis);
    const auto fails = [](const std::string& url, const Words& command,
                          int code, const std::string& word) {
        INFO(command.front() << ' ' << command.back());
        const auto text = ctl(url, command);
        CHECK(text.code == code);
        CHECK(text.err.rfind("petstorectl: ", 0) == 0);
        auto words = command;
        words.push_back("--json");
        const auto json = ctl(url, words);
        CHECK(json.code == code);
        const auto error = error_of(json);
        CHECK(error.at("code") == word);
        CHECK("petstorectl: " + error.at("message").get<std::string>() + "\n"
              == text.err);
    };
    for (const Words& command : {Words{"key", "shw", "x"},
                                 {"nonsense"},
                                 {"key", "create", "--plan", "Not a plan"},
                                 {"key", "create", "--expires", "soon"},
                                 {"key", "set", key.id},
                                 {"--prefix", "no prefix", "key", "list"}}) {
        fails(redis.url(), command, 2, "usage");
    }
    for (const char* command : {"show", "set", "rotate", "disable", "enable",
                                "delete", "unban", "usage"}) {
        Words words = {"key", command, "AAAABBBBCCCCDDDD"};
        if (words[1] == "set") {
            words.insert(words.end(), {"--label", "x"});
        }
        fails(redis.url(), words, 3, "not_found");
    }
    fails(redis.url(), {"key", "find", "--sha256", std::string(64, 'a')}, 3,
          "not_found");
    fails(redis.url(), {"pet", "set-status", "1", "sold"}, 3, "not_found");
    fails(redis.url(), {"pet", "import", "/nowhere"}, 1, "failed");

    fails("unix:/nowhere", {"key", "list"}, 4, "redis_unavailable");
    fails("unix:/nowhere", {"key", "create"}, 4, "redis_unavailable");
    fails("cluster redis://" + own_address() + ":"
              + std::to_string(free_port()),
          {"pet", "export"}, 4, "redis_unavailable");
    for (const std::string error :
         {"NOAUTH Authentication required.", "NOPERM no", "READONLY no",
          "OOM no", "LOADING no", "NOREPLICAS no", "MISCONF no", "BUSY no"}) {
        FakeRedis fake([&](const Words&) {
            return FakeRedis::Answer{"-" + error + "\r\n"};
        });
        fails(fake.url(), {"key", "list"}, 4, "redis_unavailable");
        fails(fake.url(), {"pet", "set-status", "1", "sold"}, 4,
              "redis_unavailable");
    }
    redis.command({"HSET", "petstore:keys", key.id, "zz"});
    fails(redis.url(), {"key", "show", key.id}, 1, "failed");
}

TEST_CASE("command line: one of something is singular")
{
    RedisServer redis;
    RedisServer other;
    create_key(redis);
    const auto imported = ctl(redis.url(), {"pet", "import", "-"},
                              R"({"name":"Rex","categoryId":7})");
    CHECK(imported.err == "imported 1 pet\n");
    const auto moved = ctl(redis.url(), {"move", "--to", other.url()});
    INFO(moved.err);
    CHECK(contains(moved.err,
                   ": the counters of 1 account, 1 key and 1 pet were moved."));
}

TEST_CASE("command line: what Redis said before it closed is reported")
{
    RedisServer full({"maxclients 1"});
    const auto client = full.client();
    for (const std::string& url : {full.url(), full.tcp_url()}) {
        for (const std::string credentials : {"", ":pw@"}) {
            auto with = url;
            if (url.rfind("redis://", 0) == 0) {
                with.insert(8, credentials);
            }
            check_fails(ctl(with, {"key", "list"}),
                        "ERR max number of clients reached", 4);
        }
        const auto doctor = ctl(url, {"doctor"});
        CHECK(doctor.code == 4);
        CHECK(contains(doctor.out, "ERR max number of clients reached"));
        CHECK(contains(doctor.out, "maxclients"));
        CHECK_FALSE(contains(doctor.out, "start Redis"));
    }

    // Closes at once: the command finds a closed connection.
    for (
        const std::string error :
        {"ERR max number of clients reached",
         "DENIED Redis is running in protected mode because protected mode is enabled"}) {
        const int port = free_port();
        const ThreadedServer server(listen_tcp(port), [&](int fd) {
            send_all(fd, "-" + error + "\r\n");
        });
        for (const char* credentials : {"", ":pw@"}) {
            const auto url = "redis://" + std::string(credentials)
                             + own_address() + ":" + std::to_string(port);
            for (const std::string form : {"", "cluster ", "sentinel=main "}) {
                const auto output = ctl(form + url, {"key", "list"});
                INFO(output.err);
                CHECK(output.code == 4);
                CHECK(contains(output.err, error));
                CHECK_FALSE(contains(output.err, "Broken pipe"));
            }
        }
    }
}

TEST_CASE("command line: a node of a Cluster is not taken for a store")
{
    ClusterServers redis;
    RedisServer other;
    for (std::size_t i = 0; i < 6; ++i) {
        const std::string node = "redis://" + redis.address(i);
        for (const Words& command : {Words{"key", "list"},
                                     {"key", "create"},
                                     {"pet", "export"},
                                     {"cache", "clear"},
                                     {"move", "--to", other.url()}}) {
            INFO(command[0]);
            check_fails(
                ctl(node, command),
                "is a node of a Redis Cluster: put \"cluster\" before its URL",
                4);
        }
    }
}

TEST_CASE("command line: an unknown plan is shown as such")
{
    RedisServer redis;
    const auto key = create_key(redis, {"--plan", "partner", "--per-day", "7"});
    const auto show = ctl(redis.url(), {"key", "show", key.id}).out;
    CHECK(contains(show, "unknown plan"));
    CHECK_FALSE(contains(show, "?"));
}

TEST_CASE("command line: a terminal shows colours and relative dates")
{
    RedisServer redis;
    create_key(redis, {"--expires", "2999-01-01"});
    const auto coloured = on_terminal(redis.url(), "key list");
    CHECK(coloured.code == 0);
    CHECK(contains(coloured.out, "\x1b[1mID\x1b[0m"));
    CHECK(contains(coloured.out, "\x1b[32musable\x1b[0m"));
    CHECK(contains(coloured.out, "just now"));
    CHECK(contains(coloured.out, " years"));
    CHECK(
        contains(on_terminal(redis.url(), "doctor").out, "\x1b[32mok\x1b[0m"));

    for (const Words& env : {Words{"NO_COLOR=1"}, {"TERM=dumb"}}) {
        const auto plain = on_terminal(redis.url(), "key list", "\n", env);
        CHECK(contains(plain.out, "usable"));
        CHECK_FALSE(contains(plain.out, "\x1b["));
    }
    CHECK(
        contains(on_terminal(redis.url(), "key list", "\n", {"NO_COLOR="}).out,
                 "\x1b[1m"));
    const auto piped = ctl(redis.url(), {"key", "list"});
    CHECK_FALSE(contains(piped.out, "\x1b["));
    CHECK(contains(piped.out, "2999-01-01T00:00:00Z"));
    CHECK_FALSE(
        contains(on_terminal(redis.url(), "key list --json").out, "\x1b["));
}

TEST_CASE("command line: a nearly right option or plan is suggested")
{
    RedisServer redis;
    const auto option =
        ctl(redis.url(), {"--limit-pasword-file", "x", "key", "list"});
    CHECK(option.code == 2);
    CHECK(contains(option.err, "Did you mean '--limit-password-file'?"));
    CHECK_FALSE(contains(option.err, "pasword"));
    const auto plan =
        ctl(redis.url(), {"key", "create", "--plan", "buisness", "--json"});
    CHECK(plan.code == 0);
    remember_secret(nlohmann::json::parse(plan.out).at("key"));
    CHECK(contains(plan.err, "Did you mean 'business'?"));
}
