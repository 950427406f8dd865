#include "pet_ids.h"

#include <algorithm>

namespace petstore::store {

namespace {

constexpr std::size_t kPositionDigits = 10;
constexpr std::size_t kIdDigits = 16;
constexpr std::size_t kEntry = kPositionDigits + kIdDigits + 2;
constexpr std::size_t kReplicationId = 40;

// -1 unless `text` consists of digits.
std::int64_t number_of(std::string_view text) noexcept
{
    std::int64_t number = 0;
    for (const char c : text) {
        if (c < '0' || c > '9') {
            return -1;
        }
        number = 10 * number + (c - '0');
    }
    return number;
}

}  // namespace

std::optional<PetIds> PetIds::parse(std::string_view value)
{
    if (value.size() < kEntry + kReplicationId
        || (value.size() - kReplicationId) % kEntry != 0) {
        return std::nullopt;
    }
    PetIds ids;
    ids.segments_.reserve((value.size() - kReplicationId) / kEntry);
    Segment before{0, 0};
    for (; value.size() > kReplicationId; value.remove_prefix(kEntry)) {
        const Segment next{
            number_of(value.substr(0, kPositionDigits)),
            number_of(value.substr(kPositionDigits + 1, kIdDigits))};
        const bool valid =
            value[kPositionDigits] == ':' && value[kEntry - 1] == ' '
            && (ids.segments_.empty() ? next.first == 1
                                      : next.first > before.first)
            && next.first_id - before.first_id >= next.first - before.first
            && next.first_id <= kMaxId;
        if (!valid) {
            return std::nullopt;
        }
        ids.segments_.push_back(before = next);
    }
    return ids;
}

Position PetIds::last_until(api::PetId id) const noexcept
{
    const auto next =
        std::upper_bound(segments_.begin(), segments_.end(), id,
                         [](api::PetId id, const Segment& segment) {
                             return id < segment.first_id;
                         });
    if (next == segments_.begin()) {
        return 0;
    }
    const Segment& segment = *(next - 1);
    const Position position =
        segment.first + (std::min(id, kMaxId) - segment.first_id);
    return next == segments_.end() ? position
                                   : std::min(position, next->first - 1);
}

void PetIds::Walk::enter(Position position) noexcept
{
    const auto& segments = ids_.segments_;
    const auto next =
        std::upper_bound(segments.begin(), segments.end(), position,
                         [](Position position, const Segment& segment) {
                             return position < segment.first;
                         });
    if (next != segments.begin()) {
        offset_ = (next - 1)->first_id - (next - 1)->first;
        end_ = next == segments.end() ? std::numeric_limits<Position>::max()
                                      : next->first;
    }
}

}  // namespace petstore::store
