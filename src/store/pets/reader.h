#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>

#include "../../api/error.h"
#include "../../metrics/counter.h"
#include "../../redis/in_flight.h"
#include "../../redis/link.h"
#include "../damage.h"
#include "bucket_cache.h"
#include "change_log.h"
#include "doorkeeper.h"
#include "pet_commands.h"
#include "response_cache.h"

namespace petstore::store {

using ReadResult =
    std::variant<std::shared_ptr<const CachedResponse>, api::Error>;

// A request that waits for a read.
class ReadWaiter {
public:
    virtual void on_read(const ReadResult& result) noexcept = 0;

protected:
    ~ReadWaiter() = default;
};

// A version that was read with a separate command, and the history of the data
// to which it belongs.
struct DatedVersion {
    Version version;
    std::uint64_t history = 0;
};

// The error for an id without a pet.
api::Error no_such_pet() noexcept;

// One worker's reads of the catalogue. A response comes from the response
// cache, or is built from cached buckets, if the catalogue's version says that
// it is current; else from Redis. Requests for the same data share one read.
// The version comes with the limiter's reply, or from a VersionQueue.
class Reader {
public:
    // `cache_bytes` bounds the cached responses; cached buckets take up to four
    // times as much. Borrows the rest. Destroying the reader drops its reads
    // without calling their waiters, so the link must not reply afterwards.
    Reader(redis::Link& link, const PetCommands& commands, DamageLog& log,
           metrics::CacheLookups& lookups, std::size_t cache_bytes);
    ~Reader();
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    // The response if it is in memory and known to be current at `now`, else
    // nullptr.
    // Throws std::bad_alloc.
    std::shared_ptr<const CachedResponse> find(const ReadKey& key,
                                               const Version& now);

    // Whether the pet's id is higher than the last one. Always false for an
    // empty catalogue, which read() examines.
    static bool is_beyond(const ReadKey& key, const Version& now) noexcept
    {
        return key.is_pet() && key.id > now.last_id
               && now.damage() == Version::Damage::none && !now.is_empty();
    }

    // Logs the damaged key of an invalid version and returns the client's
    // error. Throws std::bad_alloc.
    api::Error damaged(const Version& version);

    // Starts a read before the version is known, so that it is sent in the same
    // write as the limiter's command, right behind it. Does nothing if the
    // response (current or not) or everything it needs is in memory or being
    // read, or if the pet did not exist at the latest version. Returns true if
    // a read was started; confirm() must follow. Throws std::bad_alloc.
    bool read_ahead(const ReadKey& key);

    // A reply to an earlier command contained `now`, so data read ahead are at
    // least as new.
    void confirm(const ReadKey& key, const Version& now);

    // For versions that do not come with the limiter's reply: `now` has just
    // arrived over this link.
    DatedVersion note(const Version& now) noexcept;

    // The latest version, which is `version` or a later one; nullopt if all
    // data were dropped since.
    std::optional<Version> latest(const DatedVersion& version) noexcept;

    // Joins a read that is new enough, or starts one. Calls the waiter exactly
    // once, possibly before this returns. Without `now`, reads the version
    // first.
    void read(const ReadKey& key, const std::optional<Version>& now,
              ReadWaiter& waiter) noexcept;

private:
    class Load;
    class BucketLoad;
    class VersionLoad;
    class LogLoad;
    class VacancyCheck;

    // The buckets that a read needs and that are not cached.
    struct MissingBuckets {
        std::int64_t numbers[2];
        std::size_t count = 0;
    };

    api::Error damaged(const std::string& redis_key) noexcept;
    std::uint64_t generation() noexcept;
    void drop_if_disconnected() noexcept;
    void drop_all() noexcept;
    void advance(const Version& now) noexcept;
    std::shared_ptr<const CachedResponse> lookup(const ReadKey& key,
                                                 const Version& now);
    std::shared_ptr<const CachedResponse> build(const ReadKey& key,
                                                const Version& now, bool keep);
    MissingBuckets missing_buckets(const ReadKey& key, const Version& now);
    bool missed_before(const MissingBuckets& missing) noexcept;
    void read_directly(const ReadKey& key, const Version& now,
                       ReadWaiter& waiter);
    void read_version(const ReadKey& key, ReadWaiter& waiter);
    void serve(const ReadKey& key, const Version& now,
               ReadWaiter& waiter) noexcept;
    void read_log(const ReadKey& key, const Version& now, ReadWaiter& waiter);
    void check_vacancy(const ReadKey& key, ReadWaiter& waiter);
    BucketLoad* buckets_for(const ReadKey& key, const Version& now);
    void load_buckets_of_page(const BucketSpan& span,
                              const Version& now) noexcept;
    Load* load_for(const ReadKey& key, const Version& now) const;
    BucketLoad* load_bucket(std::int64_t number, const Version& now) noexcept;

    redis::Link& link_;
    const PetCommands& commands_;
    DamageLog& log_;
    metrics::CacheLookups& lookups_;
    ChangeLog changed_;
    ResponseCache responses_;
    BucketCache buckets_;
    Doorkeeper built_;   // responses built from buckets, by the key's hash
    Doorkeeper missed_;  // bucket numbers
    std::uint64_t connection_generation_ = 0;
    std::uint64_t reorderings_ = 0;
    std::uint64_t generation_ = 0;
    Version latest_;  // empty if unknown
    std::uint64_t bucket_loads_started_ = 0;

    redis::InFlight<Load> loads_;
    redis::InFlight<BucketLoad> bucket_loads_;
    redis::InFlight<VersionLoad> version_loads_;
    redis::InFlight<LogLoad> log_loads_;
    redis::InFlight<VacancyCheck> vacancy_checks_;
    // The newest load of each key and bucket. Requests join these.
    std::unordered_map<ReadKey, Load*, ReadKey::Hash> newest_loads_;
    std::unordered_map<std::int64_t, BucketLoad*> newest_bucket_loads_;
    LogLoad* newest_log_load_ = nullptr;
    VacancyCheck* newest_vacancy_check_ = nullptr;
};

}  // namespace petstore::store
