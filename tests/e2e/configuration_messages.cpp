// docs/directives.md: messages of `nginx -t` name the directive's file and
// line, quote the value and list the accepted ones.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "support/store.h"

using namespace petstore::e2e;

namespace {

// A configuration whose parts are on known lines.
struct Parts {
    std::string http;      // line 6
    std::string server;    // line 9
    std::string location;  // line 12
    std::string more;      // line 15, in the server

    static constexpr const char* kHttp = "nginx.conf:6";
    static constexpr const char* kServer = "nginx.conf:9";
    static constexpr const char* kPetstore = "nginx.conf:11";
    static constexpr const char* kLocation = "nginx.conf:12";
    static constexpr const char* kMore = "nginx.conf:15";
};

std::string text_of(const Parts& parts)
{
    return "load_module " + module_file() + ";\n" + R"(pid nginx.pid;
events {}
http {
    client_body_temp_path t; proxy_temp_path t; fastcgi_temp_path t; uwsgi_temp_path t; scgi_temp_path t; access_log off;
)" + parts.http
           + R"(
    server {
        listen unix:%DIR%/nginx.sock;
)" + parts.server
           + R"(
        location /v1/ {
            petstore;
)" + parts.location
           + R"(
        }

)" + parts.more
           + R"(
    }
}
)";
}

struct Said {
    bool accepted;
    std::vector<std::string> lines;  // [emerg], [warn], in their order
};

// The messages of nginx about the nginx.conf in that folder, with file names as
// they appear in it.
Said ask(const TempDir& dir, std::vector<std::string> command = {})
{
    for (const auto& word :
         {nginx_binary(), std::string("-t"), std::string("-p"), dir.path(),
          std::string("-c"), std::string("nginx.conf"), std::string("-e"),
          std::string("stderr")}) {
        command.push_back(word);
    }
    const auto result =
        run(command, "",
            {{"ASAN_OPTIONS", "detect_odr_violation=0:detect_leaks=0"}});
    CHECK_FALSE(contains(result.err, "Sanitizer"));
    Said said{result.code == 0, {}};
    // DATE TIME [LEVEL] PID#TID: MESSAGE
    for (auto line : split(result.err, '\n')) {
        const auto level = std::min(line.find("[emerg]"), line.find("[warn]"));
        if (level != std::string::npos) {
            const auto id = line.find("] ", level) + 2;
            line.erase(id, line.find(": ", id) + 2 - id);
            replace_all(line, dir.path() + "/", "");
            said.lines.push_back(line.substr(level));
        }
    }
    return said;
}

Said ask(const Parts& parts)
{
    TempDir dir;
    auto text = text_of(parts);
    replace_all(text, "%DIR%", dir.path());
    write_file(dir / "nginx.conf", text);
    return ask(dir);
}

using Lines = std::vector<std::string>;

void refuses(const Parts& parts, const std::string& message,
             const std::string& place)
{
    INFO(parts.http << parts.server << parts.location << parts.more);
    const auto said = ask(parts);
    CHECK_FALSE(said.accepted);
    CHECK(said.lines == Lines{"[emerg] " + message + " in " + place});
}

void warns(const Parts& parts, const std::string& message,
           const std::string& place)
{
    INFO(parts.http << parts.server << parts.location << parts.more);
    const auto said = ask(parts);
    CHECK(said.accepted);
    CHECK(said.lines == Lines{"[warn] " + message + " in " + place});
}

void is_silent(const Parts& parts)
{
    INFO(parts.http << parts.server << parts.location << parts.more);
    const auto said = ask(parts);
    CHECK(said.accepted);
    CHECK(said.lines == Lines{});
}

Parts http(const std::string& lines)
{
    return {lines, "", "", ""};
}

Parts location(const std::string& lines)
{
    return {"", "", lines, ""};
}

Parts more(const std::string& lines)
{
    return {"", "", "", lines};
}

}  // namespace

TEST_CASE("messages: an invalid value is quoted, with the accepted ones")
{
    const struct {
        const char* directive;
        const char* message;
    } rows
        [] =
            {
                {"petstore_redis_timeout soon;",
                 "invalid value \"soon\" in \"petstore_redis_timeout\" directive, it must be a time from 1ms to 1d, such as \"500ms\" or \"2s\""},
                {"petstore_redis_timeout 0;",
                 "invalid value \"0\" in \"petstore_redis_timeout\" directive, it must be a time from 1ms to 1d, such as \"500ms\" or \"2s\""},
                {"petstore_redis_connect_timeout 2d;",
                 "invalid value \"2d\" in \"petstore_redis_connect_timeout\" directive, it must be a time from 1ms to 1d, such as \"500ms\" or \"2s\""},
                {"petstore_max_body_size 0;",
                 "invalid value \"0\" in \"petstore_max_body_size\" directive, it must be a size from 1 to 1g"},
                {"petstore_max_body_size 99999999999999999999;",
                 "invalid value \"99999999999999999999\" in \"petstore_max_body_size\" directive, it must be a size from 1 to 1g"},
                {"petstore_zone 16k;",
                 "invalid value \"16k\" in \"petstore_zone\" directive, it must be a size from %ZONE% to 64g"},
                {"petstore_zone 1000g;",
                 "invalid value \"1000g\" in \"petstore_zone\" directive, it must be a size from %ZONE% to 64g"},
                {"petstore_worker_memory 1000k;",
                 "invalid value \"1000k\" in \"petstore_worker_memory\" directive, it must be a size from 1m to 1024g"},
                {"petstore_worker_memory much;",
                 "invalid value \"much\" in \"petstore_worker_memory\" directive, it must be a size from 1m to 1024g"},
                {"petstore_limit_headers all;",
                 "invalid value \"all\" in \"petstore_limit_headers\" directive, it must be one of \"standard\", \"windows\", \"ietf\""},
                {"petstore_limit_dry_run perhaps;",
                 "invalid value \"perhaps\" in \"petstore_limit_dry_run\" directive, it must be \"on\" or \"off\""},
                {"petstore_json_errors 1;",
                 "invalid value \"1\" in \"petstore_json_errors\" directive, it must be \"on\" or \"off\""},
                {"petstore_prefix \"a b\";",
                 "invalid value \"a b\" in \"petstore_prefix\" directive, it must be 1 to 32 letters, digits, \"_\", \"-\" or \".\""},
                {"petstore_prefix \"\";",
                 "invalid value \"\" in \"petstore_prefix\" directive, it must be 1 to 32 letters, digits, \"_\", \"-\" or \".\""},
                {"petstore_get_sunset 2030-02-30;",
                 "invalid value \"2030-02-30\" in \"petstore_get_sunset\" directive, it must be a date after 1970, such as \"2030-12-05\" or \"2030-12-05T10:00:00Z\", or \"off\""},
                {"petstore_anonymous_limit 0;",
                 "invalid value \"0\" in \"petstore_anonymous_limit\" directive, it must be a number from 1 to 1000000000"},
                {"petstore_anonymous_limit 5 perhaps;",
                 "invalid parameter \"perhaps\" in \"petstore_anonymous_limit\" directive, it must be \"enforce\""},
                {"petstore_plan Gold minute=1 day=1;",
                 "invalid plan \"Gold\" in \"petstore_plan\" directive, it must be 1 to 32 lower-case letters, digits, \"-\" or \"_\", and none of \"none\", \"all\" and \"unknown\""},
                {"petstore_plan gold minute=x day=1;",
                 "invalid parameter \"minute=x\" in \"petstore_plan\" directive, it must be a number from 1 to 1000000000000"},
                {"petstore_plan gold minute=1 day=1000000000001;",
                 "invalid parameter \"day=1000000000001\" in \"petstore_plan\" directive, it must be a number from 1 to 1000000000000"},
                {"petstore_plan gold minute=1 minute=2;",
                 "duplicate parameter \"minute=2\" in \"petstore_plan\" directive"},
                {"petstore_plan gold minute=1 hour=2;",
                 "invalid parameter \"hour=2\" in \"petstore_plan\" directive, it must be \"minute=N\", \"day=N\" or \"month=N\""},
                {"petstore_plan gold minute=1 month=2;",
                 "plan \"gold\" in \"petstore_plan\" directive lacks \"day=N\""},
                {"petstore_plan gold month=1 day=2;",
                 "plan \"gold\" in \"petstore_plan\" directive lacks \"minute=N\""},
                {"petstore_plan gold minute=1 day=2 month=0;",
                 "invalid parameter \"month=0\" in \"petstore_plan\" directive, it must be a number from 1 to 1000000000000"},
                {"petstore_plan gold minute=1 day=2 month=3 month=4;",
                 "invalid number of arguments in \"petstore_plan\" directive"},
                {"petstore_plan gold minute=1;",
                 "invalid number of arguments in \"petstore_plan\" directive"},
                {"petstore_cost 0;",
                 "invalid value \"0\" in \"petstore_cost\" directive, it must be a number from 1 to 10000, or a variable"},
                {"petstore_cost 10001;",
                 "invalid value \"10001\" in \"petstore_cost\" directive, it must be a number from 1 to 10000, or a variable"},
                {"petstore_cost 1.5;",
                 "invalid value \"1.5\" in \"petstore_cost\" directive, it must be a number from 1 to 10000, or a variable"},
                {"petstore_cost 1$arg_x;",
                 "invalid value \"1$arg_x\" in \"petstore_cost\" directive, it must be a number from 1 to 10000, or a variable"},
                {"petstore_cost $;",
                 "invalid value \"$\" in \"petstore_cost\" directive, it must be a number from 1 to 10000, or a variable"},
                {"petstore_cost $arg_a$arg_b;",
                 "invalid value \"$arg_a$arg_b\" in \"petstore_cost\" directive, it must be a number from 1 to 10000, or a variable"},
                {"petstore_cost 1 2;",
                 "invalid number of arguments in \"petstore_cost\" directive"},
                {"petstore_ban maybe;", "invalid parameter \"maybe\" in \"petstore_ban\" directive, it must be \"off\" alone, \"threshold=N\", \"window=TIME\", \"duration=TIME\" or \"max=TIME\""},
                {"petstore_ban off max=1h;",
                 "invalid parameter \"off\" in \"petstore_ban\" directive, it must be \"off\" alone, \"threshold=N\", \"window=TIME\", \"duration=TIME\" or \"max=TIME\""},
                {"petstore_ban threshold=0;",
                 "invalid parameter \"threshold=0\" in \"petstore_ban\" directive, it must be a number from 1 to 1000000000000"},
                {"petstore_ban window=2d;",
                 "invalid parameter \"window=2d\" in \"petstore_ban\" directive, it must be a time from 1s to 1d, such as \"90s\" or \"5m\""},
                {"petstore_ban max=1h max=2h;",
                 "duplicate parameter \"max=2h\" in \"petstore_ban\" directive"},
                {"petstore_ban duration=10m max=5m;",
                 "\"max\" of 300s in \"petstore_ban\" directive is less than \"duration\", which is 600s"},
                {"petstore_ban max=1m;",
                 "\"max\" of 60s in \"petstore_ban\" directive is less than \"duration\", which is 300s"},
                {"petstore_durability;",
                 "invalid number of arguments in \"petstore_durability\" directive"},
                {"petstore_durability replicas=1 fsync off;",
                 "invalid number of arguments in \"petstore_durability\" directive"},
                {"petstore_durability on;",
                 "invalid parameter \"on\" in \"petstore_durability\" directive, it must be \"off\" alone, \"replicas=N\" or \"fsync\""},
                {"petstore_durability \"\";",
                 "invalid parameter \"\" in \"petstore_durability\" directive, it must be \"off\" alone, \"replicas=N\" or \"fsync\""},
                {"petstore_durability replicas;",
                 "invalid parameter \"replicas\" in \"petstore_durability\" directive, it must be \"off\" alone, \"replicas=N\" or \"fsync\""},
                {"petstore_durability fsync off;",
                 "invalid parameter \"off\" in \"petstore_durability\" directive, it must be \"off\" alone, \"replicas=N\" or \"fsync\""},
                {"petstore_durability fsync=1;",
                 "invalid parameter \"fsync=1\" in \"petstore_durability\" directive, it must be \"off\" alone, \"replicas=N\" or \"fsync\""},
                {"petstore_durability replicas=0;",
                 "invalid parameter \"replicas=0\" in \"petstore_durability\" directive, it must be a number from 1 to 100"},
                {"petstore_durability replicas=101;",
                 "invalid parameter \"replicas=101\" in \"petstore_durability\" directive, it must be a number from 1 to 100"},
                {"petstore_durability replicas=;",
                 "invalid parameter \"replicas=\" in \"petstore_durability\" directive, it must be a number from 1 to 100"},
                {"petstore_durability replicas=1 replicas=1;",
                 "duplicate parameter \"replicas=1\" in \"petstore_durability\" directive"},
                {"petstore_durability fsync fsync;",
                 "duplicate parameter \"fsync\" in \"petstore_durability\" directive"},
            };
    const auto pages = 8 * sysconf(_SC_PAGESIZE) / 1024;
    const auto zone = pages % 1024 == 0 ? std::to_string(pages / 1024) + "m"
                                        : std::to_string(pages) + "k";
    for (const auto& row : rows) {
        std::string message = row.message;
        replace_all(message, "%ZONE%", zone);
        refuses(http(row.directive), message, Parts::kHttp);
    }
}

TEST_CASE("messages: a repeated directive is an error")
{
    for (const char* directive : {"petstore_redis redis://h",
                                  "petstore_redis_user u",
                                  "petstore_redis_password_file f",
                                  "petstore_redis_connect_timeout 1s",
                                  "petstore_redis_timeout 1s",
                                  "petstore_redis_ssl_verify off",
                                  "petstore_redis_ssl_trusted_certificate f",
                                  "petstore_redis_ssl_name n",
                                  "petstore_redis_ssl_certificate f",
                                  "petstore_redis_ssl_certificate_key f",
                                  "petstore_prefix p",
                                  "petstore_cost 2",
                                  "petstore_cost $arg_cost",
                                  "petstore_base_url http://h",
                                  "petstore_max_body_size 1k",
                                  "petstore_get_sunset off",
                                  "petstore_json_errors on",
                                  "petstore_ban off",
                                  "petstore_durability fsync",
                                  "petstore_anonymous_limit 1",
                                  "petstore_limit_headers ietf",
                                  "petstore_limit_dry_run on",
                                  "petstore_zone 1m",
                                  "petstore_worker_memory 1m"}) {
        const std::string line = directive;
        refuses(http(line + "; " + line + ";"),
                "\"" + line.substr(0, line.find(' '))
                    + "\" directive is duplicate",
                Parts::kHttp);
    }
    refuses(location("petstore;"), "\"petstore\" directive is duplicate",
            Parts::kLocation);
}

TEST_CASE("messages: a wrong URL is quoted without a password")
{
    const struct {
        const char* arguments;
        const char* message;
    } rows[] = {
        {"http://127.0.0.1",
         "invalid URL \"http://127.0.0.1\" in \"petstore_redis\" directive: a Redis URL starts with \"redis://\", \"rediss://\" or \"unix:/\""},
        {"redis://user:geheim-7@127.0.0.1:99999",
         "invalid URL \"redis://***@127.0.0.1:99999\" in \"petstore_redis\" directive: the port must be a number from 1 to 65535"},
        {"cluster redis://u:geheim-7@h", "host not found in Redis \"h:6379\""},
        {"redis://:my geheim-7@h",
         "\"petstore_redis\" directive takes one URL; several need \"sentinel=NAME\" or \"cluster\" before them"},
        {"sentinel=main redis://:geheim-7@h",
         "host not found in Redis \"h:26379\""},
        {"sentinel=a:b redis://h",
         "\"petstore_redis\" directive takes the name of a primary after \"sentinel=\", made of letters, digits, \".\", \"-\" and \"_\""},
        {"cluster redis://h redis://g/1",
         "invalid URL \"redis://g/1\" in \"petstore_redis\" directive: a cluster has no databases"},
    };
    for (const auto& row : rows) {
        refuses(location(std::string("petstore_redis ") + row.arguments + ";"),
                row.message, Parts::kLocation);
    }
}

TEST_CASE("messages: a durability without support is reported at its directive")
{
    const char* const message =
        "\"petstore_durability\" does not support the Cluster of \"petstore_redis\": use \"off\", or one Redis or Sentinels for \"petstore_redis\"";
    const std::string cluster = "petstore_redis cluster redis://127.0.0.1;";
    refuses({cluster, "", "petstore_durability fsync;", ""}, message,
            Parts::kLocation);
    refuses({"", "petstore_durability replicas=1;", cluster, ""}, message,
            Parts::kServer);
}

TEST_CASE("messages: a wrong TLS file is reported at its directive")
{
    const std::string redis = "petstore_redis rediss://127.0.0.1;";
    const struct {
        const char* directives;
        const char* message;  // its start
    } rows[] = {
        {"petstore_redis_ssl_trusted_certificate /none.pem;",
         ""},  // depends on nginx's version
        {"petstore_redis_ssl_certificate /none.pem; petstore_redis_ssl_certificate_key /none.key;",
         "cannot load certificate \"/none.pem\": "},
        {"petstore_redis_ssl_certificate /none.pem;",
         "no \"petstore_redis_ssl_certificate_key\" is defined for \"/none.pem\""},
        {"petstore_redis_ssl_certificate_key /none.key;",
         "no \"petstore_redis_ssl_certificate\" is defined for \"/none.key\""},
    };
    for (const auto& row : rows) {
        INFO(row.directives);
        const auto said = ask({row.directives, "", redis, ""});
        CHECK_FALSE(said.accepted);
        REQUIRE(said.lines.size() == 1);
        INFO(said.lines[0]);
        CHECK(said.lines[0].find(std::string("[emerg] ") + row.message) == 0);
        CHECK(contains(said.lines[0], "/none."));
        const auto place = std::string(" in ") + Parts::kHttp;
        REQUIRE(said.lines[0].size() > place.size());
        CHECK(said.lines[0].substr(said.lines[0].size() - place.size())
              == place);
        // An empty value cancels an inherited one.
        is_silent(
            {row.directives, "",
             redis
                 + "petstore_redis_ssl_trusted_certificate \"\"; petstore_redis_ssl_certificate \"\"; petstore_redis_ssl_certificate_key \"\";",
             ""});
    }
}

TEST_CASE("messages: a TLS directive that applies to no TLS")
{
    const std::string plain = "petstore_redis redis://127.0.0.1; ";
    const std::string tls = "petstore_redis rediss://127.0.0.1; ";
    const std::string limits = "petstore_limit_redis redis://127.0.0.2; ";
    const std::string tls_limits = "petstore_limit_redis rediss://127.0.0.2; ";
    const std::string elsewhere = " location /v2/ { petstore /v2; " + tls + "}";
    for (const std::string directive :
         {"petstore_redis_ssl_verify off;",
          "petstore_redis_ssl_trusted_certificate /none.pem;",
          "petstore_redis_ssl_name redis.test;",
          "petstore_redis_ssl_certificate /none.pem;",
          "petstore_redis_ssl_certificate_key /none.key;"}) {
        const auto message = "\"" + directive.substr(0, directive.find(' '))
                             + "\" applies to no \"rediss://\" URL";
        refuses({directive, "", "", ""}, message, Parts::kHttp);
        refuses({"", directive, plain + limits, ""}, message, Parts::kServer);
        refuses({"", "", plain + directive, elsewhere}, message,
                Parts::kLocation);
        refuses({tls, plain + directive, limits, ""}, message, Parts::kServer);
    }
    const std::string verify = "petstore_redis_ssl_verify off; ";
    is_silent({verify, tls, "", ""});
    is_silent({tls, verify, "", ""});
    is_silent({verify + tls, plain, "", ""});
    is_silent({verify, "", plain, elsewhere});
    is_silent({verify, "", "petstore_redis_ssl_verify on; " + tls, ""});
    is_silent({tls, "", verify + limits, ""});
    is_silent({plain, "", verify + tls_limits, ""});
    is_silent(
        {"", "", "petstore_redis cluster rediss://127.0.0.1; " + verify, ""});
}

TEST_CASE("messages: a timeout that may lack its unit")
{
    for (const std::string name :
         {"petstore_redis_timeout", "petstore_redis_connect_timeout"}) {
        warns(
            http(name + " 500;"),
            "\"" + name
                + "\" of \"500\" is 500 seconds: requests may wait that long for Redis; a number without a unit is in seconds, \"ms\" stands for milliseconds",
            Parts::kHttp);
        is_silent(http(name + " 60s;"));
        is_silent(http(name + " 500ms;"));
    }
}

TEST_CASE("messages: a wrong base path")
{
    const std::string accepted =
        " in \"petstore\" directive, it must be a path that starts with \"/\" and ends with a version, such as \"/v1\" or \"/store/v1\", without \"//\", \"/.\" and characters to be escaped";
    for (const char* path : {"v1", "/v1/", "/v0", "/store", "//v1", "/../v1",
                             "/a%20b/v1", "/\xc3\xa4/v1", ""}) {
        refuses(more("location /other/ { petstore \"" + std::string(path)
                     + "\"; }"),
                "invalid value \"" + std::string(path) + "\"" + accepted,
                Parts::kMore);
    }
}

TEST_CASE("messages: a wrong base URL")
{
    const std::string accepted =
        " in \"petstore_base_url\" directive, it must be an absolute http or https URL without user, query, variables and characters to be escaped, and without \"//\" and \"/.\" in its path";
    for (const auto& [url, quoted] : {std::pair("example.com", "example.com"),
                                      {"http:///v1", "http:///v1"},
                                      {"https://u:geheim-7@h", "https://***@h"},
                                      {"https://$host", "https://$host"},
                                      {"https://h/a?b", "https://h/a?b"},
                                      {"https://h/a%20b", "https://h/a%20b"},
                                      {"https://h/a//b", "https://h/a//b"},
                                      {"https://h/a/./b", "https://h/a/./b"},
                                      {"https://h/a/../b", "https://h/a/../b"},
                                      {"https://h/..", "https://h/.."}}) {
        refuses(http("petstore_base_url " + std::string(url) + ";"),
                "invalid value \"" + std::string(quoted) + "\"" + accepted,
                Parts::kHttp);
    }
    is_silent(http("petstore_base_url https://h.example/a.b/c/;"));
}

TEST_CASE("messages: an unresolvable host is reported at petstore_redis")
{
    const std::string message =
        "host not found in Redis \"no..such.host:6379\"";
    const std::string redis =
        "petstore_redis redis://u:geheim-7@no..such.host;";
    refuses(http(redis), message, Parts::kHttp);
    refuses({"", redis, "", ""}, message, Parts::kServer);
    refuses(location(redis), message, Parts::kLocation);
    // Inherited by one location, overridden in the other.
    refuses({redis, "", "petstore_redis redis://127.0.0.1;",
             "location /store/v1/ { petstore /store/v1; }"},
            message, Parts::kHttp);
    // Nothing uses the name.
    is_silent({redis, "", "petstore_redis redis://127.0.0.1;", ""});

    TempDir dir;
    auto text = text_of(http("include redis.conf;"));
    replace_all(text, "%DIR%", dir.path());
    write_file(dir / "nginx.conf", text);
    write_file(dir / "redis.conf", "# Where Redis is:\n\n" + redis);
    CHECK(ask(dir).lines == Lines{"[emerg] " + message + " in redis.conf:3"});
}

TEST_CASE("messages: a password file that cannot be read, and why")
{
    TempDir dir;
    const auto said_of = [&](const std::string& file,
                             std::vector<std::string> command = {}) {
        auto text = text_of({"petstore_redis_password_file " + file + ";", "",
                             "petstore_redis redis://user@127.0.0.1;", ""});
        replace_all(text, "%DIR%", dir.path());
        write_file(dir / "nginx.conf", text);
        return ask(dir, std::move(command)).lines;
    };
    const auto line = [](const std::string& message) {
        return Lines{"[emerg] " + message + " in nginx.conf:6"};
    };

    CHECK(said_of("none")
          == line("open() \"none\" failed (2: No such file or directory)"));
    mkdir((dir / "folder").c_str(), 0755);
    CHECK(said_of("folder")
          == line("read() \"folder\" failed (21: Is a directory)"));

    // Root can read it anyway, unless it drops that privilege.
    write_file(dir / "locked", "secret\n");
    chmod((dir / "locked").c_str(), 0);
    std::vector<std::string> humble;
    if (geteuid() == 0) {
        humble = {"setpriv", "--bounding-set=-dac_override,-dac_read_search"};
    }
    CHECK(said_of("locked", humble)
          == line("open() \"locked\" failed (13: Permission denied)"));

    const std::string size = "must be a password of 1 to 4096 bytes";
    write_file(dir / "empty", "");
    CHECK(said_of("empty") == line("the first line of \"empty\" " + size));
    write_file(dir / "blank", "\r\nsecret\n");
    CHECK(said_of("blank") == line("the first line of \"blank\" " + size));
    write_file(dir / "long", std::string(4097, 'x') + "\n");
    CHECK(said_of("long") == line("the first line of \"long\" " + size));
    write_file(dir / "longest", std::string(4096, 'x') + "\r\nmore\n");
    CHECK(said_of("longest") == Lines{});
    // The file is not read if the URL has a password.
    is_silent({"petstore_redis_password_file none;", "",
               "petstore_redis redis://:geheim-7@127.0.0.1;", ""});
}

TEST_CASE("messages: a location that never sees the API")
{
    const auto message = [](const std::string& base,
                            const std::string& location) {
        return "no request for \"" + base + "/pets\" reaches location \""
               + location
               + "\"; the argument of \"petstore\" sets another base path";
    };
    warns(more("location /store/v1/ { petstore; }"),
          message("/v1", "/store/v1/"), Parts::kMore);
    warns(more("location ^~ /store/v1/ { petstore; }"),
          message("/v1", "/store/v1/"), Parts::kMore);
    warns(more("location /v1/petsitters { petstore; }"),
          message("/v1", "/v1/petsitters"), Parts::kMore);
    warns(more("location /v2/ { petstore /v22; }"), message("/v22", "/v2/"),
          Parts::kMore);
    warns(more("location /V2/ { petstore /v2; }"), message("/v2", "/V2/"),
          Parts::kMore);

    for (const char* fine :
         {"location /store/v1/ { petstore /store/v1; }",
          "location /store/ { petstore /store/v1; }",
          "location /v1/openapi.json { petstore; }",
          "location /store/v { petstore /store/v1; }",
          "location / { petstore; }", "location /v2 { petstore /v2; }",
          "location /v2/pets { petstore /v2; }",
          "location /v2/pets/ { petstore /v2; }",
          "location /v2/pets/7 { petstore /v2; }",
          "location ~ ^/anything { petstore; }",
          "location = /anything { petstore; }", "location @any { petstore; }",
          "location /shop/ { rewrite ^/shop(.*)$ /v1$1 break; petstore; }"}) {
        is_silent(more(fine));
    }
}

TEST_CASE("messages: a location that never sees the admin API")
{
    const std::string hidden = " allow 127.0.0.1; deny all; }";
    const auto warned = [&](const std::string& location,
                            const std::string& base) {
        warns(
            more("location " + location + " { petstore_admin \"" + base + "\";"
                 + hidden),
            "no request for \"" + base + "/keys\" reaches location \""
                + location
                + "\"; the argument of \"petstore_admin\" sets another base path",
            Parts::kMore);
    };
    warned("/b/", "/a");
    warned("/a/", "");
    warned("/a/orders/", "/a");
    for (const char* fine :
         {"/a/ { petstore_admin;", "/a { petstore_admin;",
          "/ { petstore_admin;", "\"\" { petstore_admin;",
          "/ { petstore_admin /a;", "/a/keys/ { petstore_admin /a;",
          "/a/u { petstore_admin /a;"}) {
        is_silent(more("location " + std::string(fine) + hidden));
    }
}

TEST_CASE("messages: plans that make no sense")
{
    warns(http("petstore_plan gold minute=101 day=100;"),
          "the minute limit 101 of plan \"gold\" exceeds its day limit 100",
          Parts::kHttp);
    warns(http("petstore_plan gold minute=1 day=101 month=100;"),
          "the day limit 101 of plan \"gold\" exceeds its month limit 100",
          Parts::kHttp);
    is_silent(http("petstore_plan gold minute=100 day=100;"));
    is_silent(http("petstore_plan gold minute=100 day=100 month=100;"));
    is_silent(http("petstore_plan free minute=1 day=2;"));
    warns(
        http(
            "petstore_plan gold minute=1 day=2; petstore_plan silver minute=1 day=2; petstore_plan gold minute=1 day=3;"),
        "plan \"gold\" replaces the one of that name in nginx.conf:6",
        Parts::kHttp);
}

TEST_CASE("messages: petstore beside another handler")
{
    const std::string after =
        "\"petstore\" is overridden by a later directive, such as \"proxy_pass\"";
    const std::string before =
        "\"petstore\" overrides an earlier directive, such as \"proxy_pass\"";
    for (const char* other : {"proxy_pass http://127.0.0.1:1;",
                              "fastcgi_pass 127.0.0.1:1;", "empty_gif;"}) {
        INFO(other);
        warns(location(other), after, Parts::kPetstore);
        warns(
            more("location /v1/pets/ { " + std::string(other) + " petstore; }"),
            before, Parts::kMore);
    }
    // In locations of their own.
    is_silent(
        location("location /v1/docs/ { proxy_pass http://127.0.0.1:1; }"));
    is_silent(location("if ($arg_old) { proxy_pass http://127.0.0.1:1; }"));
    is_silent(location("limit_except GET { deny all; }"));
}
