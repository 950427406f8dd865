// Replies of Cluster servers: slot maps and redirects.
#include "redis/slot_map.h"
#include "replies.h"

using namespace petstore;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size)
{
    const auto stream = fuzz::text_of(data, size);
    fuzz::for_each_reply(stream, size, [](const redis::Reply& reply) {
        if (auto map = redis::SlotMap::parse(reply, "10.0.0.1")) {
            for (std::uint32_t slot = 0; slot < redis::kHashSlots; ++slot) {
                const auto owner =
                    map->primary_of(static_cast<std::uint16_t>(slot));
                REQUIRE(!owner || *owner < map->primaries().size());
            }
            for (const auto& primary : map->primaries()) {
                REQUIRE(!primary.host.empty());
                REQUIRE(primary.port >= 1 && primary.port <= 65535);
            }
            const redis::ServerAddress other{"10.0.0.2", 7000};
            map->move(1, other);
            REQUIRE(map->primaries()[*map->primary_of(1)] == other);
        }
        if (const auto redirect = redis::Redirect::parse(reply, "10.0.0.1")) {
            REQUIRE(redirect->slot < redis::kHashSlots);
            REQUIRE(!redirect->address.host.empty());
        }
    });
    return 0;
}
