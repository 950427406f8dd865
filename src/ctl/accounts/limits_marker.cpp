#include "limits_marker.h"

#include <chrono>
#include <thread>

#include "../../store/accounts/marked_limits.h"
#include "../../store/random.h"
#include "../exit.h"

namespace petstore::ctl {

namespace {

using Place = LimitsMarker::Place;

constexpr std::int64_t kMarkerProbeSeconds = 10;
// Three times a petstore_redis_timeout of 1.6 seconds, see store/accounts/
// marker_reader.h.
constexpr std::chrono::seconds kWorkersTime(5);

constexpr struct {
    Place place;
    std::string_view word;
} kWords[] = {
    {Place::here, "here"},
    {Place::elsewhere, "elsewhere"},
    {Place::moved_from, "elsewhere-from"},
    {Place::moving_to, "elsewhere-to"},
};

}  // namespace

std::optional<LimitsMarker> LimitsMarker::parse(std::string_view text)
{
    const auto marked = store::parse_limits_marker(text);
    for (const auto& [place, word] : kWords) {
        if (marked.place == word && !marked.id.empty()) {
            return LimitsMarker{place, std::string(marked.id)};
        }
    }
    return std::nullopt;
}

LimitsMarker LimitsMarker::read(RedisSession& redis, const std::string& key)
{
    const redis::Reply& reply =
        redis.call_naming_key(redis::Command("GET").key(key));
    if (reply.is(redis::Type::nil)) {
        return {};
    }
    const auto marker = parse(reply.text());
    if (!marker) {
        throw Failure("the Redis key " + key + " is damaged");
    }
    return *marker;
}

redis::Command LimitsMarker::command(const store::Schema& schema) const
{
    std::string text;
    for (const auto& [known, word] : kWords) {
        if (known == place) {
            text = std::string(word) + ' ' + id;
        }
    }
    redis::Command command("SET");
    command.key(schema.limits_marker()).own(std::move(text));
    return command;
}

void LimitsMarker::write(RedisSession& redis, const store::Schema& schema) const
{
    redis.call(command(schema));
}

void LimitsMarker::write_if_absent(RedisSession& redis,
                                   const store::Schema& schema) const
{
    redis.call(command(schema).arg("NX"));
}

void LimitsMarker::refuse_moved() const
{
    if (place == Place::moved_from) {
        throw Failure(
            "this store was moved to another Redis by petstorectl move: use that one");
    }
    if (place == Place::moving_to) {
        throw Failure(
            "the store was not moved here completely: run petstorectl move again");
    }
}

void refuse_elsewhere(const LimitsMarker& main)
{
    if (main.is_elsewhere()) {
        throw Failure(
            "the limits of this store are on another Redis: add --limit-redis URL, or set PETSTORE_LIMIT_REDIS");
    }
}

void refuse_others(const LimitsMarker& main, const LimitsMarker& limits)
{
    if (limits.place == Place::unknown) {
        throw Failure(
            "the Redis of --limit-redis does not have the limits of this store. If it is the right one and has lost its data, run petstorectl limits move --emptied");
    }
    if (limits.id != main.id) {
        throw Failure(kForeignLimits);
    }
    if (limits.is_elsewhere()) {
        throw Failure(
            "the limits were not moved completely: run petstorectl limits move, or limits return, again");
    }
}

void refuse_same_database(RedisSession& main, RedisSession& other,
                          const store::Schema& schema, const char* option)
{
    const std::string name = schema.limits_probe();
    const std::string probe = store::new_id();
    other.call(redis::Command("SET").key(name).arg(probe).arg("EX").arg(
        kMarkerProbeSeconds));
    const bool same =
        main.call(redis::Command("GET").key(name)).text() == probe;
    other.call(redis::Command("DEL").key(name));
    if (same) {
        throw Failure(std::string(option)
                      + " names the same database as --redis");
    }
}

void wait_for_workers()
{
    std::this_thread::sleep_for(kWorkersTime);
}

}  // namespace petstore::ctl
