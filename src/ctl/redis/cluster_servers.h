#pragma once

#include <memory>
#include <string>

#include "../../redis/deployment.h"
#include "redis_connect.h"
#include "redis_session.h"
#include "tls.h"

namespace petstore::ctl {

// A session with the Cluster that the deployment's nodes belong to. Logs in to
// all nodes with the user and password of the first URL, or else with
// `credentials`. `tls`: for rediss:// URLs; must outlive the session. Throws
// Failure.
std::unique_ptr<RedisSession>
connect_cluster(const redis::Deployment& deployment,
                const Credentials& credentials, const Tls* tls);

}  // namespace petstore::ctl
