#include "checks.h"

#include <algorithm>
#include <optional>
#include <string>

#include "../../api/text.h"
#include "../../redis/hash_slot.h"
#include "../../store/pets/pet_commands.h"
#include "../pets/pet_count.h"
#include "../redis/server_connect.h"

namespace petstore::ctl {

namespace {

std::optional<std::int64_t> number(const redis::Reply& reply)
{
    return reply.is_error() ? std::nullopt : api::parse_int64(reply.text());
}

// Far more than restarts and failovers cause in years.
constexpr std::size_t kManySegments = 1000;

constexpr char kCheck[] = "pets";

Finding damage(const Failure& failure)
{
    return {
        Verdict::wrong, kCheck, failure.what(),
        "requests for pets fail: see \"Damaged data\" in docs/operations.md"};
}

// The last position that a bitmap can hold. If CONFIG is forbidden, assumes
// Redis's default, which suffices.
std::int64_t last_bit(RedisSession& server)
{
    server.send(redis::Command("CONFIG").arg("GET").arg("proto-max-bulk-len"));
    const redis::Reply& reply = server.receive_any();
    const auto bytes = reply.size() == 2 ? number(reply[1]) : std::nullopt;
    return bytes ? std::min(*bytes, store::kMaxPets) * 8 - 1 : store::kMaxPets;
}

std::vector<Finding> check(RedisSession& server, const store::Schema& schema)
{
    const std::int64_t bits = last_bit(server);
    const std::int64_t most = std::min(bits, store::kMaxPets);
    std::int64_t pets = 0;
    try {
        pets = count_pets(server, schema);
    } catch (const Failure& failure) {
        if (is_away(failure)) {
            throw;
        }
        // Else the user may not read it, or it is on another node of a Cluster.
        const bool damaged = failure.kind() == Failure::Kind::failed;
        return damaged ? std::vector<Finding>{damage(failure)}
                       : std::vector<Finding>();
    }
    const store::PetCommands commands(schema);
    server.send(commands.ids());
    const redis::Reply& reply = server.receive_any();
    const auto ids = reply.size() == 2 ? store::PetIds::parse(reply[1].text())
                                       : std::nullopt;
    if (pets > 0 && !ids) {
        return {damage(damaged_key(schema.segments()))};
    }
    if (ids && ids->segments() >= kManySegments) {
        return {
            {Verdict::warning, kCheck,
             std::to_string(ids->segments()) + " segments of ids",
             "creates are refused from "
                 + std::to_string(store::PetIds::kMaxSegments)
                 + " on: find out why Redis restarts or fails over so often"}};
    }
    const std::string found =
        std::to_string(pets) + " of at most " + std::to_string(most);
    if (bits < store::kMaxPets) {
        return {
            {Verdict::warning, kCheck, found,
             "proto-max-bulk-len ends the bitmaps of statuses early: CONFIG SET proto-max-bulk-len 512mb, and set it in redis.conf"}};
    }
    if (pets >= most / 4 * 3) {
        return {{Verdict::warning, kCheck, found,
                 std::string(
                     pets < most
                         ? "creates will be refused when the catalogue is full"
                         : "the catalogue is full, and creates are refused")
                     + ": start another store, with another prefix"}};
    }
    if (pets > 0) {
        return {{Verdict::ok, kCheck, found, ""}};
    }
    return {};
}

}  // namespace

std::vector<Finding> check_catalogue(RedisSession& redis,
                                     const store::Schema& schema)
{
    if (!redis.is_cluster()) {
        return check(redis, schema);
    }
    try {
        const auto map = redis.cluster()->map();
        if (const auto primary =
                map.primary_of(redis::hash_slot(schema.pet_count()))) {
            RedisSession server = redis.open(map.primaries()[*primary]);
            return check(server, schema);
        }
    } catch (const Failure&) {
        // check_cluster() reports servers that are down.
    }
    return {};
}

}  // namespace petstore::ctl
