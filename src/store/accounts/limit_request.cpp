#include "limit_commands.h"

#include <algorithm>

#include "account_state.h"

namespace petstore::store {

namespace {

// The argument's last byte; see limit.lua.
enum class Layout : char {
    floats,   // a double and three floats each
    doubles,  // six doubles each
    alike,    // five doubles for all, and one for each
};

// What limit.lua takes per account at most: six doubles, and a byte.
constexpr std::size_t kRequestSize = 49;

// What limit.lua takes as the limit of a month without a limit.
constexpr std::int64_t kNoLimit = AccountState::kLargest;

// Whether a float would round one of the numbers, or three are not enough.
bool needs_doubles(const LimitRequest& request) noexcept
{
    return request.limits.has_month() || request.cost != 1
           || !fits_float(request.limits.minute)
           || !fits_float(request.limits.day) || !fits_float(request.requests);
}

// The shortest, which Redis reads fastest: `alike` from four accounts on.
Layout layout_of(const std::vector<LimitRequest>& requests) noexcept
{
    const LimitRequest& first = requests.front();
    const auto is_alike = [&](const LimitRequest& other) {
        return other.limits == first.limits && other.requests == first.requests
               && other.cost == first.cost;
    };
    const auto begin = requests.begin();
    if (requests.size() > 3 && std::all_of(begin, requests.end(), is_alike)) {
        return Layout::alike;
    }
    const bool fit = std::none_of(begin, requests.end(), needs_doubles);
    return fit ? Layout::floats : Layout::doubles;
}

void append_all_but_epoch(std::string& out, const LimitRequest& request)
{
    const auto& [minute, day, month] = request.limits;
    append_numbers(out, {minute, day, request.requests * request.cost,
                         month != 0 ? month : kNoLimit, request.cost});
}

char mode_of(const LimitRequest& request, bool in_cluster) noexcept
{
    if (in_cluster) {
        return request.placed ? '\3' : '\2';
    }
    return request.fresh ? '\1' : '\0';
}

}  // namespace

std::string pack_requests(const std::vector<LimitRequest>& requests,
                          bool in_cluster)
{
    const Layout layout = layout_of(requests);
    std::string packed;
    packed.reserve(requests.size() * kRequestSize + 1);
    if (layout == Layout::alike) {
        append_all_but_epoch(packed, requests.front());
    }
    for (const LimitRequest& request : requests) {
        append_numbers(packed, {request.epoch});
        if (layout == Layout::doubles) {
            append_all_but_epoch(packed, request);
        } else if (layout == Layout::floats) {
            append_floats(packed, {request.limits.minute, request.limits.day,
                                   request.requests});
        }
    }
    for (const LimitRequest& request : requests) {
        packed.push_back(mode_of(request, in_cluster));
    }
    packed.push_back(static_cast<char>(layout));
    return packed;
}

}  // namespace petstore::store
