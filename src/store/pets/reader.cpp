#include "reader.h"

#include <utility>

#include "page_builder.h"

namespace petstore::store {

// A request that waits for the version.
class Reader::Unversioned final : public redis::InFlight<Unversioned>::Item,
                                  public Waiter<DatedVersion> {
public:
    Unversioned(Reader& reader, const ReadKey& key,
                Waiter<SharedResponse>& waiter) noexcept
        : reader_(reader), key_(key), waiter_(waiter)
    {}

    void on_result(const Outcome<DatedVersion>& outcome) noexcept override
    {
        const auto self = reader_.unversioned_.take(*this);
        if (outcome.failed()) {
            waiter_.on_result(*outcome.failure());
        } else {
            reader_.serve(key_, outcome.value().version, waiter_);
        }
    }

private:
    Reader& reader_;
    const ReadKey key_;
    Waiter<SharedResponse>& waiter_;
};

Reader::Reader(ReadCache& cache, VersionQueue& versions) noexcept
    : cache_(cache), versions_(versions), bucket_loads_(cache, *this)
{}

Reader::~Reader() = default;

bool Reader::read_ahead(const ReadKey& key)
{
    if (cache_.has(key) || newest_load(key) != nullptr) {
        return false;
    }
    const Version& latest = cache_.latest();
    if (latest.last_id != 0) {
        // While the changes are being read, use the latest state whose changes
        // are known.
        const Version known = cache_.known();
        if (is_beyond(key, latest)
            || PageBuilder(key, known, cache_.buckets()).complete()
            || bucket_loads_.load_for(key, known) != nullptr) {
            return false;
        }
    }
    loads_.start_ahead(key, std::nullopt, cache_, bucket_loads_).begin();
    return newest_load(key) != nullptr;
}

void Reader::confirm(const ReadKey& key, const Version& now)
{
    if (now.damage() != Version::Damage::none || now.is_empty()) {
        return;
    }
    ResponseLoad* const load = newest_load(key);
    if (load != nullptr && !load->version()) {
        load->confirm(now);
    }
}

void Reader::read(const ReadKey& key, const std::optional<Version>& now,
                  Waiter<SharedResponse>& waiter) noexcept
{
    try {
        if (!now) {
            return read_version(key, waiter);
        }
        if (now->damage() != Version::Damage::none) {
            return waiter.on_result(cache_.source().damaged(*now));
        }
        const WaitingRead waiting{key, *now, &waiter};
        Continuation& continuation = *this;
        if (now->is_empty()) {
            if (VacancyCheck* const check = vacancy_checks_.find()) {
                return check->join(waiting);
            }
            return vacancy_checks_.start({}, waiting, cache_, continuation)
                .begin();
        }
        const std::uint64_t generation = cache_.generation();
        const ChangeLog& changes = cache_.changes();
        if (now->changes > changes.known() && changes.reaches(now->changes)) {
            // A read started for an earlier version often includes the changes
            // that the request needs.
            ChangesLoad* const load = changes_loads_.find();
            if (load != nullptr && load->generation() == generation) {
                return load->join(waiting);
            }
            return changes_loads_.start({}, waiting, *now, cache_, continuation)
                .begin();
        }
        if (load_for(key, *now) == nullptr) {
            if (BucketLoad* const load = bucket_loads_.load_for(key, *now)) {
                return load->join(waiting);
            }
        }
        read_directly(key, *now, waiter);
    } catch (...) {
        // Out of memory, before the waiter was added to a load.
        waiter.on_result(read_not_sent());
    }
}

void Reader::read_version(const ReadKey& key, Waiter<SharedResponse>& waiter)
{
    versions_.read(unversioned_.start(*this, key, waiter));
}

// Continues a request once its version is known.
void Reader::serve(const ReadKey& key, const Version& now,
                   Waiter<SharedResponse>& waiter) noexcept
{
    try {
        if (is_beyond(key, now)) {
            return waiter.on_result(Failure{no_such_pet()});
        }
        if (auto response = cache_.find(key, now)) {
            return waiter.on_result(std::move(response));
        }
    } catch (...) {
        return waiter.on_result(read_not_sent());
    }
    read(key, now, waiter);
}

void Reader::resume(const WaitingRead& waiting,
                    const Outcome<Loaded>& loaded) noexcept
{
    const auto& [key, now, waiter] = waiting;
    try {
        if (loaded.failed()) {
            return waiter->on_result(*loaded.failure());
        }
        const auto [what, generation] = loaded.value();
        if (what == Loaded::What::vacancy) {
            // Even if pets were created since.
            return key.is_pet()
                       ? waiter->on_result(Failure{no_such_pet()})
                       : waiter->on_result(SharedResponse(
                           PageBuilder(key, {}, cache_.buckets()).response()));
        }
        if (generation != cache_.generation()) {
            // `now` belongs to data that were dropped.
            return read_version(key, *waiter);
        }
        SharedResponse response;
        if (what == Loaded::What::bucket) {
            response = cache_.build(key, now, false);
            if (response == nullptr) {
                return read_directly(key, now, *waiter);
            }
        } else if (now.changes <= cache_.changes().known()) {
            response = cache_.lookup(key, now);
        }
        if (response != nullptr) {
            return waiter->on_result(std::move(response));
        }
    } catch (...) {
        return waiter->on_result(read_not_sent());
    }
    read(key, now, *waiter);
}

// Reads the pet or page alone, not whole buckets.
void Reader::read_directly(const ReadKey& key, const Version& now,
                           Waiter<SharedResponse>& waiter)
{
    if (ResponseLoad* const load = load_for(key, now)) {
        return load->join(&waiter);
    }
    loads_.start(key, &waiter, now, cache_, bucket_loads_).begin();
}

// The load in flight that requests may join once they have its version.
ResponseLoad* Reader::newest_load(const ReadKey& key) noexcept
{
    ResponseLoad* const load = loads_.find(key);
    return load != nullptr && load->generation() == cache_.generation()
               ? load
               : nullptr;
}

// The one that is new enough, if any.
ResponseLoad* Reader::load_for(const ReadKey& key, const Version& now) noexcept
{
    ResponseLoad* const load = newest_load(key);
    return load != nullptr && load->version() && load->version()->covers(now)
               ? load
               : nullptr;
}

}  // namespace petstore::store
