#include "store_upgrade.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "../../api/text.h"
#include "../../store/scripts.h"
#include "../accounts/store_format.h"
#include "../exit.h"
#include "../terminal/interruption.h"
#include "record_upgrade.h"

namespace petstore::ctl {

namespace {

constexpr std::size_t kStatesAtOnce = 256;

// Longer than a command of an old petstorectl between its look at the fence and
// its last write. Scripts of old workers look and write at once, except in a
// Cluster, where the fence is on another server; see store/accounts/
// marker_reader.h.
constexpr std::chrono::seconds kOldCommandTime(3);

bool needs_upgrade(RedisSession& redis, const store::Schema& schema)
{
    const StoreFormat format = format_of(redis, schema);
    if (format == StoreFormat::unknown) {
        throw Failure("this version does not know the format of the store: "
                      + unknown_format_advice(schema));
    }
    return format == StoreFormat::one || format == StoreFormat::upgrading;
}

// Format 1 had the marker where the fence is now.
LimitsMarker read_marker(RedisSession& redis, const store::Schema& schema)
{
    return format_of(redis, schema) == StoreFormat::one
               ? LimitsMarker::read(redis, schema.limits_fence())
               : LimitsMarker::read(redis, schema.limits_marker());
}

// For the progress only: an access rule may be missing.
std::optional<std::uint64_t> number_of_keys(RedisSession& server)
{
    server.send(redis::Command("DBSIZE"));
    const redis::Reply& reply = server.receive_any();
    return reply.is_error()
               ? std::nullopt
               : std::optional(static_cast<std::uint64_t>(reply.integer()));
}

void check_interruption()
{
    if (Interruption::requested()) {
        throw Failure("interrupted; run the command again");
    }
}

}  // namespace

StoreUpgrade::StoreUpgrade(RedisSession& main, RedisSession* limit_redis,
                           const store::Schema& schema)
    : main_(main), limit_redis_(limit_redis), schema_(schema),
      records_(schema.prefix() + ":key:")
{}

StoreUpgrade::Upgraded StoreUpgrade::run()
{
    const bool old_main = needs_upgrade(main_, schema_);
    const bool old_limit_redis =
        limit_redis_ != nullptr && needs_upgrade(*limit_redis_, schema_);
    if (!old_main && !old_limit_redis) {
        return upgraded_;
    }
    const Interruption interruption;
    check();
    check_rights();
    if (old_main) {
        check_catalogue();
    }
    upgraded_.any = true;
    if (old_main) {
        raise_fence(main_);
        convert_catalogue();
    }
    if (old_limit_redis) {
        raise_fence(*limit_redis_);
    }
    wait();
    if (old_main) {
        convert_states(main_);
    }
    if (old_limit_redis) {
        convert_states(*limit_redis_);
    }
    if (old_main) {
        convert_records();
    }
    if (old_limit_redis) {
        complete(*limit_redis_);
    }
    if (old_main) {
        complete(main_);
    }
    return upgraded_;
}

// Fails unless the options name all of the store, and it is in one place.
void StoreUpgrade::check() const
{
    constexpr char kUnchanged[] =
        ". Nothing was changed. To complete a move, use the petstorectl that this store was used with so far";
    const LimitsMarker main = read_marker(main_, schema_);
    try {
        main.refuse_moved();
        if (limit_redis_ == nullptr) {
            refuse_elsewhere(main);
            return;
        }
        const LimitsMarker limits = read_marker(*limit_redis_, schema_);
        limits.refuse_moved();
        if (main.is_elsewhere() || limits.is_here()) {
            refuse_others(main, limits);
        }
    } catch (const Failure& failure) {
        throw Failure(failure.what() + std::string(kUnchanged), failure.kind());
    }
    refuse_same_database(main_, *limit_redis_, schema_, "--limit-redis");
}

// Fails unless all servers can be searched, and accounts can have a usage: an
// access rule may be missing.
void StoreUpgrade::check_rights()
{
    require_settled(main_);
    if (limit_redis_ != nullptr) {
        require_settled(*limit_redis_);
    }
    constexpr std::int64_t kProbeTime = 10'000;
    const std::string probe = schema_.usage("probe", 0, 0);
    RedisSession& redis = accounts();
    redis.call(
        redis::Command("HINCRBY").key(probe).arg("01").arg(std::int64_t{0}));
    redis.call(redis::Command("PEXPIRE").key(probe).arg(kProbeTime));
}

// Once the fence is raised, upgrade_catalogue.lua must not fail: no worker
// would serve the store.
void StoreUpgrade::check_catalogue()
{
    const std::string name = schema_.pet_fence();
    const redis::Reply& reply =
        main_.call_naming_key(redis::Command("GET").key(name));
    const std::string_view last = reply.text();
    const bool digits =
        last.find_first_not_of("0123456789") == std::string_view::npos;
    if (reply.is(redis::Type::nil) || last == kPetFence
        || (digits && !last.empty())) {
        return;
    }
    const bool begun = format_of(main_, schema_) != StoreFormat::one;
    throw Failure("the Redis key " + name + " is damaged"
                  + (begun ? "" : "; nothing was changed"));
}

void StoreUpgrade::convert_catalogue()
{
    redis::Command catalogue(store::scripts().upgrade_catalogue, 3);
    catalogue.key(schema_.pet_fence())
        .key(schema_.pet_count())
        .key(schema_.segments());
    upgraded_.pets =
        api::parse_int64(main_.run(std::move(catalogue)).text()).value_or(0);
}

// The marker first: after an interruption, the fence must not be taken for it.
// It is read once, because another petstorectl may raise the fence at any time.
void StoreUpgrade::raise_fence(RedisSession& redis)
{
    const redis::Reply& marker =
        redis.call(redis::Command("GET").key(schema_.limits_fence()));
    if (marker.text() == kFence) {
        throw Failure("another petstorectl has upgraded it meanwhile");
    }
    if (marker.text() != kFenceUpgrading) {
        const std::string key = schema_.limits_marker();
        redis::Command keep("SET");
        keep.key(key).own(marker.text());
        redis.call(marker.is(redis::Type::nil) ? redis::Command("DEL").key(key)
                                               : keep);
    }
    redis.call(
        redis::Command("SET").key(schema_.limits_fence()).arg(kFenceUpgrading));
}

void StoreUpgrade::wait() const
{
    if (main_.is_cluster() || accounts().is_cluster()) {
        wait_for_workers();
    } else {
        std::this_thread::sleep_for(kOldCommandTime);
    }
    check_interruption();
}

void StoreUpgrade::convert_states(RedisSession& redis)
{
    redis.each_server(
        [this](RedisSession& server) { convert_states_on(server); });
}

// Also collects the names of the records of keys.
void StoreUpgrade::convert_states_on(RedisSession& server)
{
    const auto total = number_of_keys(server);
    Progress progress(total, "Redis key");
    std::uint64_t scanned = 0;
    const auto convert = [&](const redis::Reply& names) {
        check_interruption();
        Names states;
        for (std::size_t i = 0; i < names.size(); ++i) {
            take(names[i].text(), states);
        }
        while (!states.empty()) {
            convert_batch(server, states);
        }
        scanned += static_cast<std::uint64_t>(redis::Scan::kCount);
        progress.update(scanned, scanned);
    };
    read_all(server, redis::Scan::of_keys(schema_.prefix() + ":*"), convert);
}

void StoreUpgrade::take(std::string_view name, Names& states)
{
    if (name.starts_with(records_)) {
        key_records_.emplace_back(name);
        return;
    }
    const auto key = schema_.parse_account_key(name);
    if (key && (key->suffix == "state" || key->suffix == "moving")) {
        states.emplace_back(name);
    }
}

// Converts the last ones, and removes them.
void StoreUpgrade::convert_batch(RedisSession& server, Names& states)
{
    const std::size_t count = std::min(states.size(), kStatesAtOnce);
    const std::size_t first = states.size() - count;
    for (std::size_t i = first; i < states.size(); ++i) {
        redis::Command convert(store::scripts().upgrade_state, 1);
        convert.key(states[i]);
        convert.use_script_text();
        server.send(convert);
    }
    for (std::size_t i = first; i < states.size(); ++i) {
        if (server.receive().integer() < 0) {
            upgraded_.damaged.push_back(states[i]);
        }
    }
    states.resize(first);
}

void StoreUpgrade::convert_records()
{
    // A scan may find a key twice.
    std::sort(key_records_.begin(), key_records_.end());
    key_records_.erase(std::unique(key_records_.begin(), key_records_.end()),
                       key_records_.end());
    RecordUpgrade records(main_, schema_);
    records.run(key_records_);
    upgraded_.keys = records.keys();
    upgraded_.accounts = records.accounts();
    upgraded_.damaged.insert(upgraded_.damaged.end(), records.damaged().begin(),
                             records.damaged().end());
}

void StoreUpgrade::complete(RedisSession& redis)
{
    redis.call(redis::Command("SET").key(schema_.limits_fence()).arg(kFence));
}

}  // namespace petstore::ctl
