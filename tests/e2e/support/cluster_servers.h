#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "redis_server.h"
#include "store.h"

namespace petstore::e2e {

// A real Redis Cluster: `primaries` servers with slots, then one replica for
// each. Servers keep these numbers even if roles change.
class ClusterServers {
public:
    struct Options {
        int primaries = 3;
        bool replicas = true;  // one for each primary
        // Milliseconds until a server that does not respond is replaced. A busy
        // machine may make one slow.
        int node_timeout = 5000;
        std::vector<std::string> config;  // further lines of redis.conf
        // If set, gives the lines of the configuration that enable TLS on this
        // port, which other servers and clients then use.
        std::function<std::vector<std::string>(int port)> tls;
        std::string password;
    };

    ClusterServers();
    explicit ClusterServers(Options options);

    // The arguments of petstore_redis: a primary and a replica. `credentials`:
    // "user:password@".
    std::string url(const std::string& credentials = "") const;

    // Those of a user without this right, such as "cluster|nodes".
    std::string url_without(const std::string& right) const;

    RedisServer& server(std::size_t i) { return *servers_.at(i); }
    std::size_t count() const { return servers_.size(); }
    std::string address(std::size_t i) const;  // host:port for clients
    std::string id(std::size_t i) const;

    // Starts another server that joins without slots. Returns its index.
    std::size_t add();

    // Lets a server that started without data join again, with these slots.
    // Returns once all servers know.
    void rejoin(std::size_t i, std::pair<int, int> slots) const;

    // Lets the first server learn where this one is, and the others from it.
    void meet(std::size_t i) const;

    // Removes a server that has no slots.
    void remove(std::size_t i) const;

    static int slot_of(const std::string& key);

    // The primary of a slot and a replica of a primary, according to server
    // `asked`.
    std::size_t owner(int slot, std::size_t asked = 0) const;
    std::size_t replica_of(std::size_t primary) const;
    std::vector<int> slots_of(std::size_t primary) const;

    // Returns once all running servers agree that `primary` serves the slot and
    // that the Cluster is healthy.
    void wait_for_owner(int slot, std::size_t primary) const;

    // Promotes a replica and waits until it is the primary. `how`: "", FORCE or
    // TAKEOVER.
    void fail_over(std::size_t replica, const std::string& how = "") const;

    // Moves a slot and its keys step by step.
    void begin_move(int slot, std::size_t from, std::size_t to) const;
    void move_keys(int slot, std::size_t from, std::size_t to) const;
    void move_key(const std::string& key, std::size_t from,
                  std::size_t to) const;
    void end_move(int slot, std::size_t to) const;
    void move_slot(int slot, std::size_t from, std::size_t to) const;
    void move_slots(const std::vector<int>& slots, std::size_t from,
                    std::size_t to) const;

    // Runs a command on the primary of its first key.
    Value command(const Words& words) const;

    // Creates a key with petstorectl on a separate Redis and copies it into the
    // Cluster. `primary`: where the account is to be.
    Key create_key(const std::vector<std::string>& arguments = {},
                   std::optional<std::size_t> primary = std::nullopt) const;
    Key limited_key(long long per_minute,
                    std::optional<std::size_t> primary = std::nullopt) const;

private:
    struct Row {  // a line of CLUSTER NODES
        std::string id;
        std::size_t server;
        std::string flags;
        std::string primary;  // id
        std::vector<std::pair<int, int>> slots;
    };

    std::vector<std::string> lines();
    std::size_t start_server();
    std::vector<Row> rows(std::size_t asked) const;
    std::size_t server_at(const std::string& address) const;
    std::size_t any_running() const;
    std::string account_on(std::size_t primary) const;

    Options options_;
    std::vector<std::unique_ptr<RedisServer>> servers_;
    std::vector<int> ports_;
    std::vector<int> bus_ports_;
    RedisServer scratch_;
};

}  // namespace petstore::e2e
