#pragma once

#include <memory>

#include "../../redis/deployment.h"
#include "redis_session.h"
#include "tls.h"

namespace petstore::ctl {

// Connects to the deployment's server, to the primary that its Sentinels name,
// or to its Cluster, and logs in. `tls`: for rediss:// URLs; like `pump`,
// must outlive the session. Throws Failure.
std::unique_ptr<RedisSession> connect(const redis::Deployment& deployment,
                                      const Credentials& credentials,
                                      const Tls* tls, Pump& pump);

}  // namespace petstore::ctl
