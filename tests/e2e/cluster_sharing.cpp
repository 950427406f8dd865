// A Redis Cluster: accounts of one primary share a call of the limiter although
// their slots differ, even while some slots are moving.
#include "support/cluster_world.h"
#include "support/stopped_worker.h"

using namespace petstore::e2e;

namespace {

constexpr long long kLimit = 5;
constexpr std::size_t kPrimaries = 3;

// Clients with their own account and connection, `each` per primary. Their
// requests reach a one-worker nginx in one event-loop iteration.
class Crowd {
public:
    Crowd(const ClusterWorld& world, std::size_t each)
        : nginx_([&] {
              NginxOptions options;
              options.redis = world.redis.url();
              return options;
          }())
    {
        for (std::size_t i = 0; i < each * kPrimaries; ++i) {
            keys_.push_back(world.redis.limited_key(kLimit, i % kPrimaries));
        }
        // Their minutes begin now.
        for (std::size_t i = 0; i < keys_.size(); ++i) {
            clients_.emplace_back(nginx_.port());
            // The worker caches the key and the pet.
            clients_.back().send(request(i));
            REQUIRE(clients_.back().read().status == 200);
        }
    }

    const Key& key(std::size_t i) const { return keys_.at(i); }

    // Returns the number of responses by status, and checks their Remaining.
    std::map<int, std::size_t> ask(long long remaining)
    {
        std::map<int, std::size_t> statuses;
        for (const auto& response : ask()) {
            ++statuses[response.status];
            CHECK(rate_headers_of(response).limit == kLimit);
            CHECK(rate_headers_of(response).remaining == remaining);
        }
        return statuses;
    }

    std::vector<Response> ask()
    {
        {
            const StoppedWorker stopped(nginx_);
            for (std::size_t i = 0; i < clients_.size(); ++i) {
                clients_[i].send(request(i));
            }
        }
        std::vector<Response> responses;
        for (auto& client : clients_) {
            responses.push_back(client.read());
        }
        return responses;
    }

private:
    std::string request(std::size_t i) const
    {
        return "GET /v1/pets/1 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "
               + keys_[i].secret + "\r\n\r\n";
    }

    NginxServer nginx_;
    std::vector<Key> keys_;
    std::vector<RawClient> clients_;
};

long long calls_of(const RedisServer& redis)
{
    const auto counts = command_counts(redis);
    const auto found = counts.find("evalsha");
    return found == counts.end() ? 0 : found->second;
}

}  // namespace

TEST_CASE("cluster: accounts of one primary share a call")
{
    constexpr std::size_t kEach = 16;
    ClusterWorld world;
    Crowd crowd(world, kEach);
    std::vector<long long> before;
    for (std::size_t i = 0; i < kPrimaries; ++i) {
        before.push_back(calls_of(world.redis.server(i)));
    }
    const std::map<int, std::size_t> all = {{200, kEach * kPrimaries}};
    CHECK(crowd.ask(kLimit - 2) == all);
    for (std::size_t i = 0; i < kPrimaries; ++i) {
        // The requests may be read in a few iterations.
        CHECK(calls_of(world.redis.server(i)) - before[i] <= 4);
    }

    // Accounts 0, 3, 6 … are on primary 0. One slot is moved with its state;
    // another move has only begun.
    const auto moving = world.slot_of(crowd.key(0));
    const auto staying = world.slot_of(crowd.key(3));
    world.redis.begin_move(moving, 0, 1);
    world.redis.begin_move(staying, 0, 1);
    world.redis.move_keys(moving, 0, 1);
    CHECK(crowd.ask(kLimit - 3) == all);

    // The first move is complete, which the worker does not know yet.
    world.redis.end_move(moving, 1);
    CHECK(crowd.ask(kLimit - 4) == all);
    world.redis.move_keys(staying, 0, 1);
    world.redis.end_move(staying, 1);
    CHECK(crowd.ask(0) == all);
    const std::map<int, std::size_t> none = {{429, kEach * kPrimaries}};
    CHECK(crowd.ask(0) == none);
    CHECK(world.lines_with("[error]") == 0);
}

// The first account of a call decides where the call is sent. The server that
// the other accounts' slots are moving to does not have their states yet.
TEST_CASE("cluster: accounts of one call are charged on the right servers")
{
    ClusterWorld world;
    Crowd crowd(world, 2);
    const auto first = crowd.key(0);
    const auto second = crowd.key(3);
    const auto slot = world.slot_of(second);
    for (const auto moving : {world.slot_of(first), slot}) {
        world.redis.begin_move(moving, 0, 1);
    }
    // Like an account unused for two days: the other server has to be asked.
    world.redis.server(0).command(
        {"DEL", "petstore:{" + first.account + "}:state"});

    const auto remaining = [&](const std::vector<Response>& responses) {
        return std::pair{rate_headers_of(responses.at(0)).remaining,
                         rate_headers_of(responses.at(3)).remaining};
    };
    CHECK(remaining(crowd.ask()) == std::pair{kLimit - 1, kLimit - 2});
    CHECK(remaining(crowd.ask()) == std::pair{kLimit - 2, kLimit - 3});
    const auto keys_at = [&](std::size_t server) {
        return world.redis.server(server)
            .command({"CLUSTER", "COUNTKEYSINSLOT", std::to_string(slot)})
            .integer;
    };
    CHECK(keys_at(0) == 1);
    CHECK(keys_at(1) == 0);

    world.redis.move_keys(slot, 0, 1);
    CHECK(remaining(crowd.ask()) == std::pair{kLimit - 3, kLimit - 4});
    CHECK(world.lines_with("[error]") == 0);
}

TEST_CASE("cluster: scripts that a primary forgets are sent again")
{
    ClusterWorld world;
    Crowd crowd(world, 4);
    for (std::size_t i = 0; i < kPrimaries; ++i) {
        world.redis.server(i).command({"SCRIPT", "FLUSH"});
    }
    CHECK(crowd.ask(kLimit - 2) == std::map<int, std::size_t>{{200, 12}});
}
