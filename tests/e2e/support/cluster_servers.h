#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "redis_server.h"
#include "store.h"

namespace petstore::e2e {

// A real Redis Cluster: `primaries` servers with slots, then a replica for each
// of them. Servers are numbered in this order, whatever their roles become.
class ClusterServers {
public:
    struct Options {
        int primaries = 3;
        // Milliseconds until a server that does not answer is replaced. On a
        // busy machine one may be slow.
        int node_timeout = 5000;
        std::vector<std::string> config;  // further lines of redis.conf
        // The port that other servers and clients use, if not the usual one:
        // adds lines for a server, given that port.
        std::function<std::vector<std::string>(int port)> tls;
        std::string password;
    };

    ClusterServers();
    explicit ClusterServers(Options options);

    // The arguments of petstore_redis: a primary and a replica. `credentials`:
    // "user:password@".
    std::string url(const std::string& credentials = "") const;

    RedisServer& server(std::size_t i) { return *servers_.at(i); }
    std::size_t count() const { return servers_.size(); }
    std::string address(std::size_t i) const;  // host:port for clients
    std::string id(std::size_t i) const;

    // Starts another server, which joins without slots. Returns its index.
    std::size_t add();

    // The server, which has no slots any more, leaves.
    void remove(std::size_t i) const;

    static int slot_of(const std::string& key);

    // The primary of a slot, and a replica of a primary, as server `asked`
    // says.
    std::size_t owner(int slot, std::size_t asked = 0) const;
    std::size_t replica_of(std::size_t primary) const;
    std::vector<int> slots_of(std::size_t primary) const;

    // Returns once all servers that run agree that `primary` serves the slot
    // and that the Cluster works.
    void wait_for_owner(int slot, std::size_t primary) const;

    // Makes a replica the primary, and waits for it. `how`: "", FORCE or
    // TAKEOVER.
    void fail_over(std::size_t replica, const std::string& how = "") const;

    // Moves a slot with its keys one by one.
    void begin_move(int slot, std::size_t from, std::size_t to) const;
    void move_keys(int slot, std::size_t from, std::size_t to) const;
    void move_key(const std::string& key, std::size_t from,
                  std::size_t to) const;
    void end_move(int slot, std::size_t to) const;
    void move_slot(int slot, std::size_t from, std::size_t to) const;
    void move_slots(const std::vector<int>& slots, std::size_t from,
                    std::size_t to) const;

    // At the primary of the command's first key, wherever that is.
    Value command(const Words& words) const;

    // By petstorectl on a Redis of its own, copied into the Cluster. `primary`:
    // of the account.
    Key create_key(const std::vector<std::string>& arguments = {},
                   std::optional<std::size_t> primary = std::nullopt) const;
    Key limited_key(long long per_minute,
                    std::optional<std::size_t> primary = std::nullopt) const;

private:
    struct Row {  // of CLUSTER NODES
        std::string id;
        std::size_t server;
        std::string flags;
        std::string primary;  // id
        std::vector<std::pair<int, int>> slots;
    };

    std::vector<std::string> lines();
    std::size_t start_server();
    void meet(std::size_t i) const;
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
