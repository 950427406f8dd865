// nginx-conf/balancer.conf in front of two hosts: limits stay exact, and
// nothing is lost when a host is killed or drained.
#include <arpa/inet.h>
#include <csignal>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <set>

#include "support/back_end.h"
#include "support/certificates.h"
#include "support/limits.h"
#include "support/threaded_server.h"
#include "support/writers.h"

using namespace petstore::e2e;

namespace {

constexpr char kPet[] = "{\"name\":\"Rex\",\"categoryId\":7}";

// The shipped file with folders, ports and host addresses replaced. %PORT% is a
// plain-text port of the same server.
NginxOptions balancer_conf(const CertificateAuthority& authority,
                           const std::string& host1, const std::string& host2,
                           int health_port)
{
    NginxOptions options;
    options.file = read_file(std::string(E2E_SUPPORT)
                             + "/../../../nginx-conf/balancer.conf");
    options.workers = 2;
    for (
        const auto& [from, to] :
        std::vector<std::pair<std::string, std::string>>{
            {"modules/ngx_http_petstore_module.so", "%MODULE%"},
            {"user www-data;", "daemon off;"},
            {"/run/nginx.pid", "nginx.pid"},
            {"worker_processes auto", "worker_processes %WORKERS%"},
            {"worker_rlimit_nofile 65536;", ""},
            {"/var/log/nginx/error.log warn", "error.log info"},
            {"/var/log/nginx/access.log", "access.log"},
            {"petstore_json_errors on;",
             "petstore_json_errors on; client_body_temp_path temp; proxy_temp_path temp; fastcgi_temp_path temp; uwsgi_temp_path temp; scgi_temp_path temp;"},
            {"listen 443 ssl default_server",
             "listen %ADDRESS%:%PORT%; listen %ADDRESS%:%TLS_PORT% ssl"},
            {"listen [::]:443", "# "},
            {"listen 8080", "listen %ADDRESS%:" + std::to_string(health_port)},
            {"/etc/ssl/petstore/fullchain.pem", authority.file("edge.crt")},
            {"/etc/ssl/petstore/key.pem", authority.file("edge.key")},
            {"host1:8080", host1},
            {"host2:8080", host2}}) {
        INFO(from);
        CHECK(contains(options.file, from));
        replace_all(options.file, from, to);
    }
    return options;
}

std::string host_address(int port)
{
    return own_address() + ":" + std::to_string(port);
}

struct Edge {
    Edge(const std::string& host1, const std::string& host2)
        : health_port(free_port()),
          nginx((authority.issue("edge", "DNS:api.test"),
                 balancer_conf(authority, host1, host2, health_port)))
    {}

    CertificateAuthority authority;
    int health_port;
    NginxServer nginx;
};

// A balancer and two hosts that trust its X-Forwarded-For.
struct Balanced {
    explicit Balanced(const NginxOptions& options = {})
        : hosts(2, trusting(options)), edge(host_address(hosts.ports().at(0)),
                                            host_address(hosts.ports().at(1))),
          balancer(edge.nginx)
    {}

    static NginxOptions trusting(NginxOptions options)
    {
        // The balancer connects from 127.0.0.1.
        options.http +=
            "set_real_ip_from 127.0.0.1; real_ip_header X-Forwarded-For;";
        options.server += " location = /livez { return 204; }";
        return options;
    }

    Http client(const Key& key) const
    {
        return Http(balancer.url(), key.secret);
    }

    Storm storm(const Key& key) const
    {
        auto storm = hosts.storm(key);
        storm.ports = {balancer.port()};
        storm.connections = 32;
        return storm;
    }

    // Kills all processes of a host at once with SIGKILL.
    void kill_host(std::size_t number) const
    {
        const auto& host = *hosts.nginx.at(number);
        const auto workers = host.workers();
        kill(host.master(), SIGKILL);
        for (const pid_t pid : workers) {
            kill(pid, SIGKILL);
        }
    }

    Hosts hosts;
    Edge edge;
    NginxServer& balancer;
};

// A host that reads each request and closes the connection without an answer.
class SilentHost {
public:
    SilentHost()
        : port_(free_port()), server_(listen_tcp(port_), [this](int fd) {
              std::string request;
              while (!contains(request, "\r\n\r\n")) {
                  if (!receive_some(fd, request)) {
                      return;
                  }
              }
              // The harness's health checks connect but send nothing.
              ++requests_;
          })
    {}

    std::string address() const { return host_address(port_); }
    int requests() const { return requests_; }

private:
    const int port_;
    std::atomic<int> requests_{0};
    ThreadedServer server_;
};

// Sends a GET from another address of this machine, with extra header lines.
std::string get_from(const std::string& source, int port,
                     const std::string& lines)
{
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    inet_pton(AF_INET, source.c_str(), &address.sin_addr);
    REQUIRE(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address))
            == 0);
    inet_pton(AF_INET, own_address().c_str(), &address.sin_addr);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    REQUIRE(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address))
            == 0);
    send_all(fd,
             "GET /v1/pets HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n"
                 + lines + "\r\n");
    std::string response;
    while (receive_some(fd, response)) {
    }
    close(fd);
    return response;
}

// Triggers `event` after 1,000 of at least 5,000 GETs, while pets are created.
// No GET may fail, and no acknowledged pet may be lost or duplicated.
void under_load(const Balanced& world, const std::function<void()>& event)
{
    const auto key = create_key(world.hosts.redis);
    const auto reader = create_key(world.hosts.redis);
    Writers plain(world.balancer, key, 4);
    Writers repeatable(world.balancer, key, 4, true);

    int seen = 0;
    int before = 0;
    auto storm = world.storm(reader);
    const auto answers = storm.run_until([&](const Answer&) {
        if (++seen == 1000) {
            before = repeatable.acknowledged();
            event();
        }
        // Wait for enough creates, too.
        return seen >= 5000 && repeatable.acknowledged() > before + 100
               && plain.acknowledged() > 100;
    });
    plain.end();
    repeatable.end();

    INFO(answers.size() << " GETs; creates " << plain.acknowledged() << " + "
                        << repeatable.acknowledged() << ", without answer "
                        << plain.strange());
    CHECK(storm.repeated == 0);
    std::size_t failed = 0;
    for (const auto& answer : answers) {
        failed += answer.status != 200;
    }
    CHECK(failed == 0);
    // Creates in flight to that host that must not be repeated.
    CHECK(plain.refused() == 0);
    CHECK(plain.strange() <= 4);
    CHECK(repeatable.refused() == 0);
    CHECK(repeatable.strange() == 0);
    for (const auto* writers : {&plain, &repeatable}) {
        const auto stored = compare(*writers, world.balancer, key);
        CHECK(stored.lost == 0);
        CHECK(stored.ids_twice == 0);
        CHECK(stored.names_twice == 0);
    }
}

// Sends 2,500 requests, which takes less than a minute even on a slow machine,
// and triggers `event` after 500.
std::vector<Answer> run_through(Storm& storm,
                                const std::function<void()>& event)
{
    int seen = 0;
    return storm.run_until([&](const Answer&) {
        if (++seen == 500) {
            event();
        }
        return seen == 2500;
    });
}

}  // namespace

TEST_CASE("balancer: limits are exact over all workers of both hosts")
{
    const Balanced world;
    // Too few denials for a ban.
    const auto key = limited_key(world.hosts.redis, 2000);
    const auto answers = world.storm(key).run(3000);
    check_exact(answers, 2000);
    std::set<long long> workers;
    for (const auto& answer : answers) {
        workers.insert(answer.worker);
    }
    CHECK(workers.size() == 4);
    // Requests share connections: each of the two workers keeps at most 64.
    CHECK(world.hosts.nginx[0]->sockets() < 200);
}

TEST_CASE("balancer: a host is killed under load")
{
    const Balanced world;
    under_load(world, [&] { world.kill_host(0); });
    CHECK(contains(world.balancer.error_log(),
                   "upstream: \"http://"
                       + host_address(world.hosts.ports().at(0))));
}

TEST_CASE("balancer: a host drains under load")
{
    const Balanced world;
    under_load(world, [&] { kill(world.hosts.nginx[0]->master(), SIGQUIT); });
    world.hosts.nginx[0]->quit();
}

TEST_CASE("balancer: limits are exact while a host is killed")
{
    const Balanced world;
    const auto key = limited_key(world.hosts.redis, 1500);
    auto storm = world.storm(key);
    const auto answers = run_through(storm, [&] { world.kill_host(1); });
    CHECK(storm.repeated == 0);
    const auto passed = static_cast<long long>(admitted(answers).size());
    CHECK(passed + static_cast<long long>(refused(answers).size())
          == static_cast<long long>(answers.size()));
    // Requests that the host charged before it died were charged again on the
    // other host; there are at most as many as connections.
    CHECK(passed <= 1500);
    CHECK(passed >= 1500 - storm.connections);
    CHECK(used(world.hosts.redis, key, "minute") == 1500);
}

TEST_CASE("balancer: limits are exact while a host drains")
{
    const Balanced world;
    const auto key = limited_key(world.hosts.redis, 1500);
    auto storm = world.storm(key);
    const auto answers = run_through(
        storm, [&] { kill(world.hosts.nginx[1]->master(), SIGQUIT); });
    CHECK(storm.repeated == 0);
    check_exact(answers, 1500);
    world.hosts.nginx[1]->quit();
}

TEST_CASE("balancer: only a create with an Idempotency-Key is repeated")
{
    const SilentHost silent;
    const Hosts hosts(1);
    const Edge edge(silent.address(), host_address(hosts.ports().at(0)));
    const auto key = create_key(hosts.redis);
    Http http(edge.nginx.url(), key.secret);
    const auto pets = [&] { return walk(http, "/v1/pets?limit=100").size(); };

    // Every other request goes to the silent host until it has failed three
    // times.
    int unknown = 0;
    int created = 0;
    while (silent.requests() < 3) {
        const auto response = http.post("/v1/pets", kPet);
        if (response.status == 201) {
            ++created;
        } else {
            expect_error(response, 502, "service_unavailable");
            ++unknown;
        }
    }
    CHECK(unknown == 3);
    CHECK(silent.requests() == 3);
    CHECK(pets() == static_cast<std::size_t>(created));

    // With an Idempotency-Key every create succeeds.
    CHECK(wait_until([&] {
        ++created;
        const auto name = "k" + std::to_string(created);
        const auto response =
            http.post("/v1/pets", kPet, {{"Idempotency-Key", name}});
        CHECK(response.status == 201);
        CHECK_FALSE(response.has("idempotent-replayed"));
        return response.status != 201 || silent.requests() > 3;
    }));
    CHECK(pets() == static_cast<std::size_t>(created));
    const int before = silent.requests();
    CHECK(wait_until([&] {
        const auto status = http.get("/v1/pets").status;
        CHECK(status == 200);
        return status != 200 || silent.requests() > before;
    }));
}

TEST_CASE("balancer: a host that cannot reach Redis is left out")
{
    const Hosts hosts(1);
    NginxOptions options;
    options.redis =
        "redis://" + own_address() + ":" + std::to_string(free_port());
    options.location = "petstore_redis_timeout 500ms;";
    const NginxServer cut_off(options);
    const Edge edge(host_address(cut_off.port()),
                    host_address(hosts.ports().at(0)));
    const auto key = create_key(hosts.redis);
    Http http(edge.nginx.url(), key.secret);
    for (int i = 0; i < 50; ++i) {
        CHECK(http.get("/v1/pets").status == 200);
    }
    CHECK(contains(edge.nginx.access_log(), "\"host_status\":\"503, 200\""));
}

TEST_CASE("balancer: hosts respond themselves while Redis is away")
{
    NginxOptions options;
    options.location = "petstore_redis_timeout 5s;";
    Balanced world(options);
    const auto key = create_key(world.hosts.redis);
    auto http = world.client(key);
    CHECK(http.get("/v1/pets").status == 200);
    world.hosts.redis.stop();
    for (int i = 0; i < 30; ++i) {
        const auto response = http.get("/v1/pets");
        expect_error(response, 503, "service_unavailable");
        CHECK(response.header("retry-after") == "1");
    }
    CHECK(Http(http_url(world.edge.health_port)).get("/livez").status == 204);
    world.hosts.redis.start();
    CHECK(wait_until([&] { return http.get("/v1/pets").status == 200; }));
}

TEST_CASE("balancer: errors without an available host have the Error shape")
{
    const Edge edge(host_address(free_port()), host_address(free_port()));
    Http http(edge.nginx.url(), "any");
    expect_error(http.get("/v1/pets"), 502, "service_unavailable");
    expect_error(http.post("/v1/pets", kPet), 502, "service_unavailable");
    expect_error(http.post("/v1/pets", kPet, {{"Idempotency-Key", "a"}}), 502,
                 "service_unavailable");
    expect_error(http.get("/status"), 404, "not_found");
    CHECK(Http(http_url(edge.health_port)).get("/livez").status == 502);
}

TEST_CASE("balancer: hosts see the client's real address")
{
    const BackEnd back_end;
    const Edge edge(back_end.address(), back_end.address());
    const std::string claim = "X-Forwarded-For: 192.0.2.1\r\n"
                              "X-Forwarded-Proto: https\r\n";
    CHECK(contains(get_from("127.0.0.77", edge.nginx.port(), claim), " 200 "));
    const auto reached = back_end.last();
    CHECK(reached.header("x-forwarded-for") == "127.0.0.77");
    CHECK(reached.header("x-forwarded-proto") == "http");
    CHECK(reached.header("host") == "api.test");
    CHECK(reached.version == "1.1");
    CHECK_FALSE(reached.has("connection"));

    // Each client address has its own window.
    NginxOptions options;
    options.location = "petstore_anonymous_limit 2 enforce;";
    const Hosts hosts(1, Balanced::trusting(options));
    const auto host = host_address(hosts.ports().at(0));
    const Edge trusted(host, host);
    for (const char* source : {"127.0.0.77", "127.0.0.78"}) {
        for (const char* status : {" 401 ", " 401 ", " 429 "}) {
            const auto response = get_from(source, trusted.nginx.port(), claim);
            INFO(source << response);
            CHECK(contains(response.substr(0, 14), status));
        }
    }
}

TEST_CASE("balancer: a request without Host")
{
    const Balanced world;
    for (const int port : {world.balancer.port(), world.edge.health_port}) {
        RawClient client(port);
        client.send(port == world.edge.health_port
                        ? "GET /livez HTTP/1.0\r\n\r\n"
                        : "GET /v1/pets HTTP/1.0\r\n\r\n");
        CHECK(client.read().status
              == (port == world.edge.health_port ? 204 : 401));
    }
}

TEST_CASE("balancer: TLS ends at the edge")
{
    const Balanced world;
    const auto key = create_key(world.hosts.redis);
    Http http(world.balancer.tls_url(), key.secret);
    const auto made =
        http.post("/v1/pets", kPet, {{"Idempotency-Key", "once"}});
    CHECK(made.status == 201);
    CHECK(made.header("strict-transport-security") == "max-age=31536000");
    const auto again =
        http.post("/v1/pets", kPet, {{"Idempotency-Key", "once"}});
    CHECK(again.status == 201);
    CHECK(again.header("idempotent-replayed") == "true");
    rate_headers_of(http.get("/v1/pets"));

    const auto version = [&](const char* option) {
        return run({"openssl", "s_client", "-connect",
                    host_address(world.balancer.tls_port()), option})
            .code;
    };
    CHECK(version("-tls1_2") == 0);
    CHECK(version("-tls1_1") != 0);
}
