#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "redis_server.h"

namespace petstore::e2e {

// One primary, its replicas, and three Sentinels that monitor it as "main".
class Sentinels {
public:
    struct Options {
        int replicas = 2;
        int down_after = 1500;               // milliseconds
        std::vector<std::string> servers;    // further lines of redis.conf
        std::vector<std::string> sentinels;  // the same for Sentinels
        // If set, gives the lines of the configuration that enable TLS on this
        // port, which other servers and clients then use.
        std::function<std::vector<std::string>(int port)> tls;
        std::string password;  // of the servers
    };

    Sentinels();
    explicit Sentinels(Options options);

    // The arguments of petstore_redis. `credentials`: "user:password@".
    std::string url(const std::string& credentials = "") const;

    RedisServer& sentinel(std::size_t i) { return *sentinels_[i]; }
    RedisServer& server(std::size_t i) { return *servers_[i]; }
    std::size_t count() const { return servers_.size(); }

    // The port for clients.
    int port(std::size_t server) const { return ports_[server]; }

    // The index of the server that this Sentinel names.
    std::size_t primary(std::size_t sentinel = 0) const;

    // The index of the new primary, once all reachable Sentinels name it and it
    // is a primary.
    std::size_t wait_for_other_than(std::size_t old) const;

    // Returns once every Sentinel knows the others and all replicas, and the
    // replicas have the primary's data.
    void wait_until_settled() const;

private:
    std::vector<std::unique_ptr<RedisServer>> servers_;
    std::vector<std::unique_ptr<RedisServer>> sentinels_;
    std::vector<int> ports_;
    std::vector<int> sentinel_ports_;
    bool tls_;
};

}  // namespace petstore::e2e
