#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "command.h"
#include "decoder.h"
#include "hash_slot.h"
#include "reply.h"
#include "server_id.h"

namespace petstore::redis {

// Which primary of a Cluster serves which slots.
class SlotMap {
public:
    static Command request();  // CLUSTER SLOTS

    // For the reply. It has an entry for each range of slots, and each slot may
    // be a range. An entry names the primary and its replicas: with five of
    // them that have long host names, it takes 2 kB.
    static constexpr ReplyLimits kReplyLimits = {4, kHashSlots,
                                                 std::size_t{32} * 1024 * 1024};

    // `asked` is the host that replied: servers that do not know their own
    // address leave it out. nullopt if the reply is not a slot map. Skips an
    // unusable entry, such as one whose primary has no address, or the address
    // of another primary: its slots then have no server. Throws std::bad_alloc.
    static std::optional<SlotMap> parse(const Reply& reply,
                                        std::string_view asked);

    // The primaries, each once.
    const std::vector<ServerAddress>& primaries() const noexcept
    {
        return primaries_;
    }

    // Those of the primaries that the reply contained.
    const std::vector<ServerAddress>& replicas() const noexcept
    {
        return replicas_;
    }

    // The id of the server at this address; empty if unknown.
    ServerId id_at(const ServerAddress& address) const noexcept;

    // Index of the slot's primary; nullopt if no server serves the slot.
    std::optional<std::size_t> primary_of(std::uint16_t slot) const noexcept
    {
        const std::uint16_t index = owners_[slot % kHashSlots];
        return index == 0 ? std::nullopt
                          : std::optional<std::size_t>(index - 1);
    }

    // Assigns the slot to this server, as MOVED says. Throws std::bad_alloc.
    void move(std::uint16_t slot, const ServerAddress& primary);

private:
    // No real Cluster has more. The slots of further ones have no server.
    static constexpr std::size_t kMaxPrimaries = 1000;

    void add(const Reply& entry, std::string_view asked);
    std::optional<std::uint16_t> find_or_add(const ServerAddress& primary);

    std::vector<ServerAddress> primaries_;
    std::vector<ServerAddress> replicas_;
    std::array<std::uint16_t, kHashSlots> owners_{};  // index + 1, or 0
};

// The reply of a Cluster's server that does not serve the slot of a command. It
// has not executed the command.
struct Redirect {
    enum class Kind {
        moved,  // from now on the other server serves the slot
        ask,    // for this command only: the slot is moving there
    };

    Kind kind;
    std::uint16_t slot;
    ServerAddress address;

    // nullopt if the reply is not a valid redirect, or names no host: with
    // cluster-preferred-endpoint-type hostname, Redis sends "?" for a server
    // that announces no name. `asked`, the host that replied, stands for an
    // empty host. Throws std::bad_alloc.
    static std::optional<Redirect> parse(const Reply& reply,
                                         std::string_view asked);
};

}  // namespace petstore::redis
