#pragma once

#include <string>

#include "../api/plan.h"
#include "../metrics/counter.h"
#include "../redis/link.h"
#include "../redis/scheduler.h"
#include "accounts/denial_reporter.h"
#include "accounts/limit_commands.h"
#include "accounts/limit_queue.h"
#include "accounts/marker_reader.h"
#include "accounts/own_usage.h"
#include "accounts/redis_clock.h"
#include "clock.h"
#include "keys/key_cache.h"
#include "keys/key_loader.h"
#include "memory.h"
#include "pets/create_queue.h"
#include "pets/pet_commands.h"
#include "pets/reader.h"
#include "pets/version_queue.h"
#include "plans/plans_in_force.h"
#include "schema.h"
#include "store_links.h"

namespace petstore::store {

// Receives the storage's reports for the operator.
class StorageLog : public KeyLog, public BanLog {
protected:
    ~StorageLog() = default;
};

// One worker's access to the data under one prefix, with its caches.
struct Storage {
    // Everything but the prefix is borrowed.
    struct Environment {
        Links links;
        redis::Scheduler& scheduler;
        const Clock& clock;
        redis::Alarm& report_alarm;
        StorageLog& log;
        metrics::CacheLookups& lookups;
        const api::PlanTable& plans;  // of the configuration
    };

    // Throws std::bad_alloc.
    Storage(const std::string& prefix, const Environment& environment,
            MemoryShares memory)
        : clock(environment.clock), log(environment.log), schema(prefix),
          limit_commands(schema, catalogue_place(environment.links),
                         environment.links.accounts.is_cluster()
                             ? LimitCommands::Accounts::cluster
                             : LimitCommands::Accounts::together),
          pet_commands(schema), links(environment.links),
          lookups(environment.lookups),
          plans(links.main, schema, clock, environment.plans, log, log),
          keys(memory.keys), key_loader(links, schema, plans, keys, log),
          read_cache({links.main, pet_commands, log}, lookups,
                     memory.responses),
          versions(environment.scheduler, read_cache),
          reader(read_cache, versions),
          creates(read_cache.source(), environment.scheduler, log),
          marker_reader(links.accounts, environment.scheduler, schema, log,
                        log),
          limit_queue(links.accounts, environment.scheduler, limit_commands,
                      log, log),
          redis_clock(links.accounts, schema, clock),
          denials(links.accounts, limit_commands, clock,
                  environment.report_alarm, log, log),
          own_usage({links, schema}, redis_clock, clock, {log, log})
    {}

    // In a Cluster, accounts are in other slots than the catalogue.
    static LimitCommands::Catalogue catalogue_place(const Links& links) noexcept
    {
        return links.share_a_server() ? LimitCommands::Catalogue::here
                                      : LimitCommands::Catalogue::elsewhere;
    }

    Storage(const Storage&) = delete;

    const Clock& clock;
    StorageLog& log;
    const Schema schema;
    const LimitCommands limit_commands;
    const PetCommands pet_commands;
    const Links links;
    metrics::CacheLookups& lookups;
    PlansInForce plans;
    KeyCache keys;
    KeyLoader key_loader;
    ReadCache read_cache;
    VersionQueue versions;  // if the limiter's reply contains none
    Reader reader;
    CreateQueue creates;
    MarkerReader marker_reader;
    LimitQueue limit_queue;
    RedisClock redis_clock;
    DenialReporter denials;
    OwnUsage own_usage;

    // Requests that wait for a reply, even if their client has left.
    std::size_t waiting_requests = 0;
};

}  // namespace petstore::store
