// Counts the Redis commands that requests cost.
#include <algorithm>
#include <csignal>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "support/stopped_worker.h"
#include "support/store.h"

using namespace petstore::e2e;

namespace {

std::vector<std::string> commands_of(Monitor& monitor,
                                     const std::function<void()>& requests)
{
    monitor.names();
    requests();
    return monitor.names();
}

using Names = std::vector<std::string>;

// The commands by which a worker checks that Redis is still a primary; names()
// omits them.
std::vector<Monitor::Command> role_checks(std::vector<Monitor::Command> all)
{
    all.erase(
        std::remove_if(all.begin(), all.end(),
                       [](const auto& command) { return !command.role_check; }),
        all.end());
    return all;
}

// The paths of the pages after `path`. Another nginx finds them, so that the
// worker under test has not seen any.
std::vector<std::string> pages_behind(const Store& store, std::string path,
                                      int pages)
{
    NginxOptions options;
    options.redis = store.redis.url();
    NginxServer nginx(options);
    Http http(nginx.url(), store.key.secret);
    std::vector<std::string> paths;
    while (pages-- > 0) {
        path = next_of(http.get(path));
        paths.push_back(path);
    }
    return paths;
}

}  // namespace

TEST_CASE("cost: Redis commands of each operation once the key is known")
{
    Store store;
    import_pets(store.redis, 900);
    // Loads the scripts and makes the worker cache the key.
    for (int i = 0; i < 2; ++i) {
        CHECK(store.http.get("/v1/pets").status == 200);
        CHECK(store.http.get("/v1/pets?status=sold").status == 200);
        CHECK(store.http.get("/v1/pets/1").status == 200);
        CHECK(store.http.post("/v1/pets", "{\"name\":\"n\",\"categoryId\":1}")
                  .status
              == 201);
    }
    auto& http = store.http;

    const auto create = [&] {
        http.post("/v1/pets", "{\"name\":\"n\",\"categoryId\":1}");
    };

    // The limiter's reply contains the catalogue's version: data read at that
    // version are served from memory, and are as fresh as Redis.
    const std::vector<std::pair<std::string, std::string>> reads = {
        {"/v1/pets/700", "LINDEX"},
        {pages_behind(store, "/v1/pets?limit=40", 4).back(), "LRANGE"},
        {pages_behind(store, "/v1/pets?limit=33&status=sold", 4).back(),
         "EVALSHA"},
    };
    Monitor monitor(store.redis);
    CHECK(commands_of(monitor, create) == Names{"EVALSHA", "EVALSHA"});
    for (const auto& [path, read] : reads) {
        INFO(path);
        const auto& target = path;
        CHECK(commands_of(monitor, [&] { http.get(target); })
              == Names{"EVALSHA", read});
        CHECK(commands_of(monitor, [&] { http.get(target); })
              == Names{"EVALSHA"});
        CHECK(commands_of(monitor, [&] { http.head(target); })
              == Names{"EVALSHA"});
    }
    CHECK(commands_of(monitor, [&] { http.get("/v1/pets/99999"); }).size()
          <= 2);
    CHECK(commands_of(monitor, [&] { http.get("/v1/pets/abc"); })
          == Names{"EVALSHA"});
    // Refused but charged: only the limiter is called.
    CHECK(commands_of(monitor, [&] { http.post("/v1/pets", "nonsense"); })
          == Names{"EVALSHA"});
    CHECK(commands_of(monitor, [&] { http.get("/v1/pets?limit=0"); })
          == Names{"EVALSHA"});
    CHECK(commands_of(monitor, [&] { http.get("/v1/nowhere"); })
          == Names{"EVALSHA"});
    CHECK(commands_of(monitor, [&] { http.request("DELETE", "/v1/pets"); })
          == Names{"EVALSHA"});
    // OPTIONS is not charged to anyone.
    CHECK(commands_of(monitor, [&] {
              http.request("OPTIONS", "/v1/pets");
          }).empty());
    CHECK(commands_of(monitor, [&] {
              Http(store.nginx.url()).get("/v1/pets");
          }).empty());
}

TEST_CASE("cost: a page costs no more than two reads wherever it lies")
{
    Store store;
    import_pets(store.redis, 400);
    CHECK(store.http.get("/v1/pets").status == 200);
    Monitor monitor(store.redis);
    std::string path = "/v1/pets?limit=100";
    while (!path.empty()) {
        std::string next;
        const auto names =
            commands_of(monitor, [&] { next = next_of(store.http.get(path)); });
        CHECK(names.size() <= 3);
        path = next;
    }
}

TEST_CASE("cost: a catalogue that was walked twice is not read again")
{
    Store store;
    import_pets(store.redis, 700);
    auto& http = store.http;
    for (int i = 0; i < 2; ++i) {
        CHECK(walk(http, "/v1/pets").size() == 700);
    }
    // The walks requested none of these paths.
    std::vector<std::string> paths;
    for (const std::string filter : {"", "&status=sold", "&status=available"}) {
        for (auto& path :
             pages_behind(store, "/v1/pets?limit=7" + filter, 30)) {
            paths.push_back(std::move(path));
        }
    }
    for (int id = 1; id <= 700; id += 3) {
        paths.push_back("/v1/pets/" + std::to_string(id));
    }
    Monitor monitor(store.redis);
    for (const auto& path : paths) {
        INFO(path);
        CHECK(commands_of(monitor, [&] { CHECK(http.get(path).status == 200); })
              == Names{"EVALSHA"});
    }
    // A new pet: only what it touches is read.
    CHECK(http.post("/v1/pets", "{\"name\":\"n\",\"categoryId\":1}").status
          == 201);
    CHECK(commands_of(monitor, [&] { http.get("/v1/pets?limit=99"); })
          == Names{"EVALSHA"});
    CHECK(http.get("/v1/pets/701").status == 200);
    CHECK(http.get(paths.at(0)).json().size() == 7);
    // A changed pet: its bucket is read again, after the change log.
    REQUIRE(ctl(store.redis.url(), {"pet", "set-status", "2", "sold"}).code
            == 0);
    monitor.names();
    CHECK(commands_of(monitor, [&] { http.get("/v1/pets?limit=98"); })
          == Names{"EVALSHA", "LRANGE", "LRANGE"});
    CHECK(commands_of(monitor, [&] { http.get("/v1/pets/600"); })
          == Names{"EVALSHA"});
}

TEST_CASE("cost: the first request of a key looks it up once")
{
    Store store;
    import_pets(store.redis, 1);
    CHECK(store.http.get("/v1/pets").status == 200);
    const auto key = create_key(store.redis);
    Http http(store.nginx.url(), key.secret);
    Monitor monitor(store.redis);
    CHECK(http.get("/v1/pets/1").status == 200);
    // The records of the key and its account, the limiter, and the pet in the
    // same write as the limiter.
    const auto first = monitor.names();
    REQUIRE(first.size() == 4);
    CHECK(first[0] == "HGETALL");
    CHECK(first[1] == "HGETALL");
    CHECK(first[2] == "EVALSHA");
    CHECK(http.get("/v1/pets/1").status == 200);
    CHECK(monitor.names() == Names{"EVALSHA"});

    // Redis has lost the account: a worker that has cached it reads the
    // records again; one that has just read them recreates the account.
    store.redis.command({"DEL", "petstore:{" + key.account + "}:state"});
    CHECK(http.get("/v1/pets/1").status == 200);
    auto names = monitor.names();
    names.erase(std::remove(names.begin(), names.end(), "DEL"), names.end());
    CHECK(names == Names{"EVALSHA", "HGETALL", "HGETALL", "EVALSHA"});
    const auto other = create_key(store.redis);
    store.redis.command({"DEL", "petstore:{" + other.account + "}:state"});
    monitor.names();
    CHECK(Http(store.nginx.url(), other.secret).get("/v1/pets/1").status
          == 200);
    CHECK(monitor.names() == Names{"HGETALL", "HGETALL", "EVALSHA"});
}

namespace {

// Each client uses an existing connection.
void send_together(const NginxServer& nginx, std::vector<RawClient>& clients,
                   const std::vector<std::string>& requests)
{
    const StoppedWorker stopped(nginx);
    for (std::size_t i = 0; i < requests.size(); ++i) {
        clients[i].send(requests[i]);
    }
}

}  // namespace

TEST_CASE("cost: simultaneous requests of many keys are one command")
{
    constexpr std::size_t kKeys = 64;
    Store store;
    import_pets(store.redis, 1);
    std::vector<std::string> requests;
    for (std::size_t i = 0; i < kKeys; ++i) {
        const auto key = create_key(store.redis);
        requests.push_back(
            "GET /v1/pets/1 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "
            + key.secret + "\r\n\r\n");
    }
    std::vector<RawClient> clients;
    for (const auto& request : requests) {
        clients.emplace_back(store.nginx.port());
        clients.back().send(request);
        CHECK(clients.back().read().status == 200);
    }
    Monitor monitor(store.redis);
    send_together(store.nginx, clients, requests);
    for (auto& client : clients) {
        const auto response = client.read();
        CHECK(response.status == 200);
        const auto rate = rate_headers_of(response);
        CHECK(rate.limit - rate.remaining == 2);  // each is counted separately
    }
    const auto names = monitor.names();
    CHECK(names.size() <= 4);
    CHECK(std::count(names.begin(), names.end(), "EVALSHA")
          == static_cast<std::ptrdiff_t>(names.size()));
}

TEST_CASE(
    "cost: simultaneous creates share a call with and without Idempotency-Key")
{
    constexpr int kPets = 40;
    Store store;
    import_pets(store.redis, 100);
    const auto request = [&](int pet, const std::string& header) {
        const std::string body =
            "{\"name\":\"pet " + std::to_string(pet) + "\",\"categoryId\":7}";
        return "POST /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "
               + store.key.secret + "\r\n" + header + "Content-Length: "
               + std::to_string(body.size()) + "\r\n\r\n" + body;
    };
    std::vector<RawClient> clients;
    std::vector<std::string> requests;
    for (int i = 0; i < kPets; ++i) {
        const std::string key =
            "Idempotency-Key: " + std::to_string(i) + "\r\n";
        requests.push_back(request(i, i % 2 == 1 ? key : ""));
        clients.emplace_back(store.nginx.port());
        clients.back().send(
            "GET /v1/pets/1 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "
            + store.key.secret + "\r\n\r\n");
        REQUIRE(clients.back().read().status == 200);
    }
    Monitor monitor(store.redis);
    send_together(store.nginx, clients, requests);
    std::set<std::string> places;
    for (int i = 0; i < kPets; ++i) {
        const auto response = clients[static_cast<std::size_t>(i)].read();
        REQUIRE(response.status == 201);
        const auto pet = nlohmann::json::parse(response.body);
        CHECK(pet.at("name") == "pet " + std::to_string(i));
        const auto place = response.header("location");
        CHECK(place == "/v1/pets/" + pet.at("id").dump());
        places.insert(place);
        // The response matches the stored pet.
        CHECK(store.http.get(place).body == response.body);
    }
    CHECK(places.size() == kPets);
    std::map<std::string, int> calls;
    for (const auto& command : monitor.commands()) {
        ++calls[command.from_script ? command.name + " in a script"
                                    : command.name];
    }
    // In buckets 0 and 1, by two calls.
    CHECK(calls["RPUSH in a script"] == 3);
    CHECK(calls["INCRBY in a script"] == 2);

    // Repeats them: the same pets, and new ones for those without a key.
    send_together(store.nginx, clients, requests);
    for (int i = 0; i < kPets; ++i) {
        const auto response = clients[static_cast<std::size_t>(i)].read();
        CHECK(response.status == 201);
        CHECK((response.header("idempotent-replayed") == "true") == (i % 2));
        CHECK(places.count(response.header("location")) == (i % 2 ? 1U : 0U));
    }
}

TEST_CASE("cost: an unknown key is not looked up again and again")
{
    Store store;
    CHECK(store.http.get("/v1/pets").status == 200);
    Http stranger(store.nginx.url(), "an-imported-key-nobody-has");
    Monitor monitor(store.redis);
    const auto start = Clock::now();
    for (int i = 0; i < 200; ++i) {
        CHECK(stranger.get("/v1/pets").status == 401);
    }
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start)
            .count();
    CHECK(static_cast<long long>(monitor.names().size()) <= 2 + 2 * seconds);
}

TEST_CASE(
    "cost: a worker asks for Redis's role once a second at most, and not while it is idle")
{
    Store store;
    import_pets(store.redis, 10);
    CHECK(store.http.get("/v1/pets").status == 200);
    Monitor monitor(store.redis);
    const auto start = Clock::now();
    int requests = 0;
    wait_until(
        [&] {
            requests += store.http.get("/v1/pets").status == 200;
            return false;
        },
        3300ms);
    CHECK(requests > 10);
    const auto checks = role_checks(monitor.commands());
    const auto seconds = Clock::now() - start;
    CHECK(checks.size() >= 2);
    CHECK(checks.size() <= static_cast<std::size_t>(seconds / 1s) + 1);
    for (std::size_t i = 1; i < checks.size(); ++i) {
        // By Redis's clock: on a busy machine a command arrives late.
        CHECK(checks[i].time - checks[i - 1].time > 0.5);
    }

    const auto rest = Clock::now() + 1500ms;
    REQUIRE(wait_until([&] { return Clock::now() >= rest; }));
    CHECK(monitor.commands().empty());
    // Before the first command after that, in the same write.
    auto client = store.redis.client();
    const auto reads = [&] {
        const auto stats = client.command({"INFO", "stats"}).text;
        return std::atoll(stats.c_str() + stats.find("total_reads_processed:")
                          + 22);
    };
    // Until the ends of other connections are read, which Redis counts, too.
    auto before = reads();
    REQUIRE(wait_until([&] {
        const auto last = std::exchange(before, reads());
        return before == last + 1;
    }));
    CHECK(store.http.get("/v1/pets").status == 200);
    CHECK(reads() == before + 2);  // including this one's
    Names names;
    for (const auto& command : monitor.commands()) {
        if (!command.from_script && !command.host_task
            && (command.name != "INFO" || command.role_check)) {
            names.push_back(command.name);
        }
    }
    CHECK(names == Names{"INFO", "EVALSHA"});
}

TEST_CASE("cost: simultaneous requests share one write")
{
    Store store;
    import_pets(store.redis, 10);
    CHECK(store.http.get("/v1/pets").status == 200);

    constexpr int kConnections = 64;
    constexpr int kRequests = 4000;
    std::vector<RawClient> clients;
    for (int i = 0; i < kConnections; ++i) {
        clients.emplace_back(store.nginx.port());
    }
    const auto request = store.head("GET /v1/pets/1 HTTP/1.1");
    const auto before = store.redis.info("total_reads_processed");
    const auto worker = store.nginx.workers().at(0);
    int good = 0;
    // The worker finds the requests of all connections at once, as under load.
    for (int done = 0; done < kRequests; done += kConnections) {
        kill(worker, SIGSTOP);
        for (auto& client : clients) {
            client.send(request);
        }
        kill(worker, SIGCONT);
        for (auto& client : clients) {
            good += client.read().status == 200;
        }
    }
    const auto reads = store.redis.info("total_reads_processed") - before;
    CHECK(good >= kRequests);
    // Redis reads at most once per write of ours.
    CHECK(reads <= kRequests / 16);
    WARN(reads * 1000 / good << " reads of Redis per 1000 requests");
}
