#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "../store/catalogue.h"
#include "../store/key_cache.h"
#include "../store/key_loader.h"
#include "../store/keys.h"
#include "../store/limit_queue.h"
#include "../store/limiter.h"
#include "../store/memory.h"
#include "../store/reader.h"
#include "config.h"
#include "redis_link.h"
#include "store_log.h"
#include "strikes.h"

namespace petstore::ngx {

// This host's clock in milliseconds.
inline api::Millis host_now() noexcept
{
    const ngx_time_t* time = ngx_timeofday();
    return static_cast<api::Millis>(time->sec) * 1000
           + static_cast<api::Millis>(time->msec);
}

// One Redis and namespace as a worker works with it.
struct Store {
    Store(const StoreSettings& settings, RedisLink& redis, const MainConf& conf,
          store::MemoryShares memory, ngx_log_t& log)
        : link(redis), schema(settings.prefix), keys(schema), limiter(schema),
          catalogue(schema), store_log(log), cache(memory.keys),
          loader(redis, keys, conf.plans, cache, store_log),
          reader(redis, catalogue, store_log, memory.responses),
          limits(redis, limiter), strikes(redis, limiter, store_log, log)
    {}

    Store(const Store&) = delete;

    RedisLink& link;
    const store::Schema schema;
    const store::Keys keys;
    const store::Limiter limiter;
    const store::Catalogue catalogue;
    StoreLog store_log;
    store::KeyCache cache{1 << 20};
    store::KeyLoader loader;
    store::Reader reader;
    store::LimitQueue limits;
    StrikeReporter strikes;

    // How far Redis's clock is ahead of this host's, once it was told.
    std::optional<api::Millis> redis_ahead;

    api::UnixTime now() const noexcept
    {
        return (host_now() + redis_ahead.value_or(0)) / 1000;
    }

    // Keys end by Redis's clock, at the same moment on every host. As long as
    // that is unknown, the limiter's reply has to tell it first.
    bool is_usable(const api::KeyRights& key) const noexcept
    {
        return !key.disabled
               && (!key.expires || !redis_ahead || now() < *key.expires);
    }
};

// Everything of a worker process that outlives a request: its connections to
// Redis and what it remembers. Made when the worker starts, gone when it exits;
// the only mutable global of the module.
class Worker {
public:
    Worker(const MainConf& conf, ngx_log_t& log);
    ~Worker();

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
