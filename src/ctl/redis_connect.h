#pragma once

#include <memory>
#include <string>

#include "../redis/deployment.h"
#include "redis_session.h"
#include "tls.h"

namespace petstore::ctl {

// Connects to the deployment's server, to the primary that its Sentinels name,
// or to its Cluster, and logs in. `password`: for a URL without one, and for
// servers behind Sentinels. `tls`: for rediss:// URLs; must outlive the
// session. Throws Failure.
std::unique_ptr<RedisSession> connect(const redis::Deployment& deployment,
                                      const std::string& password,
                                      const Tls* tls);

}  // namespace petstore::ctl
