#pragma once

#include "../../store/clock.h"
#include "../../store/key_servers.h"
#include "../../store/schema.h"
#include "pauses.h"

namespace petstore::service {

// What the admin API works with: connections that may have rights of their own.
// Admission uses a Storage, as everywhere.
struct AdminStore {
    const store::Schema& schema;
    const store::KeyServers servers;
    const store::Clock& clock;
    Pauses pauses;
};

}  // namespace petstore::service
