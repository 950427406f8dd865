#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "../../api/pet.h"
#include "../memory.h"
#include "record.h"

namespace petstore::store {

// The ids of pets by their positions. Both ascend, but ids have gaps: whenever
// Redis may have lost pets, create_pets.lua skips the ids that these may have
// had, and starts a segment. Within a segment, ids are consecutive.
//
// The Redis key <catalogue>segments: "<first position>:<first id> " for each
// segment, with leading zeros, as 10 and 16 digits; then the replication id of
// the server when the last one started, as 40 characters. The fixed widths let
// create_pets.lua read the end alone, however many segments there are.
class PetIds {
public:
    // No id is larger. Lua's numbers are exact up to this, with room for all
    // that create_pets.lua adds.
    static constexpr api::PetId kMaxId = (std::int64_t{1} << 53) - 1024;

    // Creates are refused beyond. The same number is in create_pets.lua.
    static constexpr std::size_t kMaxSegments = 100'000;

    // nullopt if the value is damaged. Throws std::bad_alloc.
    static std::optional<PetIds> parse(std::string_view value);

    std::size_t segments() const noexcept { return segments_.size(); }

    // The position of the pet with this id if there are `count` pets; 0 for
    // none.
    Position position_of(api::PetId id, Position count) const noexcept
    {
        const Position position = last_until(id);
        return position <= count && Walk(*this).id_at(position) == id ? position
                                                                      : 0;
    }

    // The last position whose id is at most `id`, however few pets there are; 0
    // for none.
    Position last_until(api::PetId id) const noexcept;

    // Ids of ascending positions.
    class Walk {
    public:
        explicit Walk(const PetIds& ids) noexcept : ids_(ids) {}

        // 0 for position 0.
        api::PetId id_at(Position position) noexcept
        {
            if (position >= end_) {
                enter(position);
            }
            return position + offset_;
        }

    private:
        void enter(Position position) noexcept;

        const PetIds& ids_;
        Position end_ = 1;
        api::PetId offset_ = 0;
    };

private:
    struct Segment {
        Position first;
        api::PetId first_id;
    };

    std::vector<Segment> segments_;  // none before parse()
};

}  // namespace petstore::store
