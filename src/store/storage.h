#pragma once

#include <optional>
#include <string>

#include "../api/plan.h"
#include "../metrics/counter.h"
#include "../redis/link.h"
#include "../redis/scheduler.h"
#include "accounts/denial_reporter.h"
#include "accounts/limit_queue.h"
#include "accounts/limiter.h"
#include "accounts/limits_marker.h"
#include "clock.h"
#include "keys/key_cache.h"
#include "keys/key_loader.h"
#include "keys/key_records.h"
#include "memory.h"
#include "pets/catalogue.h"
#include "pets/create_queue.h"
#include "pets/reader.h"
#include "pets/version_queue.h"
#include "schema.h"

namespace petstore::store {

// Receives the storage's reports for the operator.
class StorageLog : public KeyLog, public BanLog {
public:
    virtual void unexpected_limiter_reply() noexcept = 0;

    // The counters have been moved to another Redis than the one asked.
    virtual void limits_elsewhere() noexcept = 0;

    // A create was refused because the catalogue is full.
    virtual void catalogue_full() noexcept = 0;

    // A request was refused because too many wait for Redis.
    virtual void request_refused() noexcept = 0;

protected:
    ~StorageLog() = default;
};

// One worker's access to the data under one prefix, with its caches.
struct Storage {
    // Everything but the prefix is borrowed. Accounts may live on another Redis
    // than the catalogue and the key records.
    struct Environment {
        redis::Link& accounts;
        redis::Link& catalogue;
        redis::Scheduler& scheduler;
        const Clock& clock;
        ReportTimer& report_timer;
        StorageLog& log;
        metrics::CacheLookups& lookups;
        const api::PlanTable& plans;
    };

    // Throws std::bad_alloc.
    Storage(const std::string& prefix, const Environment& environment,
            MemoryShares memory)
        : clock(environment.clock), log(environment.log), schema(prefix),
          key_records(schema), limiter(schema, catalogue_place(environment),
                                       environment.accounts.is_cluster()
                                           ? Limiter::Accounts::cluster
                                           : Limiter::Accounts::together),
          catalogue(schema), catalogue_link(environment.catalogue),
          lookups(environment.lookups), keys(memory.keys),
          key_loader(environment.catalogue, environment.accounts, key_records,
                     environment.plans, keys, log),
          reader(environment.catalogue, catalogue, log, lookups,
                 memory.responses),
          versions(environment.catalogue, environment.scheduler, catalogue,
                   reader),
          creates(environment.catalogue, environment.scheduler, schema),
          limits_marker(environment.accounts, environment.scheduler, schema),
          limits(environment.accounts, environment.scheduler, limiter),
          denials(environment.accounts, limiter, clock,
                  environment.report_timer, log, log)
    {}

    // In a Cluster, accounts are in other slots than the catalogue.
    static Limiter::Catalogue
    catalogue_place(const Environment& environment) noexcept
    {
        return &environment.accounts == &environment.catalogue
                       && !environment.accounts.is_cluster()
                   ? Limiter::Catalogue::here
                   : Limiter::Catalogue::elsewhere;
    }

    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;

    const Clock& clock;
    StorageLog& log;
    const Schema schema;
    const KeyRecords key_records;
    const Limiter limiter;
    const Catalogue catalogue;
    redis::Link& catalogue_link;
    metrics::CacheLookups& lookups;
    KeyCache keys;
    KeyLoader key_loader;
    Reader reader;
    VersionQueue versions;  // if the limiter's reply contains none
    CreateQueue creates;
    LimitsMarker limits_marker;
    LimitQueue limits;
    DenialReporter denials;

    // How far Redis's clock is ahead of this host's; nullopt until a reply
    // contains Redis's time.
    std::optional<api::Millis> redis_ahead;

    // Requests that wait for a reply, even if their client has left.
    std::size_t waiting_requests = 0;

    // Redis's time, or this host's until Redis's is known.
    api::UnixTime now() const noexcept
    {
        return (clock.host_time() + redis_ahead.value_or(0)) / 1000;
    }

    // Keys expire by Redis's clock, at the same moment on every host. Until
    // that clock is known, no key counts as expired; callers check again after
    // the limiter's reply, which contains the time.
    bool is_usable(const api::KeyRights& key) const noexcept
    {
        return !key.disabled
               && (!key.expires || !redis_ahead || now() < *key.expires);
    }
};

}  // namespace petstore::store
