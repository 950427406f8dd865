// SPEC 4: a wrong value is an error of `nginx -t` with file and line.
#include <sys/stat.h>
#include <unistd.h>

#include "support/store.h"

using namespace petstore::e2e;

namespace {

NginxOptions any()
{
    NginxOptions options;
    options.redis = "redis://127.0.0.1:6379";
    return options;
}

// `nginx -t` of the nginx.conf in that folder.
Output try_configuration(const TempDir& dir)
{
    return run({nginx_binary(), "-t", "-p", dir.path(), "-c", "nginx.conf",
                "-e", "stderr"},
               "", {{"ASAN_OPTIONS", "detect_odr_violation=0:detect_leaks=0"}});
}

}  // namespace

TEST_CASE("configuration: what is right is taken")
{
    const std::vector<std::string> lines = {
        "petstore_redis_timeout 1s;",
        "petstore_redis_connect_timeout 100ms;",
        "petstore_prefix staging;",
        "petstore_ban off;",
        "petstore_ban threshold=10 window=1m duration=5m max=1h;",
        "petstore_anonymous_limit 10;",
        "petstore_anonymous_limit 10 enforce;",
        "petstore_limit_headers standard;",
        "petstore_limit_headers windows;",
        "petstore_limit_headers ietf;",
        "petstore_limit_dry_run on;",
        "petstore_base_url https://api.example.com;",
        "petstore_base_url http://[::1]:8080;",
        "petstore_max_body_size 1m;",
        "petstore_get_sunset 2040-01-31;",
        "petstore_get_sunset off;",
    };
    for (const auto& line : lines) {
        INFO(line);
        // In every context that SPEC names.
        for (auto member : {&NginxOptions::http, &NginxOptions::server,
                            &NginxOptions::location}) {
            auto options = any();
            options.*member = line;
            const auto result = NginxServer::check(options);
            INFO(result.err);
            CHECK(result.code == 0);
        }
    }
    for (const char* line : {"petstore_plan gold minute=10 day=100;",
                             "petstore_zone 1m;", "petstore_json_errors on;"}) {
        auto options = any();
        options.http = line;
        CHECK(NginxServer::check(options).code == 0);
    }
}

TEST_CASE("configuration: what is wrong is told with its place")
{
    const std::vector<std::string> http = {
        "petstore_redis http://127.0.0.1;",
        "petstore_redis redis://;",
        "petstore_redis redis://127.0.0.1:99999;",
        "petstore_redis redis://127.0.0.1/x;",
        "petstore_redis unix:;",
        "petstore_redis;",
        "petstore_redis_timeout soon;",
        "petstore_redis_connect_timeout -1;",
        "petstore_prefix \"a b\";",
        "petstore_prefix \"a{b}\";",
        "petstore_prefix \"\";",
        "petstore_plan gold;",
        "petstore_plan gold minute=x day=1;",
        "petstore_plan gold minute=0 day=1;",
        "petstore_plan gold minute=10;",
        "petstore_ban maybe;",
        "petstore_ban threshold=0;",
        "petstore_ban duration=x;",
        "petstore_ban speed=1;",
        "petstore_anonymous_limit x;",
        "petstore_anonymous_limit 0;",
        "petstore_anonymous_limit 5 perhaps;",
        "petstore_limit_headers all;",
        "petstore_limit_dry_run perhaps;",
        "petstore_base_url ftp://example.com;",
        "petstore_base_url example.com;",
        "petstore_max_body_size x;",
        "petstore_get_sunset tomorrow;",
        "petstore_get_sunset 2030-02-30;",
        "petstore_json_errors perhaps;",
        "petstore_zone 1;",
        "petstore_zone x;",
        "petstore;",
        "petstore_unknown on;",
        "petstore_redis_password_file %DIR%/none;",
    };
    for (const auto& line : http) {
        INFO(line);
        auto options = any();
        if (contains(line, "petstore_redis ") || line == "petstore_redis;") {
            options.location = line;  // http has one already
        } else {
            options.http = line;
        }
        const auto result = NginxServer::check(options);
        INFO(result.err);
        CHECK(result.code == 1);
        CHECK(contains(result.err, "[emerg]"));
        CHECK(contains(result.err, "nginx.conf:"));
        CHECK_FALSE(contains(result.err, "Sanitizer"));
    }
    for (const std::string& line :
         {std::string("petstore v1;"), std::string("petstore /v1/;"),
          std::string("petstore /a b;")}) {
        INFO(line);
        auto options = any();
        options.server = "location /other/ { " + line + " }";
        const auto result = NginxServer::check(options);
        INFO(result.err);
        CHECK(result.code == 1);
    }
}

TEST_CASE("configuration: a password does not show in a message")
{
    auto options = any();
    options.location = "petstore_redis redis://user:geheim-7@127.0.0.1:99999;";
    const auto result = NginxServer::check(options);
    CHECK(result.code == 1);
    CHECK_FALSE(contains(result.err, "geheim-7"));
}

TEST_CASE("configuration: without a petstore the module does nothing")
{
    TempDir dir;
    write_file(dir / "nginx.conf", "load_module " + module_file()
                                       + ";\npid nginx.pid;\nevents {}\n");
    const auto result = try_configuration(dir);
    INFO(result.err);
    CHECK(result.code == 0);
    CHECK_FALSE(contains(result.err, "Sanitizer"));
}

TEST_CASE("configuration: the files of nginx-conf run as they are")
{
    int files = 0;
    for (const auto& file :
         files_below(std::string(E2E_SUPPORT) + "/../../../nginx-conf")) {
        if (file.size() < 5 || file.substr(file.size() - 5) != ".conf") {
            continue;
        }
        INFO(file);
        ++files;
        // As they are but for the folders that belong to root and the ports
        // that may be taken.
        TempDir dir;
        auto text = read_file(file);
        replace_all(text, "/run/", dir / "");
        replace_all(text, "/tmp/petstore/", dir / "");
        replace_all(text, "/var/log/nginx/", dir / "");
        replace_all(text, "modules/ngx_http_petstore_module.so", module_file());
        if (geteuid() != 0) {
            replace_all(text, "user www-data;", "");
        }
        for (const char* port : {"80", "8080", "127.0.0.1:8080"}) {
            const auto own =
                "listen " + own_address() + ":" + std::to_string(free_port());
            replace_all(text, std::string("listen ") + port + ";", own + ";");
            replace_all(text, std::string("listen ") + port + " ", own + " ");
        }
        replace_all(text, "listen [::]:80 ", "# ");
        write_file(dir / "nginx.conf", text);
        mkdir((dir / "reports").c_str(), 0777);
        const auto result = try_configuration(dir);
        INFO(result.err);
        CHECK(result.code == 0);
        CHECK_FALSE(contains(result.err, "[warn]"));
        CHECK_FALSE(contains(result.err, "Sanitizer"));
    }
    CHECK(files >= 3);
}
