#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "../store/catalogue.h"
#include "../store/key_cache.h"
#include "../store/keys.h"
#include "../store/limiter.h"
#include "../store/reader.h"
#include "config.h"
#include "redis_link.h"
#include "strikes.h"

namespace petstore::ngx {

// One Redis and namespace as a worker works with it.
struct Store {
    Store(const StoreSettings& settings, RedisLink& redis,
          std::size_t cache_bytes, ngx_log_t& log)
        : link(redis), schema(settings.prefix), keys(schema), limiter(schema),
          catalogue(schema), reader(redis, catalogue, cache_bytes),
          strikes(redis, limiter, log)
    {}

    Store(const Store&) = delete;

    RedisLink& link;
    const store::Schema schema;
    const store::Keys keys;
    const store::Limiter limiter;
    const store::Catalogue catalogue;
    store::KeyCache cache;
    store::Reader reader;
    StrikeReporter strikes;
};

// Everything of a worker process that outlives a request: its connections to
// Redis and what it remembers. Made when the worker starts, gone when it exits;
// the only mutable global of the module.
class Worker {
public:
    Worker(const MainConf& conf, ngx_log_t& log);

    Store& store(std::size_t index) noexcept { return *stores_[index]; }

    static Worker* current() noexcept;

    // nginx's init_process and exit_process. A configuration without the
    // directive has no worker.
    static ngx_int_t start(ngx_cycle_t* cycle) noexcept;
    static void stop(ngx_cycle_t* cycle) noexcept;

private:
    std::vector<std::unique_ptr<RedisLink>> links_;
    std::vector<std::unique_ptr<Store>> stores_;
};

inline store::Monotonic monotonic_now() noexcept
{
    return ngx_current_msec;
}

}  // namespace petstore::ngx
