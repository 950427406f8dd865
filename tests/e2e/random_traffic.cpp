// Everything at once: clients that reset, stall and send garbage over HTTP/1
// and HTTP/2, a Redis that pauses, dies and lies, operators who reload, and
// everything that nginx can put in front of a location. The traffic is random,
// by a seed that is printed. The invariants are in chaos_requests.cpp, below,
// and in what the harness asserts for every nginx.
//
//   PETSTORE_RANDOM_SEED=N     repeats a run, as far as timing allows
//   PETSTORE_RANDOM_SECONDS=N  duration
//   PETSTORE_RANDOM_ONLY=A,B   only these locations of config.cpp
//   PETSTORE_RANDOM_KEEP=DIR   copies the files of an nginx that failed to DIR
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <thread>

#include "chaos/random_traffic/http1_client.h"
#include "chaos/random_traffic/http2_client.h"
#include "chaos/random_traffic/operator.h"
#include "chaos/random_traffic/redis_proxy.h"

using namespace petstore::e2e;

namespace {

constexpr int kHttp1Clients = 10;
constexpr int kHttp2Clients = 4;

// The time from Redis's return to a response: the longest pause between two
// connection attempts (600 ms), the time that an unknown key may be remembered
// (900 ms), and slack for a machine that runs other tests too.
constexpr auto kBackWithin = 15s;

std::uint64_t number_from(const char* variable, std::uint64_t otherwise)
{
    const auto text = env_or(variable, "");
    return text.empty() ? otherwise : std::stoull(text);
}

std::uint64_t fresh_seed()
{
    return std::random_device()() % 1'000'000'000;
}

// Follows a growing log.
class LogWatch {
public:
    explicit LogWatch(std::string path) : path_(std::move(path)) {}

    // The first new line that must never occur, or "".
    std::string look()
    {
        std::ifstream file(path_, std::ios::binary);
        file.seekg(at_);
        std::string line;
        std::string found;
        while (std::getline(file, line) && !file.eof()) {
            at_ += static_cast<std::streamoff>(line.size()) + 1;
            for (const char* word : {"[alert]", "[emerg]", "exited on signal",
                                     "exited with code 1", "exited with code 2",
                                     "exited with fatal"}) {
                if (found.empty() && contains(line, word)) {
                    found = line;
                }
            }
        }
        return found;
    }

private:
    std::string path_;
    std::streamoff at_ = 0;
};

// The threads of one round, ended when this goes out of scope.
class Actors {
public:
    explicit Actors(Journal& journal) : journal_(journal) {}
    ~Actors() { stop(); }

    const std::atomic<bool>& stopping() const noexcept { return stop_; }
    void add(const std::string& name, std::function<void()> run)
    {
        threads_.emplace_back([this, name, run = std::move(run)] {
            try {
                run();
            } catch (const std::exception& problem) {
                journal_.complain(name, problem.what());
            }
        });
    }
    void stop()
    {
        stop_ = true;
        for (auto& thread : threads_) {
            thread.join();
        }
        threads_.clear();
    }

private:
    Journal& journal_;
    std::atomic<bool> stop_{false};
    std::vector<std::thread> threads_;
};

class Round {
public:
    Round(World& world, RedisServer& redis, RedisProxy& proxy,
          std::uint64_t seed)
        : world_(world), redis_(redis), proxy_(proxy), seed_(seed),
          random_(seed, "round"), lies_(random_.chance(60))
    {
        world_.restore(redis_);
        world_.begin_round(!lies_);
    }

    void play(std::chrono::milliseconds time)
    {
        NginxServer nginx(configuration());
        write_pages(nginx);
        world_.journal.note(
            "round", "seed " + std::to_string(seed_)
                         + (lies_ ? ", Redis lies" : ", Redis is honest"));
        traffic(nginx, time);
        if (!world_.journal.failed()) {
            world_.journal.note("round", "the chaos is over");
            comes_back(nginx);
            keeps_its_word(nginx);
            world_.journal.note("round", "waits for rest");
            is_at_rest(nginx);
        }
        keep(nginx);
    }

private:
    NginxOptions configuration()
    {
        return random_configuration(
            random_, {proxy_.unix_url(), proxy_.tcp_url()}, redis_.url());
    }

    void traffic(NginxServer& nginx, std::chrono::milliseconds time)
    {
        LogWatch log(nginx.path("error.log"));
        Operator chief(
            world_, redis_, nginx, [this] { return configuration(); }, seed_);
        {
            Actors actors(world_.journal);
            const auto& stop = actors.stopping();
            for (int i = 0; i < kHttp1Clients; ++i) {
                const auto name = "h1-" + std::to_string(i);
                actors.add(name, [&, name] {
                    Http1Client(world_, targets(nginx, false), seed_, name,
                                stop)
                        .run();
                });
            }
            for (int i = 0; i < kHttp2Clients; ++i) {
                const auto name = "h2-" + std::to_string(i);
                actors.add(name, [&, name] {
                    Http2Client(world_, targets(nginx, true), seed_, name, stop)
                        .run();
                });
            }
            actors.add("operator", [&] { chief.run(stop); });
            proxy_.misbehave(seed_, lies_);
            wait_until(
                [&] {
                    look_at(nginx, log);
                    return world_.journal.failed();
                },
                time);
        }
        look_at(nginx, log);
        chief.put_right();
        proxy_.behave();
    }

    void look_at(const NginxServer& nginx, LogWatch& log)
    {
        const auto line = log.look();
        if (!line.empty()) {
            world_.journal.complain("error.log", line);
        }
        if (!files_below(nginx.path("reports")).empty()) {
            world_.journal.complain("nginx", "a sanitizer has reported");
        }
    }

    // Checks that every worker serves again, on every connection.
    void comes_back(NginxServer& nginx)
    {
        const auto& secret = world_.key(Role::good).secret;
        int in_a_row = 0;
        Response last;
        const bool back = wait_until(
            [&] {
                Http http(nginx.url(), secret);
                http.tolerate_failures();
                http.set_timeout(2s);
                last = http.get("/v1/pets/1");
                in_a_row = last.status == 200 ? in_a_row + 1 : 0;
                return in_a_row == 20;
            },
            kBackWithin);
        if (!back) {
            world_.journal.complain("round", "no service after the chaos: "
                                                 + std::to_string(last.status)
                                                 + " " + last.body);
        }
    }

    // Checks what holds as long as Redis did not lie and lost nothing.
    void keeps_its_word(NginxServer& nginx)
    {
        if (lies_) {
            return;
        }
        const auto there = all_pets(nginx);
        for (const auto& [id, name] : world_.created()) {
            const auto found = there.find(id);
            if (found == there.end() || found->second != name) {
                world_.journal.complain(
                    "round",
                    "pet " + std::to_string(id) + " " + excerpt(name)
                        + " was answered with 201 and is "
                        + (found == there.end() ? "not there" : found->second));
            }
        }
        // A round is shorter than the window that its first request opens.
        if (world_.admitted() > World::kPerMinute) {
            world_.journal.complain("round",
                                    std::to_string(world_.admitted())
                                        + " requests were admitted of "
                                        + std::to_string(World::kPerMinute));
        }
    }

    std::map<long long, std::string> all_pets(const NginxServer& nginx) const
    {
        Http http(nginx.url(), world_.key(Role::good).secret);
        std::map<long long, std::string> pets;
        std::string path = "/v1/pets?limit=100";
        while (!path.empty()) {
            Response page;
            // The timeout of Redis is short, and the machine may stall.
            const bool found = wait_until([&] {
                page = http.get(path);
                return page.status == 200;
            });
            if (!found) {
                throw HarnessError("a page of all pets is "
                                   + std::to_string(page.status));
            }
            for (const auto& pet : page.json()) {
                pets[pet["id"]] = pet["name"];
            }
            path = next_of(page);
            // The link may start with petstore_base_url.
            path.erase(0, std::min(path.find("/v1/"), path.size()));
        }
        return pets;
    }

    void is_at_rest(NginxServer& nginx)
    {
        nginx.reload_and_settle();
        nginx.sockets_at_rest();
        // By nginx's own status, this request must be the only one.
        std::string rest;
        const bool quiet = wait_until([&] {
            Http http(nginx.url());
            rest = http.get("/rest").body;
            return contains(rest, "Active connections: 1 ")
                   && contains(rest, "Reading: 0 Writing: 1 Waiting: 0");
        });
        if (!quiet) {
            world_.journal.complain("round", "nginx is not at rest: " + rest);
        }
        const auto most =
            kRedisLinks * static_cast<int>(nginx.workers().size());
        if (!wait_until([&] { return proxy_.open() <= most; })) {
            world_.journal.complain("round", std::to_string(proxy_.open())
                                                 + " connections to Redis");
        }
    }

    void keep(NginxServer& nginx)
    {
        const auto folder = env_or("PETSTORE_RANDOM_KEEP", "");
        if (folder.empty() || !world_.journal.failed()) {
            return;
        }
        nginx.quit();
        std::error_code ignored;
        for (const char* name : {"nginx.conf", "error.log", "access.log",
                                 "output.log", "reports"}) {
            std::filesystem::copy(
                nginx.path(name),
                folder + "/" + std::to_string(seed_) + "-" + name,
                std::filesystem::copy_options::overwrite_existing
                    | std::filesystem::copy_options::recursive,
                ignored);
        }
        write_file(folder + "/" + std::to_string(seed_) + "-notes",
                   world_.journal.notes());
    }

    World& world_;
    RedisServer& redis_;
    RedisProxy& proxy_;
    const std::uint64_t seed_;
    Random random_;
    const bool lies_;
};

}  // namespace

TEST_CASE(
    "random traffic: the service survives misbehaving clients and servers")
{
    auto seed = number_from("PETSTORE_RANDOM_SEED", fresh_seed());
    const std::chrono::seconds time(
        number_from("PETSTORE_RANDOM_SECONDS", sanitized() ? 50 : 8));
    std::cerr << "random traffic: seed " << seed << ", " << time.count()
              << " seconds" << std::endl;

    // Killing Redis loses nothing acknowledged. With everysec, a write to the
    // file may wait for the disk while the reply does not.
    RedisServer redis({"appendfsync no"});
    Journal journal;
    World world(redis, journal);
    RedisProxy proxy(redis, journal);

    const auto until = Clock::now() + time;
    while (Clock::now() < until && !journal.failed()) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            until - Clock::now());
        const auto length = std::min<std::chrono::milliseconds>(
            Random(seed, "length").millis(5000, 12'000), left);
        INFO("PETSTORE_RANDOM_SEED=" << seed << " PETSTORE_RANDOM_SECONDS="
                                     << length.count() / 1000 + 1);
        try {
            Round(world, redis, proxy, seed).play(length);
        } catch (const std::exception& problem) {
            journal.complain("harness", problem.what());
        }
        journal.count("rounds");
        if (journal.failed()) {
            std::string report;
            for (const auto& complaint : journal.complaints()) {
                report += complaint + "\n";
            }
            FAIL_CHECK("what happened before:\n"
                       << journal.notes() << "what is wrong:\n"
                       << report);
        }
        ++seed;
    }
    std::cerr << "random traffic: " << journal.counts() << std::endl;

    // Otherwise the checks above prove nothing.
    if (!journal.failed() && env_or("PETSTORE_RANDOM_ONLY", "").empty()) {
        for (const char* what :
             {"200", "201", "429", "503", "behind a guard"}) {
            INFO(what);
            CHECK(journal.counted(what) > 0);
        }
    }
}
