// docs/limits.md, "Without a valid key": such requests are counted by address,
// in shared memory.
#include <algorithm>

#include "support/limits.h"

using namespace petstore::e2e;

namespace {

const char* const kRealIp =
    "set_real_ip_from 127.0.0.1; real_ip_header X-Real-IP;";

// Opens a new connection, so any worker may answer.
Response ask(const NginxServer& nginx, const std::string& address,
             const std::string& key = "")
{
    Http http(nginx.url(), key);
    return http.get("/v1/pets", {{"X-Real-IP", address}});
}

long long remaining(const Response& response)
{
    return rate_headers_of(response).remaining;
}

const char* const kNoKey = "GET /v1/pets HTTP/1.1\r\nHost: a\r\n\r\n";

}  // namespace

TEST_CASE("limits address: IPv4 by the address and IPv6 by the first 64 bits")
{
    NginxOptions options;
    options.workers = 2;
    options.http = kRealIp;
    Store store(options);
    struct Case {
        const char* address;
        long long left;
    };
    for (const auto& [address, left] : {
             Case{"192.0.2.1", 59},
             Case{"192.0.2.1", 58},
             Case{"192.0.2.2", 59},
             Case{"193.0.2.1", 59},
             Case{"::ffff:192.0.2.1", 57},  // the same address
             Case{"2001:db8:0:1::1", 59},
             Case{"2001:db8:0:1::2", 58},
             Case{"2001:db8:0:1:ffff:ffff:ffff:ffff", 57},
             Case{"2001:db8:0:2::1", 59},
             Case{"2001:db8:1:1::1", 59},
             Case{"2001:db9:0:1::1", 59},
             Case{"fe80::1", 59},
             Case{"0:0:c000:201::1", 59},  // the bytes of 192.0.2.1
             Case{"2001:db8:0:1::1", 56},
             Case{"192.0.2.1", 56},
         }) {
        INFO(address);
        const auto response = ask(store.nginx, address);
        expect_error(response, 401, "missing_api_key");
        CHECK(rate_headers_of(response).limit == 60);
        CHECK(remaining(response) == left);
    }
}

TEST_CASE("limits address: an IPv6 connection is limited by its own address")
{
    NginxOptions options;
    options.server = "listen [::1]:%PORT%;";
    Store store(options);
    Http v6("http://[::1]:" + std::to_string(store.nginx.port()));
    Http v4(store.nginx.url());
    CHECK(remaining(v6.get("/v1/pets")) == 59);
    CHECK(remaining(v6.get("/v1/pets")) == 58);
    CHECK(remaining(v4.get("/v1/pets")) == 59);
}

TEST_CASE("limits address: an untrusted client cannot claim another address")
{
    Store store;  // without set_real_ip_from
    CHECK(remaining(ask(store.nginx, "192.0.2.1")) == 59);
    CHECK(remaining(ask(store.nginx, "192.0.2.2")) == 58);
}

TEST_CASE("limits address: one window for all workers")
{
    NginxOptions options;
    options.server = "petstore_anonymous_limit 500;";
    Hosts hosts(1, options);
    Storm storm;
    storm.ports = hosts.ports();
    storm.request = kNoKey;
    const auto answers = storm.run(800);

    std::vector<long long> left;
    std::vector<long long> workers;
    for (const auto& answer : answers) {
        REQUIRE(answer.status == 401);  // reported only, not enforced
        REQUIRE(answer.limit == 500);
        REQUIRE(answer.reset == answers.front().reset);
        left.push_back(answer.remaining);
        workers.push_back(answer.worker);
    }
    std::sort(left.begin(), left.end());
    for (int i = 0; i < 800; ++i) {
        REQUIRE(left[static_cast<std::size_t>(i)] == std::max(0, i - 300));
    }
    CHECK(std::count(workers.begin(), workers.end(), workers.front()) < 800);
}

TEST_CASE("limits address: enforced")
{
    NginxOptions options;
    options.http = kRealIp;
    options.server = "petstore_anonymous_limit 50 enforce;";
    Hosts hosts(1, options);
    const auto key = create_key(hosts.redis, {"--plan", "free"});
    Storm storm;
    storm.ports = hosts.ports();
    storm.request = kNoKey;
    long long allowed = 0;
    for (const auto& answer : storm.run(200)) {
        if (answer.status == 401) {
            ++allowed;
            REQUIRE(answer.retry_after == -1);
        } else {
            REQUIRE(answer.status == 429);
            REQUIRE(answer.code == "rate_limit_exceeded");
            REQUIRE(answer.limit == 50);
            REQUIRE(answer.remaining == 0);
            REQUIRE(answer.retry_after >= 1);
            REQUIRE(answer.retry_after <= 60);
        }
    }
    CHECK(allowed == 50);

    const auto& nginx = *hosts.nginx.front();
    Http http(nginx.url());
    // Invalid keys do not bypass the limit; a valid one does.
    const auto refused =
        http.get("/v1/pets", {{"Authorization", "Bearer guess"}});
    const auto message = expect_error(refused, 429, "rate_limit_exceeded");
    CHECK(contains(message, "50 requests per minute"));
    CHECK_FALSE(refused.has("www-authenticate"));
    CHECK(http.request("OPTIONS", "/v1/pets").status == 204);
    http.use_key(key.secret);
    const auto good = http.get("/v1/pets");
    CHECK(good.status == 200);
    CHECK(rate_headers_of(good).remaining == 59);
    // Other addresses are not refused.
    CHECK(ask(nginx, "192.0.2.9").status == 401);
}

TEST_CASE("limits address: windows survive a reload")
{
    NginxOptions options;
    options.server = "petstore_anonymous_limit 10 enforce;";
    Store store(options);
    for (int i = 0; i < 6; ++i) {
        Http(store.nginx.url()).get("/v1/pets");
    }
    store.nginx.reload_and_settle();
    CHECK(remaining(Http(store.nginx.url()).get("/v1/pets")) == 3);
    for (int i = 0; i < 4; ++i) {
        Http(store.nginx.url()).get("/v1/pets");
    }
    CHECK(Http(store.nginx.url()).get("/v1/pets").status == 429);
}

TEST_CASE("limits address: ends after a minute and survives a clock set back")
{
    if (sanitized()) {
        return;  // AddressSanitizer does not share LD_PRELOAD
    }
    TempDir dir;
    const auto set_clock = [&](const char* offset) {
        write_file(dir / "clock.new", offset);
        std::rename((dir / "clock.new").c_str(), (dir / "clock").c_str());
    };
    set_clock("+0");
    NginxOptions options;
    options.server = "petstore_anonymous_limit 3 enforce;";
    // libfaketime rereads the file at every clock access. nginx clears these
    // variables unless told to keep them.
    options.main = "env FAKETIME_TIMESTAMP_FILE; env FAKETIME_NO_CACHE;";
    for (auto& [name, value] : clock_off_by("+0")) {
        if (name != "FAKETIME") {
            options.env.emplace_back(name, value);
        }
    }
    options.env.emplace_back("FAKETIME_TIMESTAMP_FILE", dir / "clock");
    options.env.emplace_back("FAKETIME_NO_CACHE", "1");
    Store store(options);
    Http http(store.nginx.url());
    const auto use_up = [&] {
        const auto first = rate_headers_of(http.get("/v1/pets"));
        CHECK(first.remaining == 2);
        CHECK(remaining(http.get("/v1/pets")) == 1);
        CHECK(remaining(http.get("/v1/pets")) == 0);
        CHECK(http.get("/v1/pets").status == 429);
        return first.reset;
    };
    // nginx reads the clock once per event-loop iteration.
    const auto start = use_up();
    set_clock("+50");
    http.get("/v1/pets");
    const auto late = http.get("/v1/pets");
    expect_error(late, 429, "rate_limit_exceeded");
    CHECK(rate_headers_of(late).reset == start);
    CHECK(number(late, "retry-after") <= 10);
    set_clock("+61");
    CHECK(wait_until([&] {
        return Http(store.nginx.url())
                   .request("OPTIONS", "/v1/pets")
                   .header("x-ratelimit-remaining")
               == "3";
    }));
    const auto second = use_up();
    CHECK(second >= start + 60);
    set_clock("-7200");
    http.get("/v1/pets");
    CHECK(wait_until([&] { return http.get("/v1/pets").status == 401; }));
}

TEST_CASE("limits address: more addresses than there is memory for")
{
    NginxOptions options;
    options.http = std::string(kRealIp) + "petstore_zone 64k;";
    options.location = "access_log off; keepalive_requests 100000;";
    Store store(options);
    RawClient client(store.nginx.port());
    for (int block = 0; block < 100; ++block) {
        std::string requests;
        for (int i = 0; i < 100; ++i) {
            requests += "GET /v1/pets HTTP/1.1\r\nHost: a\r\nX-Real-IP: 10.1."
                        + std::to_string(block) + "." + std::to_string(i)
                        + "\r\n\r\n";
        }
        client.send(requests);
        for (int i = 0; i < 100; ++i) {
            const auto response = client.read();
            REQUIRE(response.status == 401);
            REQUIRE(response.header("x-ratelimit-remaining") == "59");
        }
    }
    // The most recent addresses are still known.
    CHECK(remaining(ask(store.nginx, "10.1.99.99")) == 58);
}
