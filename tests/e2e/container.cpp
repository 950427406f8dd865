// The container's entry point, configuration and health check, outside a
// container: scripts/container-entrypoint and nginx-conf/container.conf.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "support/back_end.h"
#include "support/limits.h"
#include "support/tls_redis.h"

using namespace petstore::e2e;

namespace {

using Environment = std::vector<std::pair<std::string, std::string>>;

std::string repository(const std::string& file)
{
    return std::string(E2E_SUPPORT) + "/../../../" + file;
}

// The shipped files with folders, ports and the two programs replaced.
class Container {
public:
    explicit Container(Environment environment)
        : environment_(std::move(environment)), port_(free_port()),
          status_port_(free_port())
    {
        for (const auto* folder : {"conf.d", "locations.d", "reports"}) {
            mkdir((dir_ / folder).c_str(), 0777);
        }
        // The machine may stall for longer than the module's default timeouts.
        write_file(dir_ / "conf.d/patience.conf",
                   "petstore_redis_connect_timeout 10s;"
                   "petstore_redis_timeout 10s;\n");
        copy("nginx-conf/container.conf", "nginx.conf",
             {{"modules/ngx_http_petstore_module.so", module_file()},
              {"/tmp/petstore/", dir_ / "run/"},
              {"/etc/petstore/", dir_ / ""},
              {"listen 8080", "listen " + address(port_)},
              {"listen 8081", "listen " + address(status_port_)}});
        copy("scripts/container-entrypoint", "entrypoint",
             {{"/tmp/petstore", dir_ / "run"},
              {"/etc/petstore/", dir_ / ""},
              {"    nginx -t", "    " + nginx_binary() + " -t"},
              {"\nnginx -c", "\n" + nginx_binary() + " -c"}});
        chmod((dir_ / "entrypoint").c_str(), 0755);
    }

    ~Container()
    {
        if (process_.running()) {
            CHECK(stop(SIGTERM) == 0);
        }
        for (const auto* file : {"out", "err"}) {
            const auto text = read_file(dir_ / file);
            for (const auto& secret : secrets()) {
                CHECK_FALSE(contains(text, secret));
            }
            for (const char* bad : {"[alert]", "[emerg]", "Sanitizer"}) {
                INFO(text);
                CHECK_FALSE(contains(text, bad));
            }
        }
    }

    void add(const std::string& file, const std::string& text) const
    {
        write_file(dir_ / file, text);
    }

    void launch()
    {
        process_ = Process({{dir_ / "entrypoint"},
                            environment(),
                            "",
                            dir_ / "out",
                            dir_ / "err"});
    }

    void start()
    {
        launch();
        await();
    }

    void await()
    {
        const bool serves =
            wait_until([this] { return !process_.running() || health() == 0; });
        INFO(read_file(dir_ / "err"));
        REQUIRE(serves);
        REQUIRE(process_.running());
    }

    // The exit code of a container that does not start.
    Output fail() const
    {
        return run({dir_ / "entrypoint"}, "", environment());
    }

    Output run_in(std::vector<std::string> command) const
    {
        command.insert(command.begin(), dir_ / "entrypoint");
        return run(command, "", environment());
    }

    void signal(int number) const { process_.signal(number); }
    int wait() { return process_.wait(60s).value_or(-1); }
    int stop(int number)
    {
        signal(number);
        return wait();
    }

    int health() const
    {
        return run({repository("scripts/container-health"), own_address(),
                    std::to_string(port_)})
            .code;
    }

    int port() const { return port_; }
    int status_port() const { return status_port_; }
    std::string log() const { return read_file(dir_ / "out"); }
    std::string errors() const { return read_file(dir_ / "err"); }
    std::string path(const std::string& name) const { return dir_ / name; }

private:
    static std::string address(int port)
    {
        return own_address() + ":" + std::to_string(port);
    }

    void copy(const std::string& file, const std::string& name,
              const std::vector<std::pair<std::string, std::string>>& changes)
    {
        auto text = read_file(repository(file));
        for (const auto& [from, to] : changes) {
            INFO(file << ": " << from);
            REQUIRE(contains(text, from));
            replace_all(text, from, to);
        }
        write_file(dir_ / name, text);
    }

    // nginx -t does not free its configuration before it exits.
    Environment environment() const
    {
        auto all = sanitizer_options(Leaks::ignored);
        all.insert(all.end(), environment_.begin(), environment_.end());
        return all;
    }

    const Environment environment_;
    const TempDir dir_;
    const int port_;
    const int status_port_;
    Process process_;
};

Key key_in(const Container& container)
{
    const auto made =
        container.run_in({ctl_binary(), "key", "create", "--json"});
    INFO(made.err);
    REQUIRE(made.code == 0);
    const auto json = nlohmann::json::parse(made.out);
    Key key{json.at("key"), json.at("id"), json.at("account")};
    remember_secret(key.secret);
    return key;
}

}  // namespace

TEST_CASE("container: the environment configures nginx and petstorectl alike")
{
    const RedisServer redis;
    const RedisServer limits;
    for (const auto* server : {&redis, &limits}) {
        server->command(
            {"ACL", "SETUSER", "app", "on", ">pw-of-app", "~*", "+@all"});
    }
    redis.command({"ACL", "SETUSER", "default", "off"});
    remember_secret("pw-of-app");
    const TempDir dir;
    write_file(dir / "password", "pw-of-app\n");
    Container container(
        {{"PETSTORE_REDIS", "redis://" + redis.address()},
         {"PETSTORE_LIMIT_REDIS", "redis://" + limits.address() + "/2"},
         {"PETSTORE_REDIS_USER", "app"},
         {"PETSTORE_REDIS_PASSWORD_FILE", dir / "password"},
         {"PETSTORE_PREFIX", "staging"},
         {"PETSTORE_BASE_URL", "https://api.example.com/"},
         {"PETSTORE_TRUSTED_PROXIES", "127.0.0.1, 10.0.0.0/8 2001:db8::/32"},
         {"PETSTORE_REDIS_CA", ""},
         {"PETSTORE_WORKERS", "2"}});
    const auto key = key_in(container);
    container.start();
    Http http(http_url(container.port()), key.secret);

    const auto made = http.post("/v1/pets", "{\"name\":\"a\",\"categoryId\":1}",
                                {{"X-Forwarded-For", "192.0.2.9, 10.1.2.3"}});
    CHECK(made.status == 201);
    CHECK(made.header("location") == "https://api.example.com/v1/pets/1");
    CHECK(http.get("/readyz").status == 204);
    CHECK(http.get("/healthz").status == 204);
    CHECK(http.get("/status").status == 404);
    const Http::Request status{"GET", "/status", {{"Accept", "*/*"}}};
    CHECK(contains(Http(http_url(container.status_port())).send(status).body,
                   "petstore_redis_up"));
    // The counters are in database 2 of the other Redis.
    CHECK(contains(limits.command({"INFO", "keyspace"}).text, "db2:keys="));

    CHECK(container.stop(SIGTERM) == 0);
    const auto line = nlohmann::json::parse(split(container.log(), '\n').at(0));
    CHECK(line.at("client") == "192.0.2.9");
    CHECK(line.at("operation") == "createPet");
    // Probes are not logged.
    CHECK_FALSE(contains(container.log(), "livez"));
    struct stat rendered {};
    REQUIRE(stat(container.path("run/environment.conf").c_str(), &rendered)
            == 0);
    CHECK((rendered.st_mode & 0777) == 0600);
}

TEST_CASE("container: the admin API has a listener of its own")
{
    const RedisServer redis;
    redis.command(
        {"ACL", "SETUSER", "manager", "on", ">pw-of-manager", "~*", "+@all"});
    remember_secret("pw-of-manager");
    const TempDir dir;
    write_file(dir / "password", "pw-of-manager\n");
    const int port = free_port();
    Container container(
        {{"PETSTORE_REDIS", redis.tcp_url()},
         {"PETSTORE_ADMIN_LISTEN", own_address() + ":" + std::to_string(port)},
         {"PETSTORE_ADMIN_REDIS_USER", "manager"},
         {"PETSTORE_ADMIN_REDIS_PASSWORD_FILE", dir / "password"}});
    const auto made = container.run_in(
        {ctl_binary(), "key", "create", "--json", "--scopes", "admin,read"});
    REQUIRE(made.code == 0);
    const std::string key = nlohmann::json::parse(made.out).at("key");
    remember_secret(key);
    container.start();
    Http admin(http_url(port), key);
    const auto created =
        admin.post("/admin/v1/accounts", R"({"external_id":"cust_7"})");
    CHECK(created.status == 201);
    CHECK(contains(redis.command({"CLIENT", "LIST"}).text, "user=manager"));
    Http api(http_url(container.port()), key);
    CHECK(api.get("/admin/v1/accounts").status == 404);
    CHECK(api.get("/v1/pets").status == 200);
    CHECK(admin.get("/v1/pets").status == 404);
    CHECK(container.stop(SIGTERM) == 0);
    CHECK(contains(container.log(), "\"operation\":\"createAccount\""));
}

TEST_CASE("container: TLS to Redis needs only the authority's certificate")
{
    const TlsRedis tls("IP:" + own_address());
    Container container({{"PETSTORE_REDIS", tls.url()},
                         {"PETSTORE_REDIS_CA", tls.ca.certificate()}});
    const auto key = key_in(container);
    container.start();
    Http http(http_url(container.port()), key.secret);
    CHECK(http.get("/v1/pets").status == 200);
}

TEST_CASE("container: clients cannot choose their address by default")
{
    const RedisServer redis;
    Container container({{"PETSTORE_REDIS", redis.tcp_url()}});
    container.start();
    Http http(http_url(container.port()));
    CHECK(http.get("/v1/pets", {{"X-Forwarded-For", "192.0.2.9"}}).status
          == 401);
    CHECK(container.stop(SIGINT) == 0);
    CHECK(contains(container.log(), "\"client\":\"127.0.0.1\""));
}

TEST_CASE(
    "container: a variable that would change the configuration is refused")
{
    for (const char* name :
         {"PETSTORE_REDIS", "PETSTORE_LIMIT_REDIS", "PETSTORE_REDIS_USER",
          "PETSTORE_REDIS_PASSWORD_FILE", "PETSTORE_PREFIX",
          "PETSTORE_BASE_URL", "PETSTORE_TRUSTED_PROXIES",
          "PETSTORE_ADMIN_LISTEN"}) {
        const bool path = contains(name, "FILE");
        for (const char* end : {"; return 200", "\"", "'", "\\", "$host", "{",
                                "}", "\n", "\t", "\x7f", "\xc3\xa9"}) {
            const std::string value =
                std::string(path ? "/" : "") + "geheim-9" + end;
            const Container container({{name, value}});
            const auto result = container.fail();
            INFO(name << " " << value << ": " << result.err);
            CHECK(result.code == 64);
            CHECK(contains(result.err, name));
            CHECK(split(result.err, '\n').size() <= 2);
            CHECK_FALSE(contains(result.err, "geheim-9"));
            CHECK(read_file(container.path("run/environment.conf")).empty());
        }
    }
    const std::vector<std::pair<std::string, std::string>> others = {
        {"PETSTORE_REDIS", "  "},
        {"PETSTORE_REDIS_PASSWORD_FILE", "relative"},
        {"PETSTORE_REDIS_CA", "relative"},
        {"PETSTORE_REDIS_CA", "/etc/ca.pem"},  // and no rediss:// URL
        {"PETSTORE_TRUSTED_PROXIES", "proxy.example.com"},
        {"PETSTORE_TRUSTED_PROXIES", "unix:"},
        {"PETSTORE_ADMIN_LISTEN", "8082; user root"},
        {"PETSTORE_ADMIN_LISTEN", "somewhere"},
        {"PETSTORE_WORKERS", "2; user root"},
        {"PETSTORE_WORKERS", "-1"}};
    for (const auto& [name, value] : others) {
        INFO(name << " " << value);
        const auto result = Container({{name, value}}).fail();
        CHECK(result.code == 64);
        CHECK(contains(result.err, name));
    }
    for (const std::string network :
         {"10.0.0.0/40", "10.0.0.0.1", "2001:db8::1::/64"}) {
        const auto result =
            Container({{"PETSTORE_TRUSTED_PROXIES", network}}).fail();
        CHECK(result.code == 1);
        CHECK(contains(result.err, "\"" + network + "\""));
        CHECK_FALSE(contains(result.err, "waiting"));
    }
}

TEST_CASE("container: a Redis variable may hold several arguments")
{
    const Container container(
        {{"PETSTORE_REDIS",
          " sentinel=pets rediss://127.0.0.1:1/3 rediss://127.0.0.1:2/3"},
         {"PETSTORE_LIMIT_REDIS",
          "cluster redis://127.0.0.1:3 redis://127.0.0.1:4"},
         {"PETSTORE_REDIS_CA", "/nowhere/ca.pem"}});
    const auto result = container.fail();
    CHECK(result.code == 1);
    CHECK(contains(result.err, "/nowhere/ca.pem"));
    CHECK(
        read_file(container.path("run/environment.conf"))
        == "petstore_redis \"sentinel=pets\" \"rediss://127.0.0.1:1/3\" \"rediss://127.0.0.1:2/3\";\n"
           "petstore_limit_redis \"cluster\" \"redis://127.0.0.1:3\" \"redis://127.0.0.1:4\";\n"
           "petstore_redis_ssl_trusted_certificate \"/nowhere/ca.pem\";\n");
}

TEST_CASE("container: plans and locations come from folders")
{
    const RedisServer redis;
    const BackEnd back_end;
    Container container({{"PETSTORE_REDIS", redis.tcp_url()}});
    container.add("conf.d/plans.conf",
                  "petstore_plan partner minute=7 day=70;\n"
                  "upstream orders { server "
                      + back_end.address() + "; }\n");
    container.add(
        "locations.d/orders.conf",
        "location /v1/store/ { petstore_guard on; proxy_pass http://orders; }\n");
    container.start();
    const auto key = create_key(redis, {"--plan", "partner"});
    Http http(http_url(container.port()), key.secret);
    const auto order = http.get("/v1/store/orders");
    CHECK(order.body == "back end");
    CHECK(rate_headers_of(order).remaining == 6);
    // A body that nginx writes to a file, as another user if this test is
    // root's.
    const auto large = repeat("x", 100000);
    CHECK(http.post("/v1/store/orders", large).status == 200);
    CHECK(back_end.last().body == large);

    // A configuration error is fatal at once: there is nothing to wait for.
    container.add("conf.d/wrong.conf", "petstore_plan;\n");
    const auto result = container.fail();
    CHECK(result.code == 1);
    CHECK(contains(result.err, "wrong.conf:1"));
}

TEST_CASE("container: waits while Redis's name does not resolve, and says so")
{
    const TempDir dir;
    const RedisServer redis;
    auto environment = host_with_addresses("redis.test", {dir / "address"});
    environment.emplace_back("PETSTORE_REDIS",
                             "redis://:geheim-8@redis.test:"
                                 + std::to_string(redis.port()));
    remember_secret("geheim-8");
    Container container(environment);
    const std::string waiting =
        "container-entrypoint: waiting: host not found in Redis \"redis.test:"
        + std::to_string(redis.port()) + "\"\n";
    container.launch();
    CHECK(wait_until([&] { return contains(container.errors(), waiting); }));
    CHECK(container.health() != 0);
    // There is nothing to reload yet.
    container.signal(SIGHUP);
    CHECK(container.stop(SIGTERM) == 0);
    const auto waited = count_of(container.errors(), waiting);
    CHECK(waited >= 1);

    container.launch();
    CHECK(wait_until(
        [&] { return count_of(container.errors(), waiting) > waited; }));
    write_file(dir / "address", own_address());
    container.await();
    CHECK(contains(container.errors(), "all host names resolve now\n"));
    CHECK(container.stop(SIGQUIT) == 0);
}

TEST_CASE("container: a stop ends an nginx that reads its configuration")
{
    const RedisServer redis;
    Container container({{"PETSTORE_REDIS", redis.tcp_url()}});
    for (const char* file : {"conf.d/slow-1.conf", "conf.d/slow-2.conf"}) {
        REQUIRE(mkfifo(container.path(file).c_str(), 0600) == 0);
    }
    // A reader waits for a writer.
    const auto pass = [&](const char* file) {
        return wait_until([&] {
            const int fd = open(container.path(file).c_str(),
                                O_WRONLY | O_NONBLOCK | O_CLOEXEC);
            return fd >= 0 && close(fd) == 0;
        });
    };
    container.launch();
    REQUIRE((pass("conf.d/slow-1.conf") && pass("conf.d/slow-2.conf")));
    // nginx -t has passed both. Now nginx itself waits for the second one.
    REQUIRE(pass("conf.d/slow-1.conf"));
    CHECK(container.stop(SIGTERM) == 0);
}

TEST_CASE("container: a stop finishes running requests")
{
    const RedisServer redis;
    BackEnd back_end;
    Container container({{"PETSTORE_REDIS", redis.tcp_url()}});
    container.add("locations.d/slow.conf", "location /slow { proxy_pass http://"
                                               + back_end.address() + "; }\n");
    container.start();
    back_end.hold();
    RawClient client(container.port());
    client.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK(wait_until([&] { return back_end.count() == 1; }));
    container.signal(SIGTERM);
    // It no longer accepts connections, but still answers the running request.
    CHECK(wait_until([&] { return container.health() != 0; }));
    back_end.release();
    CHECK(client.read().body == "back end");
    client.close();
    CHECK(container.wait() == 0);
}
