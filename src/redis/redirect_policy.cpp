#include "redirect_policy.h"

#include <algorithm>
#include <utility>

#include "error_table.h"
#include "slot_map.h"

namespace petstore::redis {

namespace {

// Whether a script failed because this server lacks a key of its slot.
bool is_foreign_key(const Reply& error) noexcept
{
    const std::string_view code = error_row(error.text()).code;
    return code == kForeignKey || code == kForeignKeyAmongOwn;
}

// Whether some of the command's keys have moved and others have not.
bool is_half_moved(const Reply& error, bool asking) noexcept
{
    const std::string_view code = error.error_code();
    return code == "TRYAGAIN" || (asking && code == "DAMAGED")
           || is_foreign_key(error);
}

}  // namespace

RedirectPolicy::RedirectPolicy(std::uint64_t timeout, Persistence persistence)
    : min_time_for_retry_(std::min(kMinTimeForRetry, timeout / 4)),
      persistent_(persistence == Persistence::until_deadline)
{}

RedirectPolicy::Decision
RedirectPolicy::wait_for_map(const Attempt& attempt) const noexcept
{
    const bool waits =
        attempt.time_left > 0 && (persistent_ || !attempt.waited_for_map);
    return {waits ? Action::wait_for_map : Action::deliver, true, {}};
}

RedirectPolicy::Decision RedirectPolicy::decide(const Reply& error,
                                                const Attempt& attempt) const
{
    if (error.error_code() == "CLUSTERDOWN") {
        return wait_for_map(attempt);
    }
    if (is_half_moved(error, attempt.asking)) {
        const bool retries = attempt.time_left > min_time_for_retry_;
        return {retries ? Action::retry : Action::fail, false, {}};
    }
    auto redirect = Redirect::parse(error, attempt.server);
    if (!redirect && error.error_code() == "MOVED") {
        // The map may know how to reach a server that this does not name.
        return wait_for_map(attempt);
    }
    if (!redirect || attempt.time_left == 0) {
        return {};
    }
    const bool moved = redirect->kind == Redirect::Kind::moved;
    if (!moved && attempt.across_slots) {
        return {};
    }
    if (attempt.redirects >= kMaxRedirects) {
        const bool retries = may_retry_later(attempt.time_left);
        return {retries ? Action::retry : Action::deliver, retries, {}};
    }
    return {moved ? Action::follow : Action::ask, moved,
            std::move(redirect->address)};
}

bool RedirectPolicy::is_about_slots(const Reply& error) noexcept
{
    const std::string_view code = error.error_code();
    return code == "MOVED" || code == "ASK" || code == "TRYAGAIN"
           || is_foreign_key(error);
}

}  // namespace petstore::redis
