// docs/operations.md, "TLS to Redis": petstorectl connects over TLS, with
// redis-cli's options.
#include <csignal>

#include "chaos/fault_proxy.h"
#include "support/slow_import.h"
#include "support/tls_redis.h"

using namespace petstore::e2e;

namespace {

using Environment = std::vector<std::pair<std::string, std::string>>;

struct Client {
    std::string url;
    Words options;
    Environment environment;

    Output run(const Words& command, const std::string& input = "") const
    {
        Words words = {ctl_binary(), "--redis", url};
        words.insert(words.end(), options.begin(), options.end());
        words.insert(words.end(), command.begin(), command.end());
        return petstore::e2e::run(words, input, environment);
    }
};

void expect_works(const Client& client)
{
    const auto result = client.run({"key", "list", "--json"});
    INFO(client.url << ": " << result.err);
    CHECK(result.code == 0);
    CHECK(nlohmann::json::parse(result.out).size() == 1);
}

void expect_refused(const Client& client, const std::string& reason)
{
    const auto result = client.run({"key", "list"});
    INFO(client.url << ": " << result.err);
    CHECK(result.code == 4);
    CHECK(result.out.empty());
    CHECK(contains(result.err, "petstorectl: cannot connect to " + client.url));
    CHECK(contains(result.err, reason));
    CHECK(split(result.err, '\n').size() == 1);
}

Words trusting(const CertificateAuthority& ca)
{
    return {"--cacert", ca.certificate()};
}

Words operator+(Words words, const Words& more)
{
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

// redis.test resolves to the address of all servers.
Client by_name(const TlsRedis& redis, const Words& options)
{
    return {redis.url(TlsRedis::kName), options,
            host_with_addresses(TlsRedis::kName, {own_address()})};
}

}  // namespace

TEST_CASE("command line tls: by a name and by an address in the certificate")
{
    TlsRedis named;
    expect_works(by_name(named, trusting(named.ca)));
    expect_works({named.url(),
                  trusting(named.ca) + Words{"--sni", TlsRedis::kName},
                  {}});
    TlsRedis addressed("IP:" + own_address());
    expect_works({addressed.url(), trusting(addressed.ca), {}});
    // A name that looks like the address is not enough.
    expect_refused({addressed.url(),
                    trusting(addressed.ca) + Words{"--sni", "127.9.9.9"},
                    {}},
                   "certificate does not match the name of --sni");
}

TEST_CASE("command line tls: a certificate that does not fit is refused")
{
    TlsRedis redis("DNS:other.test");
    const auto client = by_name(redis, trusting(redis.ca));
    expect_refused(client, "certificate does not match \"redis.test\"");
    expect_refused({redis.url(), trusting(redis.ca), {}},
                   "certificate does not match \"" + own_address() + "\"");
    expect_works(
        {redis.url(), trusting(redis.ca) + Words{"--sni", "other.test"}, {}});
    const CertificateAuthority other;
    const Words options = {"--sni", "other.test"};
    expect_refused({redis.url(), trusting(other) + options, {}},
                   "certificate verify error: ");
    // Without --cacert the system's authorities are used.
    expect_refused({redis.url(), options, {}}, "certificate verify error: ");
    expect_works(
        {redis.url(), options, {{"SSL_CERT_FILE", redis.ca.certificate()}}});
    expect_works({redis.url(), {"--insecure"}, {}});
    expect_works(by_name(redis, {"--insecure"}));

    TlsRedis expired("DNS:redis.test", {}, true);
    expect_refused(by_name(expired, trusting(expired.ca)),
                   "certificate verify error: certificate has expired");
    expect_works(by_name(expired, {"--insecure"}));
}

TEST_CASE("command line tls: client certificates")
{
    for (const char* version : {"TLSv1.2", "TLSv1.3"}) {
        INFO(version);
        TlsRedis redis(
            "DNS:redis.test",
            {"tls-auth-clients yes", std::string("tls-protocols ") + version});
        const bool told_late = std::string(version) == "TLSv1.3";
        redis.ca.issue("client", "DNS:client.test");
        const CertificateAuthority other;
        other.issue("client", "DNS:client.test");
        const auto with = [&](const CertificateAuthority& ca) {
            return by_name(redis, trusting(redis.ca)
                                      + Words{"--cert", ca.file("client.crt"),
                                              "--key", ca.file("client.key")});
        };
        expect_works(with(redis.ca));
        expect_refused(by_name(redis, trusting(redis.ca)),
                       told_late ? "alert certificate required"
                                 : "alert handshake failure");
        expect_refused(with(other), "alert unknown ca");
    }
}

TEST_CASE("command line tls: files that cannot be used")
{
    TlsRedis redis;
    redis.ca.issue("client", "DNS:client.test");
    redis.ca.issue("other", "DNS:other.test");
    const TempDir dir;
    const auto file = [&](const char* name) { return redis.ca.file(name); };
    const std::string encrypted = dir / "encrypted.key";
    REQUIRE(run({"openssl", "pkcs8", "-topk8", "-passout", "pass:geheim-9",
                 "-in", file("client.key"), "-out", encrypted})
                .code
            == 0);
    const std::string rsa = dir / "rsa.key";
    REQUIRE(run({"openssl", "genrsa", "-out", rsa}).code == 0);
    const auto says = [&](int code, const Words& options,
                          const std::string& message) {
        const Client client = {redis.url(), options, {}};
        const auto result = client.run({"key", "list"});
        CHECK(result.code == code);
        CHECK(result.out.empty());
        CHECK(result.err == "petstorectl: " + message + "\n");
    };
    const std::string missing = "No such file or directory";
    says(1, {"--cacert", dir / "missing"},
         "cannot use the file of --cacert: " + missing);
    says(1, {"--cacert", file("client.key")},
         "cannot use the file of --cacert: no certificate or crl found");
    says(1, {"--cert", dir / "missing", "--key", file("client.key")},
         "cannot use the file of --cert: " + missing);
    says(1, {"--cert", file("client.key"), "--key", file("client.key")},
         "cannot use the file of --cert: no certificate in PEM format");
    const auto with_key = [&](const std::string& key) -> Words {
        return {"--cert", file("client.crt"), "--key", key};
    };
    says(1, with_key(dir / "missing"),
         "cannot use the file of --key: " + missing);
    says(1, with_key(file("client.crt")),
         "cannot use the file of --key: no key in PEM format");
    for (const auto& key : {file("other.key"), rsa}) {
        says(
            1, with_key(key),
            "cannot use the file of --key: the key is not that of the certificate");
    }
    says(1, with_key(encrypted),
         "cannot use the file of --key: the key is encrypted");
    says(2, {"--cert", file("client.crt")}, "--cert needs --key");
    says(2, {"--key", file("client.key")}, "--key needs --cert");
}

TEST_CASE("command line tls: options without rediss are refused")
{
    RedisServer redis;
    for (const Words& option :
         {Words{"--cacert", "/ca.crt"}, Words{"--cert", "/client.crt"},
          Words{"--key", "/client.key"}, Words{"--sni", "redis.test"},
          Words{"--insecure"}}) {
        for (const auto& url : {redis.url(), redis.tcp_url()}) {
            const Client client = {url, option, {}};
            const auto result = client.run({"key", "list"});
            CHECK(result.code == 2);
            CHECK(
                result.err
                == "petstorectl: the TLS options and PETSTORE_REDIS_CA need a rediss:// URL\n");
        }
    }
}

TEST_CASE("command line tls: large commands and replies")
{
    constexpr int kPets = 5000;
    for (const char* version : {"TLSv1.2", "TLSv1.3"}) {
        TlsRedis redis("DNS:redis.test",
                       {std::string("tls-protocols ") + version});
        const auto client = by_name(redis, trusting(redis.ca));
        std::string pets;
        for (int i = 1; i <= kPets; ++i) {
            pets += "{\"name\":\"" + std::to_string(i) + repeat("x", 200)
                    + "\",\"categoryId\":7}\n";
        }
        const auto imported = client.run({"pet", "import", "-"}, pets);
        CHECK(imported.err == "imported 5000 pets\n");
        const auto exported = client.run({"pet", "export"});
        CHECK(exported.code == 0);
        CHECK(exported.out == ctl(redis.redis.url(), {"pet", "export"}).out);
        CHECK(split(exported.out, '\n').size() == kPets);
    }
}

TEST_CASE("command line tls: the password is not repeated")
{
    TlsRedis redis;
    redis.redis.command(
        {"ACL", "SETUSER", "app", "on", ">geheim-8", "~*", "+@all"});
    auto client = by_name(redis, trusting(redis.ca));
    const std::string at = "redis.test:" + std::to_string(redis.port);
    client.url = "rediss://app:geheim-8@" + at;
    expect_works(client);
    for (const Words& options : {trusting(redis.ca), Words{}}) {
        client.url = "rediss://app:geheim-9@" + at;
        client.options = options;
        const auto result = client.run({"key", "list"});
        CHECK(result.code == 4);
        CHECK(contains(result.err, "rediss://" + at));
        CHECK_FALSE(contains(result.err, "geheim"));
    }
}

TEST_CASE("command line tls: servers that do not finish the handshake")
{
    TlsRedis redis;
    const auto options = trusting(redis.ca) + Words{"--sni", TlsRedis::kName};
    const std::string timed_out =
        "TLS handshake timed out (does this port speak TLS?)";
    // A Redis without TLS waits for the rest of a command.
    expect_refused({"rediss://" + redis.redis.address(), options, {}},
                   timed_out);

    FaultProxy proxy(redis.redis, redis.port);
    const Client client = {proxy.url(), options, {}};
    NetworkFault silent;
    silent.half_open = true;
    proxy.set(silent);
    expect_refused(client, timed_out);
    // The timeout covers the whole handshake, not each byte.
    NetworkFault slow;
    slow.bytes_per_second = 50;
    proxy.set(slow);
    expect_refused(client, timed_out);
    NetworkFault closing;
    closing.close = true;
    proxy.set(closing);
    expect_refused(client,
                   "the server closed the connection during the TLS handshake");
    NetworkFault sliced;
    sliced.slice = 1;
    proxy.set(sliced);
    expect_works(client);
}

TEST_CASE("command line tls: a connection reset at any byte of its start")
{
    TlsRedis redis;
    FaultProxy proxy(redis.redis, redis.port);
    const Client client = {
        proxy.url(), trusting(redis.ca) + Words{"--sni", TlsRedis::kName}, {}};
    int refused = 0;
    for (std::size_t bytes = 0;; bytes += sanitized() ? 101 : 29) {
        NetworkFault reset;
        reset.reset_after = bytes;
        proxy.set(reset);
        const auto result = client.run({"key", "list"});
        INFO(bytes << ": " << result.err);
        if (result.code == 0) {
            break;
        }
        CHECK(result.code == 4);
        CHECK(split(result.err, '\n').size() == 1);
        REQUIRE(contains(result.err, "petstorectl: "));
        ++refused;
    }
    CHECK(refused > 5);
}

TEST_CASE("command line tls: an interrupted import reports its progress")
{
    TlsRedis redis;
    FaultProxy proxy(redis.redis, redis.port);
    SlowImport import(proxy.url(),
                      trusting(redis.ca) + Words{"--sni", TlsRedis::kName});
    const auto last_id = [&] {
        return redis.redis.command({"GET", "petstore:{petstore:pets}:count"})
            .text;
    };
    std::string pets;
    for (int i = 0; i < 512; ++i) {
        pets += "{\"name\":\"p\",\"categoryId\":7}\n";
    }
    import.write(pets);
    REQUIRE(wait_until([&] { return last_id() == "512"; }));
    NetworkFault silent;
    silent.half_open = true;
    proxy.set(silent);
    import.write(pets);
    REQUIRE(wait_until([&] { return proxy.swallowed() > 0; }));
    import.process().signal(SIGINT);
    const auto err = import.failure();
    INFO(err);
    // Redis's last reply may have been lost, too.
    CHECK((contains(err, "imported between 512 and 640 pets; interrupted")
           || contains(err, "imported between 384 and 512 pets; interrupted")));
    CHECK(contains(err, "no answer in time"));
    CHECK(last_id() == "512");
}
