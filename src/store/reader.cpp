#include "reader.h"

#include <algorithm>

#include "bucket_load.h"
#include "failure.h"
#include "read_load.h"
#include "selection.h"
#include "vacancy_check.h"
#include "version_load.h"

namespace petstore::store {

namespace {

// A million pets take some 30 MB in buckets and more than ten times that as
// answers. So buckets get the room for a whole catalogue, and answers what it
// takes for those that are asked for most.
constexpr std::size_t kBucketShare = 4;

}  // namespace

api::Error no_such_pet() noexcept
{
    return {api::ErrorCode::pet_not_found, "There is no pet with this id."};
}

Reader::Reader(TurnLink& link, const Catalogue& catalogue, DamageLog& log,
               std::size_t cache_bytes)
    : link_(link), catalogue_(catalogue), log_(log), cache_(cache_bytes),
      buckets_(kBucketShare * cache_bytes),
      asked_(AnswerCache::usual_number(cache_bytes)),
      missed_(BucketCache::usual_number(kBucketShare * cache_bytes))
{}

api::Error Reader::damaged(const std::string& redis_key) noexcept
{
    log_.damaged(redis_key);
    return damage_error();
}

api::Error Reader::damaged(const Version& version)
{
    const Schema& schema = catalogue_.schema();
    return damaged(version.damage() == Version::Damage::changes
                       ? schema.changes()
                       : schema.last_pet_id());
}

// After a lost connection, with another replication history, or when the
// catalogue is smaller than it was, what was read before may have been undone.
void Reader::forget_if_lost() noexcept
{
    if (session_ != link_.session()) {
        session_ = link_.session();
        newest_ = {};
        forget();
    }
}

// Reads on their way are not joined any more, and not kept: see memory().
void Reader::forget() noexcept
{
    ++memory_;
    cache_.clear();
    buckets_.clear();
    loads_.clear();
    bucket_loads_.clear();
}

// Another number each time all was forgotten. What a read brings is kept, or
// combined with a version told before it began, only if this is the same as
// when the read began.
std::uint64_t Reader::memory() noexcept
{
    forget_if_lost();
    return memory_;
}

std::shared_ptr<const Answer> Reader::find(const ReadKey& key,
                                           const Version& now)
{
    forget_if_lost();
    if (now.damage() != Version::Damage::none) {
        return nullptr;
    }
    if (now.last_id < newest_.last_id) {
        forget();
    }
    newest_ = now;
    if (now.is_empty()) {
        return nullptr;
    }
    auto answer = cache_.find(key);
    if (answer != nullptr && answer->is_current(now)) {
        return answer;
    }
    return build(key, now, answer != nullptr);
}

// An answer from buckets alone; nullptr if they lack something. Kept if it
// takes another's place (`keep`) or is built again soon: what is asked for once
// only pushes out what is asked for often.
std::shared_ptr<const Answer> Reader::build(const ReadKey& key,
                                            const Version& now, bool keep)
{
    const Selection selection(key, now, buckets_);
    if (!selection.complete()) {
        return nullptr;
    }
    auto answer = selection.answer();
    if (keep || asked_.came_before(ReadKey::Hash()(key))) {
        cache_.put(key, answer);
    }
    return answer;
}

bool Reader::read_ahead(const ReadKey& key)
{
    forget_if_lost();
    const bool told = newest_.last_id != 0;
    const bool unlikely = told && is_beyond(key, newest_);
    if (unlikely || cache_.find(key) != nullptr || loads_.count(key) != 0) {
        return false;
    }
    if (told
        && (Selection(key, newest_, buckets_).complete()
            || buckets_for(key, newest_) != nullptr)) {
        return false;
    }
    return start(key) != nullptr;
}

void Reader::confirm(const ReadKey& key, const Version& now)
{
    if (now.damage() != Version::Damage::none || now.is_empty()) {
        return;
    }
    const auto found = loads_.find(key);
    if (found != loads_.end() && !found->second->version()) {
        found->second->confirm(now);
    }
}

void Reader::read(const ReadKey& key, const std::optional<Version>& now,
                  ReadWaiter& waiter) noexcept
{
    try {
        forget_if_lost();
        if (now && now->damage() != Version::Damage::none) {
            return waiter.on_read(damaged(*now));
        }
        if (now && now->is_empty()) {
            return check_vacancy(key, waiter);
        }
        BucketLoad* load = now ? buckets_for(key, *now) : nullptr;
        if (load != nullptr) {
            return load->add(key, *now, waiter);
        }
        read_alone(key, now, waiter);
    } catch (...) {
        // Out of memory, before the waiter was added to anything.
        waiter.on_read(failure_of(Loss::not_sent, false));
    }
}

// With a version that was told a moment ago.
void Reader::serve(const ReadKey& key, const Version& now,
                   ReadWaiter& waiter) noexcept
{
    try {
        if (is_beyond(key, now)) {
            return waiter.on_read(no_such_pet());
        }
        if (auto answer = find(key, now)) {
            return waiter.on_read(std::move(answer));
        }
    } catch (...) {
        return waiter.on_read(failure_of(Loss::not_sent, false));
    }
    read(key, now, waiter);
}

void Reader::load_version(const ReadKey& key, ReadWaiter& waiter)
{
    const auto command = catalogue_.version();
    auto load = std::make_unique<VersionLoad>(*this, key, waiter);
    link_.send(command, *load.release());  // owns itself from here
}

void Reader::check_vacancy(const ReadKey& key, ReadWaiter& waiter)
{
    if (vacancy_check_ != nullptr) {
        return vacancy_check_->add(key, waiter);
    }
    auto check = std::make_unique<VacancyCheck>(*this);
    check->add(key, waiter);
    vacancy_check_ = check.get();
    check.release()->begin();  // owns itself from here
}

// Without whole buckets.
void Reader::read_alone(const ReadKey& key, const std::optional<Version>& now,
                        ReadWaiter& waiter)
{
    if (!now) {
        return load_version(key, waiter);
    }
    Load* load = load_for(key, now);
    if (load == nullptr) {
        load = start(key);
        if (load == nullptr) {
            waiter.on_read(failure_of(Loss::not_sent, false));
            return;
        }
        load->confirm(*now);
    }
    load->add(waiter);
}

// The one on its way that is new enough, if any.
Reader::Load* Reader::load_for(const ReadKey& key,
                               const std::optional<Version>& now) const
{
    const auto found = loads_.find(key);
    return now && found != loads_.end() && found->second->version()
                   && found->second->version()->covers(*now)
               ? found->second
               : nullptr;
}

// Of the buckets that the key needs.
Reader::Missing Reader::missing(const ReadKey& key, const Version& now)
{
    Missing missing;
    const BucketSpan span = span_of(key, now);
    for (std::int64_t number = span.first; number <= span.last; ++number) {
        if (!buckets_.has(number, now)) {
            missing.numbers[missing.count++] = number;
        }
    }
    return missing;
}

// One bucket that is missed again is reason enough to load them all: an answer
// needs all of them.
bool Reader::were_missed_before(const Missing& missing) noexcept
{
    bool before = false;
    for (std::size_t i = 0; i < missing.count; ++i) {
        before |=
            missed_.came_before(static_cast<std::uint64_t>(missing.numbers[i]));
    }
    return before;
}

// What brings the missing buckets: loads on their way, and new ones if it is
// time for them. The one that comes last; nullptr to read without.
Reader::BucketLoad* Reader::buckets_for(const ReadKey& key, const Version& now)
{
    if (load_for(key, now) != nullptr) {
        return nullptr;
    }
    BucketLoad* last = nullptr;
    Missing absent;
    const Missing lacking = missing(key, now);
    for (std::size_t i = 0; i < lacking.count; ++i) {
        const auto found = bucket_loads_.find(lacking.numbers[i]);
        if (found == bucket_loads_.end()) {
            absent.numbers[absent.count++] = lacking.numbers[i];
        } else if (!found->second->serves(now)) {
            return nullptr;
        } else if (last == nullptr
                   || found->second->serial() > last->serial()) {
            last = found->second;
        }
    }
    if (absent.count != 0 && !were_missed_before(absent)) {
        return nullptr;
    }
    for (std::size_t i = 0; i < absent.count; ++i) {
        last = start(absent.numbers[i], now);
        if (last == nullptr) {
            return nullptr;
        }
    }
    return last;
}

// A filtered page was read: only now it is known which buckets it lies in, as
// far as `reach`, or to the end (0). Those that were missed before are loaded,
// while nobody waits for them.
void Reader::note_walk(const ReadKey& key, api::PetId reach,
                       const Version& now) noexcept
{
    const std::int64_t first = bucket_of(std::min(key.id, now.last_id) + 1);
    const std::int64_t last = bucket_of(reach != 0 ? reach : now.last_id);
    if (last - first >= kMaxWalk) {
        return;
    }
    for (std::int64_t number = first; number <= last; ++number) {
        if (!buckets_.has(number, now) && bucket_loads_.count(number) == 0
            && missed_.came_before(static_cast<std::uint64_t>(number))) {
            start(number, now);
        }
    }
}

// nullptr when the commands could not be sent.
Reader::Load* Reader::start(const ReadKey& key)
{
    auto load = std::make_unique<Load>(*this, key);
    loads_[key] = load.get();
    Load* const begun = load.release();  // owns itself from here
    return begun->begin() ? begun : nullptr;
}

// The same, also when there is no memory for it. No load of this bucket is on
// its way.
Reader::BucketLoad* Reader::start(std::int64_t number,
                                  const Version& now) noexcept
{
    try {
        auto load = std::make_unique<BucketLoad>(*this, number, now);
        bucket_loads_[number] = load.get();
        BucketLoad* const begun = load.release();
        return begun->begin() ? begun : nullptr;
    } catch (...) {
        return nullptr;
    }
}

}  // namespace petstore::store
