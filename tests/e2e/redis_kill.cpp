// Redis is killed again and again while pets are created, with the one setting
// that loses nothing: appendfsync always.
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "support/store.h"

using namespace petstore::e2e;

namespace {

// Clients that create pets with names of their own until the end.
class Writers {
public:
    Writers(const NginxServer& nginx, const Key& key, int count)
    {
        for (int i = 0; i < count; ++i) {
            threads_.emplace_back([this, &nginx, &key, i] {
                Http http(nginx.url(), key.secret);
                for (int n = 0; !ending_; ++n) {
                    create(http, std::to_string(i) + "." + std::to_string(n));
                }
            });
        }
    }
    ~Writers() { end(); }
    Writers(const Writers&) = delete;
    Writers& operator=(const Writers&) = delete;

    void end()
    {
        ending_ = true;
        for (auto& thread : threads_) {
            if (thread.joinable()) {
                thread.join();
            }
        }
    }

    int acknowledged() const { return acknowledged_; }
    int refused() const { return refused_; }
    int strange() const { return strange_; }

    // Names by id. After end().
    const std::map<long long, std::string>& pets() const { return pets_; }

private:
    void create(Http& http, const std::string& name)
    {
        const auto response = http.post(
            "/v1/pets", "{\"name\":\"" + name + "\",\"categoryId\":1}");
        if (response.status == 201) {
            const std::lock_guard lock(mutex_);
            pets_[response.json().at("id")] = name;
            ++acknowledged_;
        } else if (response.status == 503 && response.has("retry-after")
                   && response.has("x-ratelimit-remaining")) {
            ++refused_;
        } else {
            ++strange_;
        }
    }

    std::atomic<bool> ending_{false};
    std::atomic<int> acknowledged_{0};
    std::atomic<int> refused_{0};
    std::atomic<int> strange_{0};
    std::mutex mutex_;
    std::map<long long, std::string> pets_;
    std::vector<std::thread> threads_;
};

}  // namespace

TEST_CASE("redis killed: again and again, and no acknowledged pet is lost")
{
    RedisServer redis({"appendfsync always"});
    const auto key = create_key(redis);
    NginxOptions options;
    options.redis = redis.url();
    options.workers = 2;
    NginxServer nginx(options);
    const auto workers = nginx.workers();

    // As many rounds as fit, or as asked for.
    const int asked = std::atoi(env_or("PETSTORE_KILL_ROUNDS", "0").c_str());
    const auto enough = Clock::now() + 4s;
    int rounds = 0;
    Writers writers(nginx, key, 8);
    do {
        const int before = writers.acknowledged();
        REQUIRE(
            wait_until([&] { return writers.acknowledged() > before + 100; }));
        const int refused = writers.refused();
        redis.kill_hard();
        REQUIRE(wait_until([&] { return writers.refused() > refused; }));
        redis.start();
        ++rounds;
    } while (asked > 0 ? rounds < asked : Clock::now() < enough);
    const int before = writers.acknowledged();
    REQUIRE(wait_until([&] { return writers.acknowledged() > before + 100; }));
    writers.end();

    CHECK(writers.strange() == 0);
    // No id twice.
    CHECK(writers.pets().size()
          == static_cast<std::size_t>(writers.acknowledged()));
    Http http(nginx.url(), key.secret);
    REQUIRE(wait_until([&] { return http.get("/v1/pets").status == 200; }));
    std::map<long long, std::string> stored;
    std::set<std::string> names;
    for (const auto& row : walk(http, "/v1/pets?limit=100")) {
        stored[row.at("id")] = row.at("name");
        names.insert(row.at("name").get<std::string>());
    }
    CHECK(names.size() == stored.size());  // no pet twice
    std::size_t lost = 0;
    for (const auto& [id, name] : writers.pets()) {
        lost += stored[id] != name;
    }
    CHECK(lost == 0);
    CHECK(nginx.workers() == workers);
    WARN(rounds << " rounds, " << writers.acknowledged() << " acknowledged, "
                << stored.size() << " stored, " << lost << " lost");
}
