// docs/petstorectl.md: petstorectl and the service share one store.
#include "support/store.h"

using namespace petstore::e2e;

TEST_CASE("command line: a thousand pets are imported and exported")
{
    Store store;
    import_pets(store.redis, 1000);
    const auto rows = walk(store.http, "/v1/pets?limit=100");
    REQUIRE(rows.size() == 1000);
    CHECK(rows.back().at("name") == "pet 1000");
    CHECK(rows.back().at("categoryId") == 10000);

    const auto exported = ctl(store.redis.url(), {"pet", "export"});
    CHECK(exported.code == 0);
    const auto lines = split(exported.out, '\n');
    REQUIRE(lines.size() == 1000);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        CHECK(nlohmann::json::parse(lines[i]) == rows[i]);
    }
    // The service's next id does not collide with the imported ones.
    CHECK(store.http.post("/v1/pets", "{\"name\":\"n\",\"categoryId\":1}")
              .header("location")
          == "/v1/pets/1001");
}

TEST_CASE("command line: a changed status is visible at once")
{
    Store store;
    import_pets(store.redis, 3);
    CHECK(store.http.get("/v1/pets?status=sold").json().size() == 1);
    CHECK(ctl(store.redis.url(), {"pet", "set-status", "1", "sold"}).code == 0);
    CHECK(store.http.get("/v1/pets/1").json().at("status") == "sold");
    CHECK(store.http.get("/v1/pets").json().at(0).at("status") == "sold");
    CHECK(store.http.get("/v1/pets?status=sold").json().size() == 2);
    CHECK(store.http.get("/v1/pets?status=available").body == "[]");
    CHECK(ctl(store.redis.url(), {"pet", "set-status", "9", "sold"}).code != 0);
    CHECK(ctl(store.redis.url(), {"pet", "set-status", "1", "lost"}).code != 0);
}

TEST_CASE("command line: errors go to stderr and set the exit code")
{
    RedisServer redis;
    for (const auto& arguments :
         {std::vector<std::string>{"key", "show", "nobody"},
          std::vector<std::string>{"key", "delete", "nobody"},
          std::vector<std::string>{"key", "nonsense"},
          std::vector<std::string>{"nonsense"},
          std::vector<std::string>{"pet", "import", "/nowhere.ndjson"}}) {
        const auto result = ctl(redis.url(), arguments);
        CHECK(result.code > 0);
        CHECK(result.code < 128);
        CHECK_FALSE(result.err.empty());
        CHECK(result.out.empty());
    }
    CHECK(contains(ctl(redis.url(), {"key", "set", "x", "--plan"}).err,
                   "--plan needs a value: see petstorectl help key set"));
    const auto same = ctl(redis.url(), {"move", "--to", redis.url()});
    CHECK(same.code == 2);
    CHECK(contains(same.err, "--to names the same database as --redis"));
    const auto away = ctl("unix:/nowhere/redis.sock", {"key", "list"});
    CHECK(away.code > 0);
    CHECK_FALSE(away.err.empty());
    CHECK(ctl(redis.url(), {"--help"}).code == 0);
}

TEST_CASE("command line: an empty value does not take the next argument")
{
    RedisServer redis;
    const auto made = ctl(
        redis.url(), {"key", "create", "--label=", "--scopes=read", "--json"});
    REQUIRE(made.code == 0);
    const auto key = nlohmann::json::parse(made.out);
    remember_secret(key.at("key"));
    CHECK(key.at("label").is_null());
    CHECK(key.at("scopes") == nlohmann::json{"read"});
    CHECK(ctl(redis.url(), {"key", "list", "--json="}).code == 0);
    // After "--", it is no option.
    CHECK(contains(ctl(redis.url(), {"key", "find", "--", "--label="}).err,
                   "no such key"));
    const auto error =
        ctl(redis.url(), {"--json=true", "account", "show", "a"});
    CHECK(nlohmann::json::parse(error.err).at("code") == "not_found");
}

TEST_CASE("command line: the error for an unknown command suggests one")
{
    RedisServer redis;
    const auto says = [&](const std::vector<std::string>& arguments,
                          const std::string& message) {
        const auto result = ctl(redis.url(), arguments);
        CHECK(result.code == 2);
        CHECK(result.out.empty());
        CHECK(result.err == "petstorectl: " + message + "\n");
    };
    says({"key", "crate"}, "unknown command. Did you mean 'create'?");
    says({"kye", "list"}, "unknown command. Did you mean 'key'?");
    says({"create"}, "unknown command. Did you mean 'account create'?");
    says({"key", "rotat", "ID"}, "unknown command. Did you mean 'rotate'?");
    says({"my-secret-key"},
         "unknown command; petstorectl help lists all commands");
    says({"key", "my-secret-key"},
         "unknown command; petstorectl help key lists all commands");
    says({}, "no command given; petstorectl help lists all commands");
    says({"pet"}, "no command given; petstorectl help pet lists all commands");
    says({"key", "create", "--lable", "x"},
         "unknown option. Did you mean '--label'?");
    says({"key", "create", "--my-secret-key"},
         "unknown option: see petstorectl help key create");
    says({"key", "show"}, "ID is required: see petstorectl help key show");
    says({"key", "show", "a", "b"},
         "too many arguments: see petstorectl help key show");
}

TEST_CASE("command line: help and version need no Redis")
{
    const auto says = [&](const std::vector<std::string>& arguments,
                          const std::string& part) {
        const auto result = ctl("nonsense://", arguments);
        CHECK(result.code == 0);
        CHECK(result.err.empty());
        CHECK(contains(result.out, part));
        return result.out;
    };
    says({"help"}, "petstorectl [OPTIONS] SUBCOMMAND");
    says({"help", "key"}, "petstorectl key [OPTIONS] SUBCOMMAND");
    CHECK(says({"help", "key", "rotate"}, "petstorectl key rotate [OPTIONS] ID")
          == says({"key", "rotate", "--help"}, "--grace"));
    CHECK(says({"version"}, "petstorectl ") == says({"--version"}, ""));
    CHECK("petstorectl "
              + nlohmann::json::parse(says({"version", "--json"}, "{"))
                    .at("version")
                    .get<std::string>()
              + "\n"
          == says({"version"}, ""));
    const auto unknown = ctl("nonsense://", {"help", "key", "crate"});
    CHECK(unknown.code == 2);
    CHECK(contains(unknown.err, "Did you mean 'create'?"));
    CHECK(run({"sh", "-c", ctl_binary() + " help > /dev/full"}).code == 1);
}

TEST_CASE("command line: no message repeats an API key")
{
    RedisServer redis;
    const auto key = create_key(redis);
    const std::string imported = "sk_live_51H8~!@#$%^&*()-=[]{}|;:',.<>/?`\"";
    remember_secret(imported);
    for (const auto& secret : {key.secret, imported}) {
        std::vector<std::vector<std::string>> commands = {
            {secret},
            {secret, "list"},
            {"key", secret},
            {"key", "list", secret},
            {"key", "create", secret},
            {"key", "create", "--" + secret},
            {"key", "create", "--lable=" + secret},
            {"key", "create", "--plan", secret},
            {"key", "create", "--per-minute", secret},
            {"key", "create", "--expires=" + secret},
            {"key", "create", "--scopes", secret},
            {"key", "import", "--sha256", secret},
            {"key", "import", secret, secret},
            {"key", "import", secret + " x"},
            {"key", "rotate", key.id, "--grace", secret},
            {"key", "rotate", key.id, secret},
            {"key", "set", secret, "--label", "x"},
            {"key", "list", "--json=" + secret},
            {"key", "list", "--json", secret},
            {"key", "list", "-" + secret},
            {"key", "list", "--", secret},
            {"pet", secret},
            {"pet", "import", secret},
            {"pet", "export", "/nowhere/" + secret},
            {"pet", "set-status", secret, "sold"},
            {"pet", "set-status", "1", secret},
            {"doctor", secret},
            {"help", secret},
            {"help", "key", secret},
            {"version", secret},
            {"--prefix", secret + "!", "key", "list"},
            {"--cacert", secret, "key", "list"},
            {"--key", secret, "key", "list"},
            {"--sni", secret, "key", "list"},
            {"--prefix", secret + secret, "key", "list"},
        };
        for (const char* command : {"show", "rotate", "disable", "enable",
                                    "delete", "unban", "usage"}) {
            commands.push_back({"key", command, secret});
        }
        for (const auto& command : commands) {
            const auto result = ctl(redis.url(), command);
            INFO(command.front()
                 << ' ' << command.back() << ": " << result.err);
            CHECK(result.code >= 1);
            CHECK(result.code <= 3);
            CHECK(result.out.empty());
            CHECK_FALSE(contains(result.err, secret));
            CHECK_FALSE(contains(result.err, secret.substr(0, 16)));
        }
        CHECK_FALSE(contains(
            run({ctl_binary(), "--redis", secret, "key", "list"}).err, secret));
    }
}

TEST_CASE("command line: the access rules of the documentation suffice")
{
    // The code blocks below the heading, for workers and operators.
    std::string text =
        read_file(std::string(E2E_SUPPORT) + "/../../../docs/redis-keys.md");
    text.erase(0, text.find("\n## Access rules"));
    Words rules = {"ACL", "SETUSER",   "operator",    "on",
                   ">pw", "resetkeys", "~petstore:*", "-@all"};
    bool in_block = false;
    for (const auto& line : split(text, '\n')) {
        in_block ^= line.rfind("```", 0) == 0;
        for (const auto& word : split(in_block ? line : "", ' ')) {
            if (word.size() > 1 && word[0] == '+') {
                rules.push_back(word);
            }
        }
    }
    REQUIRE(rules.size() > 30);
    RedisServer redis;
    REQUIRE(redis.command(rules).text == "OK");

    const std::string url = "redis://operator:pw@" + own_address() + ":"
                            + std::to_string(redis.port()) + "/0";
    const auto does = [&](const std::vector<std::string>& arguments,
                          const std::string& input = "") {
        auto command = arguments;
        command.push_back("--json");
        const auto result = ctl(url, command, input);
        INFO(arguments[0] << ' ' << arguments.back() << ": " << result.err);
        CHECK(result.code == 0);
        return nlohmann::json::parse(result.out, nullptr, false);
    };
    const auto made = does({"key", "create"});
    REQUIRE(made.is_object());
    remember_secret(made.at("key"));
    const std::string id = made.at("id");
    const auto rotated = does({"key", "rotate", id});
    REQUIRE(rotated.is_object());
    remember_secret(rotated.at("key"));
    does({"key", "import", "-"}, "a-key-made-elsewhere\n");
    for (const char* command :
         {"show", "disable", "enable", "unban", "usage", "delete"}) {
        does({"key", command, id});
    }
    does({"key", "set", rotated.at("id"), "--label", "x"});
    does({"key", "list"});
    does({"pet", "import", "-"}, "{\"name\":\"a\",\"categoryId\":1}\n");
    does({"pet", "export"});
    does({"pet", "set-status", "1", "sold"});
    does({"doctor"});
}

TEST_CASE("command line: a missing access rule leads to the documentation")
{
    RedisServer redis;
    redis.command({"ACL", "SETUSER", "worker", "on", ">pw", "~*", "+@all",
                   "-hset", "-hgetall", "-hscan"});
    const std::string url = "redis://worker:pw@" + redis.address();
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"key", "list"}, {"key", "create"}}) {
        const auto refused = ctl(url, command);
        INFO(refused.err);
        CHECK(refused.code == 4);
        CHECK(contains(refused.err,
                       "see \"Access rules\" in docs/redis-keys.md"));
    }
}

TEST_CASE("command line: doctor reports what Redis forbids as unknown")
{
    RedisServer redis({"appendonly no", "save 60 1"});
    const std::string url = "redis://managed:pw@" + own_address() + ":"
                            + std::to_string(redis.port());
    const auto verdicts = [&](const Words& forbidden) {
        Words rules = {"ACL", "SETUSER", "managed", "reset",
                       "on",  ">pw",     "~*",      "+@all"};
        rules.insert(rules.end(), forbidden.begin(), forbidden.end());
        REQUIRE(redis.command(rules).text == "OK");
        const auto result = ctl(url, {"doctor", "--json"});
        INFO(result.err);
        CHECK(result.code == 0);
        std::map<std::string, std::string> found;
        for (const auto& finding : nlohmann::json::parse(result.out)) {
            found[finding.at("check")] = finding.at("verdict");
        }
        return found;
    };
    using Verdicts = std::map<std::string, std::string>;
    CHECK(verdicts({"-config"})
          == Verdicts{{"version", "ok"},
                      {"role", "ok"},
                      {"persistence", "warning"},
                      {"durability", "unknown"},
                      {"maxmemory-policy", "ok"},
                      {"cluster", "ok"}});
    CHECK(verdicts({"-config", "-info"})
          == Verdicts{{"version", "ok"},
                      {"role", "ok"},
                      {"persistence", "unknown"},
                      {"durability", "unknown"},
                      {"maxmemory-policy", "unknown"},
                      {"cluster", "ok"},
                      {"worker checks", "warning"}});

    RedisServer silent({"rename-command CONFIG \"\"",
                        "rename-command INFO \"\"",
                        "rename-command HELLO \"\""});
    const auto result = ctl(silent.url(), {"doctor", "--json"});
    CHECK(result.code == 0);
    const auto findings = nlohmann::json::parse(result.out);
    CHECK(findings.size() == 6);
    for (const auto& finding : findings) {
        CHECK(finding.at("verdict") == "unknown");
    }
}

TEST_CASE("command line: doctor names Valkey")
{
    const auto version = [](const std::string& command,
                            const std::string& reply) {
        FakeRedis valkey([&](const Words& words) {
            return FakeRedis::Answer{words[0] == command ? reply
                                                         : "-ERR no\r\n"};
        });
        const auto result = ctl(valkey.url(), {"doctor", "--json"});
        return nlohmann::json::parse(result.out).at(0).at("found");
    };
    const std::string info = "redis_version:7.2.4\r\nserver_name:valkey\r\n"
                             "valkey_version:8.1.1\r\n";
    CHECK(version("INFO",
                  "$" + std::to_string(info.size()) + "\r\n" + info + "\r\n")
          == "Valkey 8.1.1");
    CHECK(version("HELLO", encode({"server", "valkey", "version", "9.1.2"}))
          == "Valkey 9.1.2");
    CHECK(version("HELLO", encode({"server", "redis", "version", "8.0.2"}))
          == "8.0.2");
}

TEST_CASE("command line: password and prefix need not be arguments")
{
    RedisServer redis({"requirepass geheim-7"});
    const std::string url = redis.tcp_url();
    const TempDir dir;
    const std::string file = dir.path() + "/password";
    const auto list = [&](Words arguments, const Words& environment) {
        arguments.insert(arguments.begin(), {ctl_binary(), "--redis"});
        Words words = {"env"};
        words.insert(words.end(), environment.begin(), environment.end());
        words.insert(words.end(), arguments.begin(), arguments.end());
        return run(words);
    };
    CHECK(list({url, "key", "list"}, {}).code == 4);
    CHECK(list({url, "key", "list"}, {"REDISCLI_AUTH=geheim-7"}).code == 0);
    CHECK(list({url, "key", "list"}, {"REDISCLI_AUTH=other"}).code == 4);

    const auto unreadable =
        list({url, "key", "list"}, {"PETSTORE_REDIS_PASSWORD_FILE=/nowhere"});
    CHECK(unreadable.code == 1);
    CHECK(contains(unreadable.err,
                   "the file of --password-file or "
                   "PETSTORE_REDIS_PASSWORD_FILE: No such file"));

    write_file(file, "geheim-7\r\nsecond line\n");
    CHECK(list({url, "--password-file", file, "key", "list"},
               {"REDISCLI_AUTH=other"})
              .code
          == 0);
    for (const auto& content : Words{"", "\n", std::string(4097, 'x')}) {
        write_file(file, content);
        const auto result =
            list({url, "--password-file", file, "key", "list"}, {});
        CHECK(result.code == 1);
        CHECK(contains(result.err, "password of 1 to 4096 bytes"));
    }
    CHECK(list({url, "--password-file", file + "-missing", "key", "list"}, {})
              .code
          == 1);

    const auto made = list({url, "key", "create"}, {"REDISCLI_AUTH=geheim-7",
                                                    "PETSTORE_PREFIX=staging"});
    CHECK(made.code == 0);
    CHECK(redis.command({"KEYS", "staging:*"}).items.size() > 0);
    CHECK(redis.command({"KEYS", "petstore:*"}).items.empty());
}

TEST_CASE("command line: the container's environment gives user and password")
{
    RedisServer redis;
    redis.command({"ACL", "SETUSER", "app", "on", ">pw-of-app", "~*", "+@all"});
    redis.command({"ACL", "SETUSER", "default", "off"});
    const TempDir dir;
    write_file(dir / "password", "pw-of-app\n");
    write_file(dir / "other", "other\n");
    const std::string user = "PETSTORE_REDIS_USER=app";
    const std::string file = "PETSTORE_REDIS_PASSWORD_FILE=" + dir / "password";
    const auto list = [&](const std::string& url, const Words& environment,
                          const Words& options = {}) {
        Words words = {"env"};
        words.insert(words.end(), environment.begin(), environment.end());
        words.insert(words.end(), {ctl_binary(), "--redis", url});
        words.insert(words.end(), options.begin(), options.end());
        words.insert(words.end(), {"key", "list"});
        return run(words).code;
    };
    const auto url = redis.tcp_url();
    CHECK(list(url, {user, file}) == 0);
    CHECK(list(url, {user, file, "REDISCLI_AUTH=other"}) == 0);
    CHECK(list(url, {user}) == 4);
    CHECK(list(url, {file}) == 4);  // as the default user
    // Options and the URL's user and password take precedence.
    CHECK(list(url, {user, file}, {"--user", "nobody"}) == 4);
    CHECK(list(url, {user, file}, {"--password-file", dir / "other"}) == 4);
    CHECK(list("redis://app:pw-of-app@" + redis.address(),
               {"PETSTORE_REDIS_USER=nobody",
                "PETSTORE_REDIS_PASSWORD_FILE=" + dir / "other"})
          == 0);
    // A certificate authority without TLS is an error.
    CHECK(list(url, {user, file, "PETSTORE_REDIS_CA=" + dir / "ca"}) == 2);
    // An empty variable, as a compose file sets it.
    CHECK(list("redis://app:pw-of-app@" + redis.address(),
               {"PETSTORE_REDIS_USER=", "PETSTORE_REDIS_PASSWORD_FILE=",
                "PETSTORE_REDIS_CA="})
          == 0);
}

TEST_CASE("command line: an import reports the number of an invalid line")
{
    Store store;
    const auto result = ctl(store.redis.url(), {"pet", "import", "-"},
                            "{\"name\":\"a\",\"categoryId\":1}\n"
                            "{\"name\":\"b\"}\n"
                            "{\"name\":\"c\",\"categoryId\":3}\n");
    CHECK(result.code != 0);
    CHECK(contains(result.err, "2"));
    // The invalid pet was not imported.
    for (const auto& row : walk(store.http, "/v1/pets")) {
        CHECK(row.at("name") != "b");
    }
    const auto array =
        ctl(store.redis.url(), {"pet", "import", "-"}, "[{\"name\":\"a\"}]\n");
    CHECK(array.code == 1);
    CHECK(contains(array.err, "line 1: must be a JSON object."));
}

TEST_CASE("command line: a primary's name may be a misplaced key")
{
    const std::string url = " redis://127.0.0.1:1";
    const auto named = ctl("sentinel=main" + url, {"key", "list"});
    CHECK(named.code == 4);
    CHECK(contains(named.err, "cannot reach the primary \"main\": "));
    const std::string secret = "sk_live_51H8ABCDEF";
    const auto hidden = ctl("sentinel=" + secret + url, {"key", "list"});
    CHECK(hidden.code == 4);
    CHECK(contains(hidden.err, "cannot reach the primary: "));
    CHECK_FALSE(contains(hidden.err, secret.substr(0, 16)));
}

TEST_CASE(
    "command line: a server without AUTH does not make it print passwords")
{
    RedisServer redis({"rename-command AUTH \"\""});
    const std::string host = redis.tcp_url().substr(8);
    for (const std::string& url :
         {"redis://adm:geheim-7@" + host, "redis://:geheim-7@" + host,
          "sentinel=main redis://:geheim-7@" + host}) {
        const auto output = ctl(url, {"key", "list"});
        INFO(output.err);
        CHECK(output.code == 4);
        CHECK(contains(output.err, "it does not know AUTH"));
        CHECK_FALSE(contains(output.err, "geheim"));
        CHECK_FALSE(contains(output.err, "adm"));
    }
}

TEST_CASE("command line: an error of Redis cannot control the terminal")
{
    FakeRedis fake([](const Words&) {
        return FakeRedis::Answer{"-ERR \x1b[31mred\x07\xff"
                                 + std::string(1'000'000, 'x') + "\r\n"};
    });
    const auto output = ctl(fake.url(), {"key", "list"});
    CHECK(output.code == 4);
    CHECK(contains(output.err, "ERR \\u001b[31mred\\u0007\\xffxxx"));
    CHECK(output.err.size() < 500);
}
