#pragma once

#include <string>

#include "../redis/blocking_connection.h"
#include "../redis/deployment.h"
#include "../redis/reply.h"
#include "tls.h"

namespace petstore::ctl {

struct OpenConnection {
    std::string where;  // the server's URL, for messages
    redis::BlockingConnection connection;
};

// The text of an error reply, fit for a terminal: its first 200 bytes, without
// control characters.
std::string error_text(const redis::Reply& error);

// Connects to the deployment's server, or to the primary that its Sentinels
// name, logs in and selects the database. `password`: for a URL without one,
// and for servers behind Sentinels. `tls`: for rediss:// URLs; must outlive the
// connection. Throws Failure.
OpenConnection connect(const redis::Deployment& deployment,
                       const std::string& password, const Tls* tls);

}  // namespace petstore::ctl
