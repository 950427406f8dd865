#pragma once

#include <optional>

#include "../../redis/in_flight.h"
#include "bucket_loads.h"
#include "cache_load.h"
#include "read_cache.h"
#include "response_load.h"
#include "version_queue.h"

namespace petstore::store {

// One worker's reads of the catalogue that its cache cannot answer: decides
// whether to read a pet or page alone, its whole buckets, or only what changed
// since. Requests for the same data share one read. The version comes with the
// limiter's reply, or from a VersionQueue.
class Reader final : private Continuation {
public:
    // Borrows both. Destroying the reader drops its reads without calling their
    // waiters, so the link must not reply afterwards.
    Reader(ReadCache& cache, VersionQueue& versions) noexcept;
    ~Reader();
    Reader(const Reader&) = delete;

    // Starts a read before the version is known, so that it is sent in the same
    // write as the limiter's command, right behind it. Does nothing if the
    // response (current or not) or everything it needs is in memory or being
    // read, or if the pet did not exist at the latest version. Returns true if
    // a read was started; confirm() must follow. Throws std::bad_alloc.
    bool read_ahead(const ReadKey& key);

    // A reply to an earlier command contained `now`, so data read ahead are at
    // least as new.
    void confirm(const ReadKey& key, const Version& now);

    // Joins a read that is new enough, or starts one. Calls the waiter exactly
    // once, possibly before this returns. Without `now`, reads the version
    // first.
    void read(const ReadKey& key, const std::optional<Version>& now,
              Waiter<SharedResponse>& waiter) noexcept;

private:
    class Unversioned;

    void resume(const WaitingRead& read,
                const Outcome<Loaded>& loaded) noexcept override;
    void serve(const ReadKey& key, const Version& now,
               Waiter<SharedResponse>& waiter) noexcept;
    void read_version(const ReadKey& key, Waiter<SharedResponse>& waiter);
    void read_ids(const WaitingRead& waiting);
    void read_at(const LocatedRead& located, const Version& now,
                 Waiter<SharedResponse>& waiter);
    void read_directly(const LocatedRead& located, const Version& now,
                       Waiter<SharedResponse>& waiter);
    template <typename Load, typename... Args>
    void join_or_start(SharedReads<Load, WaitingRead>& loads, Load* current,
                       const WaitingRead& waiting, const Args&... args);
    ResponseLoad* load_for(const LocatedRead& located,
                           const Version& now) noexcept;

    ReadCache& cache_;
    VersionQueue& versions_;
    redis::InFlight<Unversioned> unversioned_;
    BucketLoads bucket_loads_;
    ResponseLoad::Loads loads_;
    IdsLoad::Loads ids_loads_;
    ChangesLoad::Loads changes_loads_;
    VacancyCheck::Loads vacancy_checks_;
};

}  // namespace petstore::store
