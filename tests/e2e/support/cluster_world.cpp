#include "cluster_world.h"

#include <algorithm>

namespace petstore::e2e {

namespace {

constexpr int kPets = 10;

NginxOptions options_for(const ClusterServers& redis, NginxOptions options,
                         const std::string& credentials)
{
    options.redis = redis.url(credentials);
    return host_options(options);
}

}  // namespace

ClusterWorld::ClusterWorld(ClusterServers::Options servers,
                           NginxOptions options, const std::string& credentials)
    : redis(std::move(servers)), key(redis.create_key()),
      nginx(options_for(redis, std::move(options), credentials)),
      http(nginx.url(), key.secret)
{
    for (int i = 1; i <= kPets; ++i) {
        const std::string pet =
            "{\"name\":\"pet " + std::to_string(i) + "\",\"categoryId\":7}";
        // If the machine stalls, servers take each other for lost for a moment:
        // nothing is created then.
        Response created;
        REQUIRE(wait_until([&] {
            created = http.post("/v1/pets", pet);
            return code_of(created) != "service_unavailable";
        }));
        REQUIRE(created.status == 201);
    }
    workers_ = nginx.workers();
}

std::size_t ClusterWorld::other_primary() const
{
    return catalogue_server() == 0 ? 1 : 0;
}

Storm ClusterWorld::storm(const Key& key) const
{
    Storm storm;
    storm.ports = {nginx.tls_port()};
    storm.connections = 2 * 64;
    storm.request = list_request(key.secret);
    return storm;
}

std::vector<Answer> ClusterWorld::exhaust(const Key& key, long long limit) const
{
    return storm(key).run(static_cast<std::size_t>(2 * limit));
}

std::size_t ClusterWorld::lines_with(const std::string& part) const
{
    const auto lines = split(nginx.error_log(), '\n');
    return static_cast<std::size_t>(
        std::count_if(lines.begin(), lines.end(),
                      [&](const auto& line) { return contains(line, part); }));
}

Readers::Readers(const ClusterWorld& world, int count)
{
    for (int i = 0; i < count; ++i) {
        auto reader = std::make_unique<Reader>();
        reader->limit = 1'000'000 + i;
        reader->key = world.redis.limited_key(reader->limit,
                                              static_cast<std::size_t>(i % 3));
        readers_.push_back(std::move(reader));
    }
    for (auto& reader : readers_) {
        threads_.emplace_back([this, &reader = *reader,
                               url = world.nginx.url()] { run(reader, url); });
    }
}

void Readers::end()
{
    ending_ = true;
    for (auto& thread : threads_) {
        thread.join();
    }
    threads_.clear();
}

void Readers::run(Reader& reader, const std::string& url)
{
    Http http(url, reader.key.secret);
    for (int n = 0; !ending_; ++n) {
        const int id = n % kPets + 1;
        const auto response = http.get("/v1/pets/" + std::to_string(id));
        const auto limit = response.header("x-ratelimit-limit");
        const bool own =
            limit == std::to_string(reader.limit)
            // A 503 without the limiter's reply has another limit, or none.
            || response.status == 503;
        if (own && response.status == 200
            && response.body
                   == pet_json(id, "pet " + std::to_string(id), "7",
                               "available")) {
            ++reader.read;
        } else if (own && response.status == 503) {
            ++reader.refused;
            std::this_thread::sleep_for(10ms);  // as a client would, but less
        } else {
            ++reader.strange;
            const std::lock_guard lock(mutex_);
            if (first_strange_.empty()) {
                first_strange_ = std::to_string(response.status) + " " + limit
                                 + " " + response.body;
            }
        }
    }
}

bool Readers::continue_all(int more)
{
    std::vector<int> wanted;
    for (const auto& reader : readers_) {
        wanted.push_back(reader->read + more);
    }
    return wait_until([&] {
        for (std::size_t i = 0; i < readers_.size(); ++i) {
            if (readers_[i]->read < wanted[i]) {
                return false;
            }
        }
        return true;
    });
}

int Readers::read() const
{
    int sum = 0;
    for (const auto& reader : readers_) {
        sum += reader->read;
    }
    return sum;
}

int Readers::refused() const
{
    int sum = 0;
    for (const auto& reader : readers_) {
        sum += reader->refused;
    }
    return sum;
}

int Readers::strange() const
{
    int sum = 0;
    for (const auto& reader : readers_) {
        sum += reader->strange;
    }
    return sum;
}

std::string Readers::first_strange()
{
    const std::lock_guard lock(mutex_);
    return first_strange_;
}

}  // namespace petstore::e2e
