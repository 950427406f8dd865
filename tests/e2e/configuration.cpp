// docs/directives.md: an invalid value makes `nginx -t` fail with file and
// line.
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <sstream>

#include "support/certificates.h"
#include "support/store.h"

using namespace petstore::e2e;

namespace {

NginxOptions any()
{
    NginxOptions options;
    options.redis = "redis://127.0.0.1:6379";
    return options;
}

constexpr std::size_t kZone = 3 * 1024 * 1024;

// Whether the process has shared memory of kZone bytes.
bool maps_zone(pid_t pid)
{
    const auto maps = read_file("/proc/" + std::to_string(pid) + "/maps");
    for (const auto& line : split(maps, '\n')) {
        std::size_t from = 0;
        std::size_t to = 0;
        std::string rights;
        char dash = 0;
        std::istringstream(line) >> std::hex >> from >> dash >> to >> rights;
        if (rights == "rw-s" && to - from == kZone) {
            return true;
        }
    }
    return false;
}

// An nginx without workers, on a unix socket, with these lines in its http
// block.
class BareNginx {
public:
    explicit BareNginx(std::string lines)
    {
        replace_all(lines, "%DIR%", dir_.path());
        write_file(
            dir_ / "nginx.conf",
            "load_module " + module_file()
                + ";\nmaster_process off;\ndaemon off;\npid nginx.pid;\nevents {}\nhttp {\naccess_log off;\n"
                  "client_body_temp_path t; proxy_temp_path t;\n"
                  "fastcgi_temp_path t; uwsgi_temp_path t;\n"
                  "scgi_temp_path t; petstore_zone 3m;\n"
                + lines + "\n}\n");
        nginx_ = Process(
            {{nginx_binary(), "-p", dir_.path(), "-c", "nginx.conf", "-e",
              "error.log"},
             {{"ASAN_OPTIONS", "detect_odr_violation=0:detect_leaks=0"}},
             "",
             dir_ / "output.log",
             dir_ / "output.log"});
        const bool serves = wait_until(
            [&] {
                const int fd = connect_unix(dir_ / "nginx.sock");
                if (fd >= 0) {
                    close(fd);
                }
                return fd >= 0;
            },
            30s);
        if (!serves) {
            throw HarnessError("nginx does not start: "
                               + read_file(dir_ / "error.log")
                               + read_file(dir_ / "output.log"));
        }
        get("/");  // nginx listens before it is ready for SIGQUIT
    }
    ~BareNginx()
    {
        nginx_.signal(SIGQUIT);
        CHECK(nginx_.wait(30s) == 0);
    }

    bool has_zone() const { return maps_zone(nginx_.pid()); }

    // The whole response to a GET.
    std::string get(const std::string& path) const
    {
        const int fd = connect_unix(dir_ / "nginx.sock");
        const auto request = "GET " + path + " HTTP/1.0\r\n\r\n";
        CHECK(write(fd, request.data(), request.size())
              == static_cast<ssize_t>(request.size()));
        std::string response;
        char bytes[4096];
        for (ssize_t n = 0; (n = read(fd, bytes, sizeof(bytes))) > 0;) {
            response.append(bytes, static_cast<std::size_t>(n));
        }
        close(fd);
        return response;
    }

private:
    TempDir dir_;
    Process nginx_;
};

// Runs `nginx -t` on the nginx.conf in that folder.
Output try_configuration(const TempDir& dir)
{
    return run({nginx_binary(), "-t", "-p", dir.path(), "-c", "nginx.conf",
                "-e", "stderr"},
               "", {{"ASAN_OPTIONS", "detect_odr_violation=0:detect_leaks=0"}});
}

}  // namespace

TEST_CASE("configuration: valid directives are accepted")
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
        "petstore_cost 1;",
        "petstore_cost 10000;",
        "petstore_cost $arg_cost;",
        "petstore_cost ${arg_cost};",
        "petstore_base_url https://api.example.com;",
        "petstore_base_url http://[::1]:8080;",
        "petstore_base_url https://example.com:65535/a;",
        "petstore_key_header X123456789012345678901234567890123456789012345678901234567890123;",
        "petstore_max_body_size 1m;",
        "petstore_get_sunset 2040-01-31;",
        "petstore_get_sunset off;",
    };
    for (const auto& line : lines) {
        INFO(line);
        // In each of the contexts that docs/directives.md names.
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
                             "petstore_plan gold month=1000 minute=10 day=100;",
                             "petstore_zone 1m;", "petstore_worker_memory 1g;",
                             "petstore_json_errors on;"}) {
        auto options = any();
        options.http = line;
        CHECK(NginxServer::check(options).code == 0);
    }
}

TEST_CASE("configuration: errors name the file and line of the directive")
{
    const std::vector<std::string> http = {
        "petstore_redis http://127.0.0.1;",
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
        "petstore_plan gold minute=10 month=20;",
        "petstore_cost 0;",
        "petstore_cost ten;",
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
        "petstore_base_url https://example.com:99999;",
        "petstore_base_url https://example.com:;",
        "petstore_base_url https://example.com:8o;",
        "petstore_base_url https://:443;",
        "petstore_base_url https://example..com;",
        "petstore_base_url 'https://[::1';",
        "petstore_base_url 'https://[::1]x:80';",
        "petstore_base_url example.com;",
        "petstore_base_url https://$host;",
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
            options.location = line;  // http already has one
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

TEST_CASE("configuration: no message shows a password")
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

TEST_CASE("configuration: the module does nothing until it is asked to")
{
    const std::string server = "server { listen unix:%DIR%/nginx.sock; ";
    for (const std::string& lines :
         {server + "}", "petstore_plan gold minute=1 day=2; " + server + "}",
          "petstore_json_errors on; " + server
              + "petstore_json_errors off; }"}) {
        INFO(lines);
        const BareNginx nginx(lines);
        CHECK_FALSE(nginx.has_zone());
        const auto response = nginx.get("/nowhere");
        CHECK(contains(response, "Content-Type: text/html\r\n"));
        CHECK_FALSE(contains(response, "X-RateLimit-"));
    }
    for (
        const std::string& lines :
        {server + "location /v1/ { petstore; } }",
         server
             + "} server { listen unix:%DIR%/other.sock; petstore_json_errors on; }"}) {
        INFO(lines);
        CHECK(BareNginx(lines).has_zone());
    }
}

TEST_CASE("configuration: errors in JSON without an API have rate headers")
{
    const BareNginx nginx(
        "server { listen unix:%DIR%/nginx.sock; petstore_json_errors on; petstore_anonymous_limit 7; }");
    const auto response = nginx.get("/nowhere");
    INFO(response);
    CHECK(contains(response, "\"code\":\"not_found\""));
    CHECK(contains(response, "X-RateLimit-Limit: 7\r\n"));
    CHECK(contains(response, "X-RateLimit-Remaining: 7\r\n"));
}

namespace {

// Enables the commented lines about TLS, and those for newer versions of nginx
// if this one has HTTP/3.
void enable_tls(std::string& text)
{
    const auto from = text.find("# listen 443 ssl");
    if (from == std::string::npos) {
        return;
    }
    const bool recent =
        contains(run({nginx_binary(), "-V"}).err, "--with-http_v3_module");
    const auto end = text.find("\n\n", from);
    std::string enabled;
    for (auto line : split(text.substr(from, end - from), '\n')) {
        const bool newer = contains(line, "# # ");
        if (newer && recent) {
            replace_all(line, "# # ", "");
        } else if (!newer && contains(line, ";")) {
            replace_all(line, "# ", "");
        }
        enabled += line + "\n";
    }
    text = text.substr(0, from) + enabled + text.substr(end);
}

// As the file's own comment says.
std::string included_in_production(const std::string& text)
{
    auto whole = read_file(std::string(E2E_SUPPORT)
                           + "/../../../nginx-conf/production.conf");
    const auto end = whole.rfind('}');
    REQUIRE(end != std::string::npos);
    return whole.insert(end, text);
}

}  // namespace

TEST_CASE("configuration: the files of nginx-conf work unchanged, and with TLS")
{
    const bool tls = GENERATE(false, true);
    CAPTURE(tls);
    int files = 0;
    const CertificateAuthority authority;
    for (const auto& file :
         files_below(std::string(E2E_SUPPORT) + "/../../../nginx-conf")) {
        if (file.size() < 5 || file.substr(file.size() - 5) != ".conf") {
            continue;
        }
        INFO(file);
        ++files;
        // The shipped files, except for folders that root owns and ports that
        // may be in use.
        TempDir dir;
        auto text = read_file(file);
        if (contains(file, "/admin.conf")) {
            text = included_in_production(text);
        }
        if (tls) {
            enable_tls(text);
        }
        replace_all(text, "/run/", dir / "");
        replace_all(text, "/tmp/petstore/", dir / "");
        replace_all(text, "/var/log/nginx/", dir / "");
        replace_all(text, "modules/ngx_http_petstore_module.so", module_file());
        if (geteuid() != 0) {
            replace_all(text, "user www-data;", "");
        }
        authority.issue("edge", "DNS:api.test");
        replace_all(text, "/etc/ssl/petstore/fullchain.pem",
                    authority.file("edge.crt"));
        replace_all(text, "/etc/ssl/petstore/key.pem",
                    authority.file("edge.key"));
        for (const char* host : {"host1:8080", "host2:8080"}) {
            replace_all(text, host, "127.0.0.1:9");
        }
        replace_all(text, "listen [::]:443 ", "# ");
        for (const char* port : {"80", "443", "8080", "127.0.0.1:8080",
                                 "127.0.0.1:8081", "127.0.0.1:8082"}) {
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
    CHECK(files == 6);
}
