#pragma once

#include <string>
#include <vector>

#include "process.h"
#include "redis_client.h"
#include "redis_server.h"
#include "util.h"

namespace petstore::e2e {

// A real Sentinel that monitors one primary as "pets" and may start a failover
// alone once the primary was silent for half a second.
class SentinelServer {
public:
    // `config`: further lines of its configuration. `primary_port`: another
    // port of the primary, for TLS.
    explicit SentinelServer(const RedisServer& primary,
                            const std::vector<std::string>& config = {},
                            int primary_port = 0);

    std::string url() const;  // over TCP
    Value command(const Words& words) const;

    // "host:port" of the primary.
    std::string primary() const;

    // Whether a failover could succeed.
    bool knows_a_replica() const;

private:
    TempDir dir_;
    int port_;
    Process process_;
};

}  // namespace petstore::e2e
