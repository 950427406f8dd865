#pragma once

#include <memory>
#include <string>

#include "../../redis/deployment.h"
#include "redis_session.h"
#include "tls.h"

namespace petstore::ctl {

// Used for a URL without user and password, and for servers behind Sentinels.
struct Credentials {
    std::string user;
    std::string password;

    // Fills in what the endpoint lacks.
    void complete(redis::Endpoint& endpoint) const;
};

// Connects to the deployment's server, to the primary that its Sentinels name,
// or to its Cluster, and logs in. `tls`: for rediss:// URLs; must outlive the
// session. Throws Failure.
std::unique_ptr<RedisSession> connect(const redis::Deployment& deployment,
                                      const Credentials& credentials,
                                      const Tls* tls);

}  // namespace petstore::ctl
