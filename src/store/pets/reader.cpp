#include "reader.h"

#include <utility>

#include "page_builder.h"

namespace petstore::store {

// A request that waits for the version.
class Reader::Unversioned final : public redis::InFlight<Unversioned>::Item,
                                  public Waiter<VersionInGeneration> {
public:
    Unversioned(Reader& reader, const ReadKey& key,
                Waiter<SharedResponse>& waiter) noexcept
        : reader_(reader), key_(key), waiter_(waiter)
    {}

    void
    on_result(const Outcome<VersionInGeneration>& outcome) noexcept override
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

// Without a `current` load, starts one.
template <typename Load, typename... Args>
void Reader::join_or_start(SharedReads<Load, WaitingRead>& loads, Load* current,
                           const WaitingRead& waiting, const Args&... args)
{
    if (current != nullptr) {
        return current->join(waiting);
    }
    Continuation& continuation = *this;
    loads.start({}, waiting, args..., cache_, continuation).begin();
}

bool Reader::read_ahead(const ReadKey& key)
{
    if (cache_.has(key) || current_load(loads_, key) != nullptr) {
        return false;
    }
    Continuation& continuation = *this;
    const PetIds* const ids = cache_.ids();
    if (ids == nullptr) {
        // Without them, the position of a pet is unknown.
        if (current_load(ids_loads_) == nullptr) {
            ids_loads_.start_ahead({}, cache_, continuation).begin();
        }
        return false;
    }
    const Version& latest = cache_.latest();
    const LocatedRead located =
        locate(key, *ids, latest.count != 0 ? latest : Version{kMaxPets, 0});
    if (key.is_pet() && located.position == 0) {
        return false;
    }
    if (latest.count != 0) {
        // While the changes are being read, use the latest state whose changes
        // are known.
        const Version known = cache_.known();
        if (PageBuilder(located, known, cache_.buckets()).complete()
            || bucket_loads_.load_for(located, known) != nullptr) {
            return false;
        }
    }
    loads_
        .start_ahead(key, located.position, std::nullopt, cache_, bucket_loads_,
                     continuation)
        .begin();
    return current_load(loads_, key) != nullptr;
}

void Reader::confirm(const ReadKey& key, const Version& now)
{
    if (now.damage() != Version::Damage::none || now.is_empty()) {
        return;
    }
    ResponseLoad* const load = current_load(loads_, key);
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
        if (now->is_empty()) {
            return join_or_start(vacancy_checks_, vacancy_checks_.find(),
                                 waiting);
        }
        const ChangeLog& changes = cache_.changes();
        if (now->changes > changes.known() && changes.reaches(now->changes)) {
            // A read started for an earlier version often includes the changes
            // that the request needs.
            return join_or_start(changes_loads_, current_load(changes_loads_),
                                 waiting, *now);
        }
        if (const PetIds* const ids = cache_.ids(*now)) {
            return read_at(locate(key, *ids, *now), *now, waiter);
        }
        read_ids(waiting);
    } catch (...) {
        // Out of memory, before the waiter was added to a load.
        waiter.on_result(unavailable());
    }
}

void Reader::read_ids(const WaitingRead& waiting)
{
    join_or_start(ids_loads_, current_load(ids_loads_), waiting);
}

void Reader::read_at(const LocatedRead& located, const Version& now,
                     Waiter<SharedResponse>& waiter)
{
    if (load_for(located, now) == nullptr) {
        if (BucketLoad* const load = bucket_loads_.load_for(located, now)) {
            return load->join({located.key, now, &waiter});
        }
    }
    read_directly(located, now, waiter);
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
        if (auto response = cache_.find_latest(key, now)) {
            return waiter.on_result(std::move(response));
        }
    } catch (...) {
        return waiter.on_result(unavailable());
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
        const auto [what, generation, history] = loaded.value();
        if (what == Loaded::What::vacancy) {
            // Even if pets were created since.
            return key.is_pet() ? waiter->on_result(Failure{no_such_pet()})
                                : waiter->on_result(SharedResponse(
                                    PageBuilder({key, 0}, {}, cache_.buckets())
                                        .response(PetIds())));
        }
        if (history != cache_.history()) {
            // `now` belongs to data that may be gone.
            return read_version(key, *waiter);
        }
        const PetIds* const ids = cache_.ids(now);
        if (what == Loaded::What::ids && ids == nullptr) {
            // `now` is later than these ids, or the catalogue was set back.
            return read_version(key, *waiter);
        }
        if (generation != cache_.generation()) {
            // While a slot moves, commands may overtake each other in each
            // attempt to complete the cache, so read without it.
            return ids != nullptr
                       ? read_directly(locate(key, *ids, now), now, *waiter)
                       : read_ids(waiting);
        }
        SharedResponse response;
        if (what == Loaded::What::bucket && ids != nullptr) {
            response = cache_.build(key, now, false);
            if (response == nullptr) {
                return read_directly(locate(key, *ids, now), now, *waiter);
            }
        } else if (now.changes <= cache_.changes().known()) {
            response = cache_.find_known(key, now);
        }
        if (response != nullptr) {
            return waiter->on_result(std::move(response));
        }
    } catch (...) {
        return waiter->on_result(unavailable());
    }
    read(key, now, *waiter);
}

// Reads the pet or page alone, not whole buckets.
void Reader::read_directly(const LocatedRead& located, const Version& now,
                           Waiter<SharedResponse>& waiter)
{
    const auto& [key, position] = located;
    if (key.is_pet() && position == 0) {
        return waiter.on_result(Failure{no_such_pet()});
    }
    const WaitingRead waiting{key, now, &waiter};
    if (ResponseLoad* const load = load_for(located, now)) {
        return load->join(waiting);
    }
    Continuation& continuation = *this;
    loads_
        .start(key, waiting, position, now, cache_, bucket_loads_, continuation)
        .begin();
}

// The load in flight that is new enough, if any.
ResponseLoad* Reader::load_for(const LocatedRead& located,
                               const Version& now) noexcept
{
    ResponseLoad* const load = current_load(loads_, located.key);
    return load != nullptr && load->position() == located.position
                   && load->version() && load->version()->covers(now)
               ? load
               : nullptr;
}

}  // namespace petstore::store
