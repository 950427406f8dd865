#include "breaker.h"

#include "error_table.h"

namespace petstore::redis {

bool Breaker::failed(Retry retry, std::uint64_t now) noexcept
{
    if (failures_++ == 0) {
        failed_at_ = now;
    }
    if (retry == Retry::at_once && failures_ == 1) {
        return false;
    }
    open_ = true;
    return true;
}

std::optional<std::uint64_t> Breaker::on_reply(const Reply& reply,
                                               std::uint64_t now) noexcept
{
    return shows_recovery(reply, now) ? end_outage() : std::nullopt;
}

std::optional<std::uint64_t> Breaker::end_outage() noexcept
{
    if (failures_ == 0) {
        return std::nullopt;
    }
    failures_ = 0;
    write_refused_ = false;
    return connected_at_ - failed_at_;
}

// An unknown script is a normal reply; every other error may be part of the
// outage.
bool Breaker::shows_recovery(const Reply& reply,
                             std::uint64_t now) const noexcept
{
    if (write_refused_ && now - connected_at_ < kProbation) {
        return false;
    }
    return !reply.is_error() || is_unknown_script(reply);
}

}  // namespace petstore::redis
