#pragma once

#include "../store/key_loader.h"
#include "ngx.h"

namespace petstore::ngx {

// Writes to the error log what the store reports, with ids and digests only,
// never an API key.
class StoreLog final : public store::KeyLog {
public:
    // `log` is borrowed: the cycle's.
    explicit StoreLog(ngx_log_t& log) noexcept : log_(log) {}

    void damaged(std::string_view redis_key) noexcept override;
    void unknown_plan(const api::KeyRecord& record) noexcept override;
    void look_up_refused() noexcept override;
    // To a limiter's command.
    void unexpected_reply() noexcept;

private:
    ngx_log_t& log_;
    ngx_uint_t refused_ = 0;  // look-ups that no line tells of yet
    time_t refused_logged_ = 0;
    time_t unexpected_logged_ = 0;
    ngx_uint_t damages_ = 0;  // reports of damage, likewise
    bool damage_logged_ = false;
    ngx_msec_t damage_logged_at_ = 0;
};

}  // namespace petstore::ngx
