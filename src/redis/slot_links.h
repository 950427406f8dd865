#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hash_slot.h"
#include "link.h"
#include "slot_map.h"

namespace petstore::redis {

// The slot map of a Cluster with the links to its primaries, and what has
// changed for the users of ClusterLink as slots moved.
class SlotLinks {
public:
    SlotLinks();  // throws std::bad_alloc

    bool has_map() const noexcept { return map_.has_value(); }
    const SlotMap& map() const noexcept { return *map_; }

    // `links`: to the primaries of the map, nullptr for those without.
    void take(SlotMap map, std::vector<Link*> links) noexcept;

    // Assigns the slot to this server. Throws std::bad_alloc, having changed
    // nothing.
    void move(std::uint16_t slot, const ServerAddress& server, Link& link);

    // nullptr if no server serves the slot.
    Link* link_of(std::uint16_t slot) const noexcept
    {
        const auto primary = primary_of(slot);
        return primary ? links_[*primary] : nullptr;
    }

    // A slot of the next primary after that of `slot`; `slot` if there is no
    // other.
    std::uint16_t slot_elsewhere(std::uint16_t slot) const noexcept;

    // The host of the slot's primary; empty if there is none.
    std::string_view host_of(std::uint16_t slot) const noexcept;

    // Commands of the slot may have been executed out of order.
    void reordered(std::uint16_t slot) noexcept { ++reorderings_[slot]; }

    // See Link.
    std::uint64_t generation(std::string_view key) const noexcept;
    std::uint64_t reorderings(std::string_view key) const noexcept
    {
        return reorderings_[hash_slot(key)];
    }
    std::size_t group_of(std::string_view key) const noexcept;
    std::vector<std::string> tags_of_primaries() const;

private:
    std::optional<std::size_t> primary_of(std::uint16_t slot) const noexcept
    {
        return map_ ? map_->primary_of(slot) : std::nullopt;
    }
    void owner_changed(std::uint16_t slot) noexcept
    {
        ++moves_[slot];
        ++all_moves_;
    }

    std::optional<SlotMap> map_;
    std::vector<Link*> links_;                // of the map's primaries
    std::vector<std::uint32_t> moves_;        // per slot, to another server
    std::vector<std::uint32_t> reorderings_;  // per slot
    std::uint32_t all_moves_ = 0;
};

}  // namespace petstore::redis
