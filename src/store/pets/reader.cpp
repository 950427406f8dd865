#include "reader.h"

#include <algorithm>
#include <utility>

#include "../failure.h"
#include "loads.h"
#include "page_builder.h"

namespace petstore::store {

namespace {

// A million pets take some 30 MB as buckets and ten times that as responses. So
// buckets get room for a whole catalogue, responses for the most popular ones.
constexpr std::size_t kBucketShare = 4;

// Typical sizes, for the number of places in a doorkeeper or in the change log:
// a page of 20, and a bucket of pets with names of 20 characters.
constexpr std::size_t kResponseBytes = 2048;
constexpr std::size_t kBucketBytes = 4096;

template <typename Map>
typename Map::mapped_type find_in(const Map& map,
                                  const typename Map::key_type& key) noexcept
{
    const auto found = map.find(key);
    return found == map.end() ? nullptr : found->second;
}

}  // namespace

api::Error no_such_pet() noexcept
{
    return {api::ErrorCode::pet_not_found, "There is no pet with this id."};
}

Reader::Reader(redis::Link& link, const PetCommands& commands, DamageLog& log,
               metrics::CacheLookups& lookups, std::size_t cache_bytes)
    : link_(link), commands_(commands), log_(log), lookups_(lookups),
      changed_(kBucketShare * cache_bytes / kBucketBytes),
      responses_(cache_bytes), buckets_(kBucketShare * cache_bytes, changed_),
      built_(cache_bytes / kResponseBytes),
      missed_(kBucketShare * cache_bytes / kBucketBytes)
{}

Reader::~Reader() = default;

api::Error Reader::damaged(const std::string& redis_key) noexcept
{
    log_.damaged(redis_key);
    return damage_error();
}

api::Error Reader::damaged(const Version& version)
{
    const Schema& schema = commands_.schema();
    return damaged(version.damage() == Version::Damage::changes
                       ? schema.changes()
                       : schema.last_pet_id());
}

// Changes whenever all cached data are dropped. The result of a read is cached,
// or combined with a version read before it, only if the generation has not
// changed since the read started.
std::uint64_t Reader::generation() noexcept
{
    drop_if_disconnected();
    return generation_;
}

// A failover or restart may have undone what was read before. If commands
// overtook each other, a version may be newer than the data that were read
// after it.
void Reader::drop_if_disconnected() noexcept
{
    const std::string_view key = commands_.schema().catalogue();
    const std::uint64_t now = link_.connection_generation(key);
    const std::uint64_t reorderings = link_.reorderings(key);
    if (connection_generation_ != now || reorderings_ != reorderings) {
        connection_generation_ = now;
        reorderings_ = reorderings;
        latest_ = {};
        drop_all();
    }
}

// Also keeps requests from joining the loads in flight.
void Reader::drop_all() noexcept
{
    ++generation_;
    responses_.clear();
    buckets_.clear();
    newest_loads_.clear();
    newest_bucket_loads_.clear();
    newest_log_load_ = nullptr;
    changed_.clear();
}

void Reader::advance(const Version& now) noexcept
{
    if (now.last_id < latest_.last_id || now.changes < latest_.changes) {
        drop_all();  // the catalogue was set back
    }
    latest_ = now;
    if (!changed_.reaches(now.changes)) {
        changed_.add_unknown(now.changes);
    }
}

DatedVersion Reader::note(const Version& now) noexcept
{
    drop_if_disconnected();
    if (now.damage() == Version::Damage::none) {
        advance(now);
    }
    return {now, generation_};
}

// Replies to the limiter and versions come over two connections, so a request
// may need its version when later ones have arrived. Using the older one would
// look as if the catalogue had been set back.
std::optional<Version> Reader::latest(const DatedVersion& version) noexcept
{
    if (version.history != generation()) {
        return std::nullopt;
    }
    return version.version.damage() == Version::Damage::none ? latest_
                                                             : version.version;
}

std::shared_ptr<const CachedResponse> Reader::find(const ReadKey& key,
                                                   const Version& now)
{
    drop_if_disconnected();
    if (now.damage() != Version::Damage::none) {
        return nullptr;
    }
    advance(now);
    return now.is_empty() || now.changes > changed_.known() ? nullptr
                                                            : lookup(key, now);
}

// All changes up to `now` must be known. Unlike find(), `now` need not be the
// latest version.
std::shared_ptr<const CachedResponse> Reader::lookup(const ReadKey& key,
                                                     const Version& now)
{
    const auto* cached = responses_.find(key);
    const bool current =
        cached != nullptr && (*cached)->is_current(now, changed_);
    lookups_.response.add(current);
    if (current) {
        return *cached;
    }
    return build(key, now, cached != nullptr);
}

// Builds a response from cached buckets alone; nullptr if they lack something.
// Caches it if it replaces an outdated one (`keep`) or is built for the second
// time: otherwise responses requested once would evict popular ones.
std::shared_ptr<const CachedResponse>
Reader::build(const ReadKey& key, const Version& now, bool keep)
{
    const PageBuilder selection(key, now, buckets_);
    lookups_.pet.add(selection.complete());
    if (!selection.complete()) {
        return nullptr;
    }
    auto response = selection.response();
    if (keep || built_.seen_before(ReadKey::Hash()(key))) {
        responses_.put(key, response);
    }
    return response;
}

bool Reader::read_ahead(const ReadKey& key)
{
    drop_if_disconnected();
    const bool version_known = latest_.last_id != 0;
    const bool unlikely = version_known && is_beyond(key, latest_);
    if (unlikely || responses_.find(key) != nullptr
        || newest_loads_.count(key) != 0) {
        return false;
    }
    // While the log is being read, use the latest state whose changes are
    // known.
    const Version known{latest_.last_id,
                        std::min(latest_.changes, changed_.known())};
    if (version_known
        && (PageBuilder(key, known, buckets_).complete()
            || buckets_for(key, known) != nullptr)) {
        return false;
    }
    loads_.start(*this, key).begin();
    return newest_loads_.count(key) != 0;
}

void Reader::confirm(const ReadKey& key, const Version& now)
{
    if (now.damage() != Version::Damage::none || now.is_empty()) {
        return;
    }
    Load* load = find_in(newest_loads_, key);
    if (load != nullptr && !load->version()) {
        load->confirm(now);
    }
}

void Reader::read(const ReadKey& key, const std::optional<Version>& now,
                  ReadWaiter& waiter) noexcept
{
    try {
        drop_if_disconnected();
        if (!now) {
            return read_version(key, waiter);
        }
        if (now->damage() != Version::Damage::none) {
            return waiter.on_read(damaged(*now));
        }
        if (now->is_empty()) {
            return check_vacancy(key, waiter);
        }
        if (now->changes > changed_.known() && changed_.reaches(now->changes)) {
            return read_log(key, *now, waiter);
        }
        if (BucketLoad* load = buckets_for(key, *now)) {
            return load->add(key, *now, waiter);
        }
        read_directly(key, *now, waiter);
    } catch (...) {
        // Out of memory, before the waiter was added to a load.
        waiter.on_read(read_not_sent().error);
    }
}

// Continues a request once its version is known.
void Reader::serve(const ReadKey& key, const Version& now,
                   ReadWaiter& waiter) noexcept
{
    try {
        if (is_beyond(key, now)) {
            return waiter.on_read(no_such_pet());
        }
        if (auto response = find(key, now)) {
            return waiter.on_read(std::move(response));
        }
    } catch (...) {
        return waiter.on_read(read_not_sent().error);
    }
    read(key, now, waiter);
}

void Reader::read_version(const ReadKey& key, ReadWaiter& waiter)
{
    version_loads_.start(*this, key, waiter).begin();
}

// Reads the latest changes, then continues. A request may join a read started
// for an earlier version, which often includes the changes it needs.
void Reader::read_log(const ReadKey& key, const Version& now,
                      ReadWaiter& waiter)
{
    if (newest_log_load_ != nullptr) {
        return newest_log_load_->add(key, now, waiter);
    }
    newest_log_load_ = &log_loads_.start(*this, key, now, waiter);
    newest_log_load_->begin();
}

void Reader::check_vacancy(const ReadKey& key, ReadWaiter& waiter)
{
    if (newest_vacancy_check_ != nullptr) {
        return newest_vacancy_check_->add(key, waiter);
    }
    newest_vacancy_check_ = &vacancy_checks_.start(*this, key, waiter);
    newest_vacancy_check_->begin();
}

// Reads the pet or page alone, not whole buckets.
void Reader::read_directly(const ReadKey& key, const Version& now,
                           ReadWaiter& waiter)
{
    if (Load* load = load_for(key, now)) {
        return load->add(waiter);
    }
    loads_.start(*this, key, now, waiter).begin();
}

// The load in flight that is new enough, if any.
Reader::Load* Reader::load_for(const ReadKey& key, const Version& now) const
{
    Load* load = find_in(newest_loads_, key);
    return load != nullptr && load->version() && load->version()->covers(now)
               ? load
               : nullptr;
}

Reader::MissingBuckets Reader::missing_buckets(const ReadKey& key,
                                               const Version& now)
{
    MissingBuckets missing;
    const BucketSpan span = span_of(key, now);
    for (std::int64_t number = span.first; number <= span.last; ++number) {
        if (!buckets_.has(number, now)) {
            missing.numbers[missing.count++] = number;
        }
    }
    return missing;
}

// Whether one of the buckets was missed before. If so, all are worth loading,
// because a response needs all of them.
bool Reader::missed_before(const MissingBuckets& missing) noexcept
{
    bool before = false;
    for (std::size_t i = 0; i < missing.count; ++i) {
        before |=
            missed_.seen_before(static_cast<std::uint64_t>(missing.numbers[i]));
    }
    return before;
}

// Loads the missing buckets if they were missed before. Returns the load that
// arrives last, or nullptr if the request should read without buckets.
Reader::BucketLoad* Reader::buckets_for(const ReadKey& key, const Version& now)
{
    if (load_for(key, now) != nullptr) {
        return nullptr;
    }
    BucketLoad* last = nullptr;
    MissingBuckets not_loading;
    const MissingBuckets missing = missing_buckets(key, now);
    for (std::size_t i = 0; i < missing.count; ++i) {
        BucketLoad* load = find_in(newest_bucket_loads_, missing.numbers[i]);
        if (load == nullptr) {
            not_loading.numbers[not_loading.count++] = missing.numbers[i];
        } else if (!load->serves(now)) {
            return nullptr;
        } else if (last == nullptr || load->serial() > last->serial()) {
            last = load;
        }
    }
    if (not_loading.count != 0 && !missed_before(not_loading)) {
        return nullptr;
    }
    for (std::size_t i = 0; i < not_loading.count; ++i) {
        last = load_bucket(not_loading.numbers[i], now);
        if (last == nullptr) {
            return nullptr;
        }
    }
    return last;
}

// Which buckets hold a filtered page is known only once the page was read.
// Loads those that were missed before, for later requests.
void Reader::load_buckets_of_page(const BucketSpan& span,
                                  const Version& now) noexcept
{
    if (span.last - span.first >= kMaxWalk) {
        return;
    }
    for (std::int64_t number = span.first; number <= span.last; ++number) {
        if (!buckets_.has(number, now)
            && newest_bucket_loads_.count(number) == 0
            && missed_.seen_before(static_cast<std::uint64_t>(number))) {
            load_bucket(number, now);
        }
    }
}

// nullptr if the command could not be sent. The bucket must not be loading.
Reader::BucketLoad* Reader::load_bucket(std::int64_t number,
                                        const Version& now) noexcept
{
    try {
        bucket_loads_.start(*this, number, now).begin();
    } catch (...) {
        return nullptr;  // out of memory
    }
    return find_in(newest_bucket_loads_, number);
}

}  // namespace petstore::store
