#include "slot_links.h"

#include <utility>

namespace petstore::redis {

namespace {

// Spreads the number so that it also changes the lower half of a generation and
// never cancels out a change of the connection's own generation.
std::uint64_t mixed(std::uint32_t moves) noexcept
{
    return std::uint64_t{moves} * 0x9e3779b1;
}

}  // namespace

SlotLinks::SlotLinks() : moves_(kHashSlots), reorderings_(kHashSlots) {}

void SlotLinks::take(SlotMap map, std::vector<Link*> links) noexcept
{
    for (int i = 0; map_ && i < kHashSlots; ++i) {
        const auto slot = static_cast<std::uint16_t>(i);
        const auto now = map.primary_of(slot);
        if (link_of(slot) != (now ? links[*now] : nullptr)) {
            owner_changed(slot);
        }
    }
    map_ = std::move(map);
    links_ = std::move(links);
}

void SlotLinks::move(std::uint16_t slot, const ServerAddress& server,
                     Link& link)
{
    links_.reserve(map_->primaries().size() + 1);
    map_->move(slot, server);
    if (links_.size() < map_->primaries().size()) {
        links_.push_back(&link);
    }
    owner_changed(slot);
}

std::uint16_t SlotLinks::slot_elsewhere(std::uint16_t slot) const noexcept
{
    const Link* const here = link_of(slot);
    for (int i = 1; i < kHashSlots; ++i) {
        const auto other = static_cast<std::uint16_t>((slot + i) % kHashSlots);
        if (link_of(other) != here && link_of(other) != nullptr) {
            return other;
        }
    }
    return slot;
}

std::string_view SlotLinks::host_of(std::uint16_t slot) const noexcept
{
    const auto primary = primary_of(slot);
    return primary ? map_->primaries()[*primary].host : std::string_view();
}

std::uint64_t SlotLinks::generation(std::string_view key) const noexcept
{
    if (key.empty()) {
        std::uint64_t sum = mixed(all_moves_);
        for (const Link* link : links_) {
            sum += link != nullptr ? link->connection_generation(key) : 0;
        }
        return sum;
    }
    const std::uint16_t slot = hash_slot(key);
    const Link* const link = link_of(slot);
    return mixed(moves_[slot])
           + (link != nullptr ? link->connection_generation(key) : 0);
}

std::size_t SlotLinks::group_of(std::string_view key) const noexcept
{
    const auto primary = primary_of(hash_slot(key));
    return primary ? *primary + 1 : 0;
}

// Tries numbers until each primary has one. Of a primary with very few slots,
// that may take too long; it gets none.
std::vector<std::string> SlotLinks::tags_of_primaries() const
{
    std::vector<std::string> tags;
    std::size_t missing = map_ ? map_->primaries().size() : 0;
    std::vector<bool> has_tag(missing);
    for (int number = 0; missing > 0 && number < kHashSlots; ++number) {
        std::string tag = std::to_string(number);
        const auto primary = map_->primary_of(hash_slot(tag));
        if (primary && !has_tag[*primary]) {
            has_tag[*primary] = true;
            --missing;
            tags.push_back(std::move(tag));
        }
    }
    return tags;
}

}  // namespace petstore::redis
