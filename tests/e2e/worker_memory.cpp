// petstore_worker_memory: the memory for cached keys, pets and responses.
#include <openssl/sha.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>

#include "support/limits.h"

using namespace petstore::e2e;

namespace {

// Existing keys, as imported by petstorectl: ids of 16 characters, one account
// per key.
class ManyKeys {
public:
    ManyKeys(const RedisServer& redis, int count) : count_(count)
    {
        constexpr int kPipelined = 1000;
        auto client = redis.client();
        for (int i = 0; i < count; i += kPipelined) {
            const int end = std::min(i + kPipelined, count);
            std::string commands;
            for (int number = i; number < end; ++number) {
                commands +=
                    encode({"HSET", "petstore:key:" + digest(number), "id",
                            padded('k', number), "account", padded('a', number),
                            "scopes", "read,write"})
                    + encode({"HSET", "petstore:account:" + padded('a', number),
                              "id", padded('a', number), "created", "1", "plan",
                              "business"});
            }
            client.send(commands);
            for (int reply = 2 * i; reply < 2 * end; ++reply) {
                client.read();
            }
        }
    }

    // Sends one request with each key over many connections. Returns the number
    // of responses with this status.
    int request_each(const NginxServer& nginx, int status) const
    {
        constexpr int kConnections = 16;
        constexpr int kPipelined = 50;
        std::atomic<int> answered{0};
        std::vector<std::thread> threads;
        for (int first = 0; first < kConnections; ++first) {
            threads.emplace_back([&, first] {
                try {
                    RawClient client(nginx.port());
                    for (int i = first; i < count_;) {
                        std::string requests;
                        int sent = 0;
                        for (; sent < kPipelined && i < count_;
                             ++sent, i += kConnections) {
                            requests += "GET /v1/pets/1 HTTP/1.1\r\nHost: h\r\n"
                                        "Authorization: Bearer "
                                        + secret(i) + "\r\n\r\n";
                        }
                        client.send(requests);
                        while (sent-- > 0) {
                            answered += client.read().status == status;
                        }
                    }
                } catch (const HarnessError&) {
                    // The count shows a failure.
                }
            });
        }
        for (auto& thread : threads) {
            thread.join();
        }
        return answered;
    }

private:
    static std::string padded(char first, int number)
    {
        const auto digits = std::to_string(number);
        return first + std::string(15 - digits.size(), '0') + digits;
    }

    static std::string secret(int number)
    {
        return "many-" + std::to_string(number);
    }

    static std::string digest(int number)
    {
        const auto text = secret(number);
        unsigned char bytes[SHA256_DIGEST_LENGTH];
        SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(),
               bytes);
        std::string hex;
        for (const unsigned char byte : bytes) {
            static const char* const digits = "0123456789abcdef";
            hex += digits[byte >> 4];
            hex += digits[byte & 15];
        }
        return hex;
    }

    int count_;
};

// The resident memory of a process, in bytes.
std::size_t resident(pid_t pid)
{
    std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
    std::size_t size = 0;
    std::size_t pages = 0;
    file >> size >> pages;
    return pages * 4096;
}

NginxOptions many_requests(const RedisServer& redis)
{
    NginxOptions options;
    options.redis = redis.url();
    options.http = "keepalive_requests 1000000; access_log off;";
    return options;
}

}  // namespace

TEST_CASE("worker memory: 100,000 keys in use stay in memory by default")
{
    // The sanitized nginx is slow: uses an eighth of the keys and of the
    // memory.
    const int count = sanitized() ? 12'500 : 100'000;
    RedisServer redis({"appendonly no"});
    auto options = many_requests(redis);
    if (sanitized()) {
        options.http += " petstore_worker_memory 16m;";
    }
    const ManyKeys keys(redis, count);
    NginxServer nginx(options);
    const auto pid = nginx.workers().at(0);
    const auto before = resident(pid);

    CHECK(keys.request_each(nginx, 404) == count);
    const auto grown = resident(pid) - before;
    INFO("grown by " << grown);
    if (!sanitized()) {
        // Includes buffers, requests and what malloc() cannot reuse: 340 to 410
        // bytes, depending on how many requests wait at once.
        CHECK(grown <= std::size_t{430} * static_cast<std::size_t>(count));
    }
    // The key's record and its account's; and for the status page some labels
    // of accounts.
    constexpr int kMostLabels = 1000;
    const auto loaded = command_counts(redis)["hgetall"];
    CHECK(loaded >= 2 * count);
    CHECK(loaded <= 2 * count + kMostLabels);
    CHECK(keys.request_each(nginx, 404) == count);
    CHECK(command_counts(redis)["hgetall"] <= loaded + kMostLabels);
}

TEST_CASE("worker memory: a store takes its caches' memory as they fill")
{
    // AddressSanitizer's own memory hides that of the module.
    if (sanitized()) {
        return;
    }
    constexpr int kStores = 100;
    const auto worker_of = [](const RedisServer& redis, int stores) {
        auto options = many_requests(redis);
        options.http += " petstore_worker_memory 1024m;";
        for (int i = 0; i < stores; ++i) {
            const auto name = "store" + std::to_string(i);
            options.server += "location /" + name
                              + " { petstore_guard on; petstore_prefix " + name
                              + "; }\n";
        }
        const NginxServer nginx(options);
        CHECK(Http(nginx.url()).get("/v1/pets").status == 401);
        return resident(nginx.workers().at(0));
    };
    const RedisServer redis;
    const auto one = worker_of(redis, 1);
    const auto many = worker_of(redis, kStores);
    INFO(one << " and " << many);
    CHECK(many < one + std::size_t{kStores} * 32 * 1024);
}

TEST_CASE("worker memory: keys and pets and responses stay within it")
{
    constexpr std::size_t kMegabyte = 1024 * 1024;
    constexpr std::size_t kMemory = 8 * kMegabyte;
    const int count = sanitized() ? 3'000 : 15'000;
    const int pets = sanitized() ? 20'000 : 160'000;
    RedisServer redis({"appendonly no"});
    auto options = many_requests(redis);
    options.http += " petstore_worker_memory 8m;";
    const auto key = create_key(redis);
    import_pets(redis, pets);
    const ManyKeys keys(redis, count);
    NginxServer nginx(options);
    Http http(nginx.url(), key.secret);
    REQUIRE(http.get("/v1/pets").status == 200);
    const auto pid = nginx.workers().at(0);
    const auto before = resident(pid);

    // More of each than fits; pets and responses are cached on the second
    // request.
    for (int round = 0; round < 3; ++round) {
        CHECK(walk(http, "/v1/pets?limit=100").size()
              == static_cast<std::size_t>(pets));
    }
    CHECK(keys.request_each(nginx, 200) == count);
    CHECK(keys.request_each(nginx, 200) == count);

    const auto grown = resident(pid) - before;
    INFO("grown by " << grown);
    // AddressSanitizer enlarges each block and keeps freed ones.
    if (!sanitized()) {
        CHECK(grown > kMemory * 3 / 4);
        // Allows for buffers, requests and fragmentation.
        CHECK(grown < kMemory + kMegabyte);
    }
}
