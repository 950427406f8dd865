// Redis over rediss://: a real redis-server with certificates of a test
// authority.
#include <filesystem>

#include "support/store.h"
#include "support/tls_redis.h"

using namespace petstore::e2e;

namespace {

std::string pet()
{
    return "{\"name\":\"n\",\"categoryId\":1}";
}

std::size_t lines_with(const std::string& text, const std::string& part)
{
    std::size_t count = 0;
    for (const auto& line : split(text, '\n')) {
        count += contains(line, part) ? 1 : 0;
    }
    return count;
}

void expect_works(const TlsRedis& redis, const NginxOptions& options)
{
    INFO(options.redis << " " << options.http);
    NginxServer nginx(options);
    auto http = redis.http(nginx);
    CHECK(http.post("/v1/pets", pet()).status == 201);
    CHECK(http.get("/v1/pets/1").status == 200);
    CHECK(http.get("/v1/pets").status == 200);
    CHECK(lines_with(nginx.error_log(), "[error]") == 0);
}

// The log has one line with the reason of the outage, however many requests
// fail.
void expect_refused(const TlsRedis& redis, const NginxOptions& options,
                    const std::string& reason)
{
    INFO(options.redis << " " << options.http);
    NginxServer nginx(options);
    auto http = redis.http(nginx);
    for (int i = 0; i < 5; ++i) {
        expect_error(http.get("/v1/pets"), 503, "service_unavailable");
    }
    const auto log = nginx.error_log();
    INFO(log);
    CHECK(lines_with(log, "[error]") == 1);
    CHECK(lines_with(log, "[crit]") == 0);
    CHECK(contains(log, reason));
}

}  // namespace

TEST_CASE("tls: by a name in the certificate")
{
    TlsRedis redis;
    expect_works(redis, redis.by_name());
}

TEST_CASE("tls: by an address in the certificate")
{
    TlsRedis redis("IP:" + own_address());
    NginxOptions options;
    options.redis = redis.url();
    options.http = redis.trusted();
    expect_works(redis, options);
    // A name that looks like the address is not enough.
    options.http += "petstore_redis_ssl_name 127.9.9.9;";
    expect_refused(redis, options, "certificate does not match \"127.9.9.9\"");
}

TEST_CASE("tls: a certificate of another name is refused")
{
    TlsRedis redis("DNS:other.test");
    expect_refused(redis, redis.by_name(),
                   "certificate does not match \"redis.test\"");
    NginxOptions by_address = redis.by_name();
    by_address.redis = redis.url();
    expect_refused(redis, by_address,
                   "certificate does not match \"" + own_address() + "\"");
    // petstore_redis_ssl_name sets the name to check.
    by_address.http += "petstore_redis_ssl_name other.test;";
    expect_works(redis, by_address);
    expect_works(redis, redis.by_name("petstore_redis_ssl_verify off;"));
}

TEST_CASE("tls: an expired certificate is refused")
{
    TlsRedis redis("DNS:redis.test", {}, true);
    expect_refused(redis, redis.by_name(), "certificate has expired");
    expect_works(redis, redis.by_name("petstore_redis_ssl_verify off;"));
}

TEST_CASE("tls: a certificate of an unknown authority is refused")
{
    TlsRedis redis;
    const CertificateAuthority other;
    expect_refused(redis,
                   redis.by_name("petstore_redis_ssl_trusted_certificate "
                                 + other.certificate() + ";"),
                   "certificate verify error");
    // Without petstore_redis_ssl_trusted_certificate the system's authorities
    // are used.
    expect_refused(redis, redis.by_name("petstore_redis_ssl_verify on;"),
                   "certificate verify error");
    auto by_variable = redis.by_name("petstore_redis_ssl_verify on;");
    by_variable.env.emplace_back("SSL_CERT_FILE", redis.ca.certificate());
    expect_works(redis, by_variable);
}

TEST_CASE("tls: a server without TLS is refused")
{
    TlsRedis redis;
    auto options = redis.by_name();
    options.redis = "rediss://" + redis.redis.address();
    // Redis waits for the rest of a command.
    options.http +=
        "petstore_redis_connect_timeout 200ms; petstore_redis_timeout 10s;";
    NginxServer nginx(options);
    expect_error(redis.http(nginx).get("/v1/pets"), 503, "service_unavailable");
    CHECK(contains(nginx.error_log(), "TLS handshake timed out"));
}

TEST_CASE("tls: client certificates")
{
    for (const char* version : {"TLSv1.2", "TLSv1.3"}) {
        INFO(version);
        TlsRedis redis(
            "DNS:redis.test",
            {"tls-auth-clients yes", std::string("tls-protocols ") + version});
        const CertificateAuthority other;
        redis.ca.issue("client", "DNS:client.test");
        other.issue("client", "DNS:client.test");
        const auto with = [&](const CertificateAuthority& ca) {
            return redis.by_name(redis.trusted()
                                 + "petstore_redis_ssl_certificate "
                                 + ca.file("client.crt")
                                 + "; petstore_redis_ssl_certificate_key "
                                 + ca.file("client.key") + ";");
        };
        expect_works(redis, with(redis.ca));
        // With TLS 1.3 the server refuses after the handshake, and its alert
        // may be lost when it closes the connection.
        const bool told = std::string(version) == "TLSv1.2";
        expect_refused(redis, redis.by_name(),
                       told ? "alert handshake failure" : "SSL_");
        expect_refused(redis, with(other), told ? "alert unknown ca" : "SSL_");
    }
}

TEST_CASE("tls: each version and large replies")
{
    for (const char* version : {"TLSv1.2", "TLSv1.3"}) {
        INFO(version);
        TlsRedis redis("DNS:redis.test",
                       {std::string("tls-protocols ") + version});
        import_pets(redis.redis, 1000);
        NginxServer nginx(redis.by_name());
        auto http = redis.http(nginx);
        CHECK(http.get("/v1/pets?limit=100").json().size() == 100);
        CHECK(http.get("/v1/pets?limit=100&status=sold").json().size() == 100);
        CHECK(http.post("/v1/pets", "{\"name\":\"" + repeat("n", 100)
                                        + "\",\"categoryId\":1}")
                  .status
              == 201);
        CHECK(contains(nginx.error_log(), std::string("uses ") + version));
    }
}

TEST_CASE("tls: a reconnect resumes the session")
{
    for (const char* version : {"TLSv1.2", "TLSv1.3"}) {
        INFO(version);
        TlsRedis redis("DNS:redis.test",
                       {std::string("tls-protocols ") + version});
        NginxServer nginx(redis.by_name());
        auto http = redis.http(nginx);
        REQUIRE(http.get("/v1/pets").status == 200);
        redis.redis.command({"CLIENT", "KILL", "TYPE", "normal"});
        CHECK(wait_until([&] {
            return http.get("/v1/pets").status == 200
                   && contains(nginx.error_log(),
                               std::string(version) + ", session reused");
        }));
    }
}

TEST_CASE("tls: Redis is killed and restarted")
{
    TlsRedis redis;
    NginxServer nginx(redis.by_name());
    auto http = redis.http(nginx);
    REQUIRE(http.post("/v1/pets", pet()).status == 201);
    redis.redis.kill_hard();
    CHECK(wait_until([&] { return http.get("/v1/pets").status == 503; }));
    redis.redis.start();
    CHECK(wait_until([&] { return http.get("/v1/pets/1").status == 200; }));
    CHECK(contains(nginx.error_log(), "is back after"));
    CHECK(lines_with(nginx.error_log(), "[crit]") == 0);
}

TEST_CASE("tls: a silent server ends in a timeout")
{
    TlsRedis redis;
    auto options = redis.by_name(
        redis.trusted()
        + "petstore_redis_connect_timeout 200ms; petstore_redis_timeout 10s;");
    redis.redis.pause();
    NginxServer nginx(options);
    expect_error(redis.http(nginx).get("/v1/pets"), 503, "service_unavailable");
    CHECK(contains(nginx.error_log(), "TLS handshake timed out"));
    redis.redis.resume();
    CHECK(wait_until(
        [&] { return redis.http(nginx).get("/v1/pets").status == 200; }));
}

TEST_CASE("tls: a reload takes rotated certificates and passwords")
{
    TlsRedis redis("DNS:redis.test", {"tls-auth-clients yes"});
    redis.ca.issue("client", "DNS:client.test");
    TempDir dir;
    write_file(dir / "password", "first");
    redis.redis.command(
        {"ACL", "SETUSER", "app", "on", ">first", "~*", "+@all"});
    auto options = redis.by_name(
        redis.trusted()
        + "petstore_redis_user app; petstore_redis_password_file "
        + (dir / "password") + "; petstore_redis_ssl_certificate "
        + redis.ca.file("client.crt") + "; petstore_redis_ssl_certificate_key "
        + redis.ca.file("client.key") + ";");
    NginxServer nginx(options);
    REQUIRE(redis.http(nginx).get("/v1/pets").status == 200);

    // Replaces the authority, both certificates and the password.
    const CertificateAuthority next;
    next.issue("server", "DNS:redis.test");
    next.issue("client", "DNS:client.test");
    for (const char* file :
         {"ca.crt", "server.crt", "server.key", "client.crt", "client.key"}) {
        // Renamed to get a new inode: since 1.27, nginx does not reread a file
        // whose inode and modification time in seconds are unchanged.
        std::filesystem::rename(next.file(file), redis.ca.file(file));
    }
    write_file(dir / "password", "second");
    redis.redis.command({"ACL", "SETUSER", "app", "resetpass", ">second"});
    // Setting the file name makes Redis reread the file.
    REQUIRE(redis.redis
                .command({"CONFIG", "SET", "tls-cert-file",
                          redis.ca.file("server.crt"), "tls-key-file",
                          redis.ca.file("server.key"), "tls-ca-cert-file",
                          redis.ca.certificate()})
                .text
            == "OK");
    redis.redis.command({"CLIENT", "KILL", "TYPE", "normal"});
    CHECK(wait_until(
        [&] { return redis.http(nginx).get("/v1/pets").status == 503; }));
    nginx.reload_and_settle();
    CHECK(redis.http(nginx).get("/v1/pets").status == 200);
}

TEST_CASE("tls: workers quit with connections open")
{
    TlsRedis redis;
    auto options = redis.by_name();
    options.workers = 2;
    NginxServer nginx(options);
    for (int i = 0; i < 10; ++i) {
        CHECK(redis.http(nginx).get("/v1/pets").status == 200);
    }
    nginx.reload_and_settle();
    CHECK(redis.http(nginx).get("/v1/pets").status == 200);
    nginx.quit();
    CHECK(lines_with(nginx.error_log(), "open socket") == 0);
}
