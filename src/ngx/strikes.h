#pragma once

#include <memory>
#include <vector>

#include "../store/damage.h"
#include "../store/key_cache.h"
#include "../store/limiter.h"
#include "config.h"
#include "ngx.h"
#include "redis_link.h"
#include "timer.h"

namespace petstore::ngx {

// Notes what Redis decided on an account. `sent` is when
// the command left: a denial kept from then on never outlives the true one.
void remember(store::Account& account, const api::Decision& decision,
              store::Monotonic sent);

// One log line for a new ban, on the host that caused it.
void log_ban(ngx_log_t* log, const store::Account& account,
             const store::Limiter::Standing& standing);

// Tells Redis of the denials that a worker gave from memory, many in one
// command, so that bans count those of all hosts; and by that learns within a
// second what an operator changed. One per Store.
class StrikeReporter {
public:
    StrikeReporter(RedisLink& link, const store::Limiter& limiter,
                   store::DamageLog& damage_log, ngx_log_t& log);

    // The key's account has strikes; they go out within a second.
    void add(const std::shared_ptr<store::CachedKey>& key,
             const api::BanPolicy& policy);

    // They go out now. Does nothing while an earlier report is on its way.
    void report(const std::shared_ptr<store::CachedKey>& key,
                const api::BanPolicy& policy);

private:
    class Report;

    void flush() noexcept;

    struct Listed {
        std::shared_ptr<store::CachedKey> key;
        const api::BanPolicy* policy;  // of the configuration
    };

    RedisLink& link_;
    const store::Limiter& limiter_;
    store::DamageLog& damage_log_;
    ngx_log_t& log_;
    std::vector<Listed> listed_;
    Timer<StrikeReporter, &StrikeReporter::flush> timer_;
};

}  // namespace petstore::ngx
