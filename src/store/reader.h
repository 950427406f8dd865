#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <variant>

#include "../api/error.h"
#include "answer_cache.h"
#include "bucket_cache.h"
#include "catalogue.h"
#include "damage.h"
#include "doorkeeper.h"
#include "link.h"

namespace petstore::store {

using ReadResult = std::variant<std::shared_ptr<const Answer>, api::Error>;

// A request that waits for a read.
class ReadWaiter {
public:
    virtual void on_read(const ReadResult& result) noexcept = 0;

protected:
    ~ReadWaiter() = default;
};

// One worker's reads of the catalogue. Answers come from memory, or are put
// together from buckets in memory, as long as the catalogue's version, brought
// by the limiter's reply, says that they are current; requests that want what
// is being read already wait for that read.
class Reader {
public:
    // `cache_bytes` bound the answers in memory, four times as many the
    // buckets. The rest is borrowed.
    Reader(TurnLink& link, const Catalogue& catalogue, DamageLog& log,
           std::size_t cache_bytes);

    // The answer from memory if it is current at `now`; nullptr otherwise.
    std::shared_ptr<const Answer> find(const ReadKey& key, const Version& now);

    // Whether a pet cannot exist as yet. Of an empty catalogue that is found
    // out by read().
    static bool is_beyond(const ReadKey& key, const Version& now) noexcept
    {
        return key.is_pet() && key.id > now.last_id
               && now.damage() == Version::Damage::none && !now.is_empty();
    }

    // Reports a version that cannot be, and says what the client is told.
    api::Error damaged(const Version& version);

    // Reads ahead, in the same write as the limiter's command and behind it:
    // nothing when there is an answer in memory, current or not, or all that it
    // takes, or a read on its way, or when the pet did not exist a moment ago.
    // Returns whether a read for this key was begun; then confirm() has to
    // follow.
    bool read_ahead(const ReadKey& key);

    // The limiter's reply came: what was read ahead is at least as new.
    void confirm(const ReadKey& key, const Version& now);

    // Joins a read on its way that is new enough, or begins one. The waiter is
    // called exactly once, perhaps before this returns. Without a version Redis
    // is asked for it first.
    void read(const ReadKey& key, const std::optional<Version>& now,
              ReadWaiter& waiter) noexcept;

private:
    class Load;
    class BucketLoad;
    class VersionLoad;
    class VacancyCheck;

    // Buckets that a read lacks.
    struct Missing {
        std::int64_t numbers[2];
        std::size_t count = 0;
    };

    api::Error damaged(const std::string& redis_key) noexcept;
    void forget_if_lost() noexcept;
    void forget() noexcept;
    std::uint64_t memory() noexcept;
    std::shared_ptr<const Answer> build(const ReadKey& key, const Version& now,
                                        bool keep);
    Missing missing(const ReadKey& key, const Version& now);
    bool were_missed_before(const Missing& missing) noexcept;
    void read_alone(const ReadKey& key, const std::optional<Version>& now,
                    ReadWaiter& waiter);
    void load_version(const ReadKey& key, ReadWaiter& waiter);
    void serve(const ReadKey& key, const Version& now,
               ReadWaiter& waiter) noexcept;
    void check_vacancy(const ReadKey& key, ReadWaiter& waiter);
    BucketLoad* buckets_for(const ReadKey& key, const Version& now);
    void note_walk(const ReadKey& key, api::PetId reach,
                   const Version& now) noexcept;
    Load* load_for(const ReadKey& key, const std::optional<Version>& now) const;
    Load* start(const ReadKey& key);
    BucketLoad* start(std::int64_t number, const Version& now) noexcept;

    TurnLink& link_;
    const Catalogue& catalogue_;
    DamageLog& log_;
    AnswerCache cache_;
    BucketCache buckets_;
    Doorkeeper asked_;   // for answers that were built, by the key's hash
    Doorkeeper missed_;  // buckets
    std::uint64_t session_ = 0;
    std::uint64_t memory_ = 0;  // see memory()
    Version newest_;            // the last one told
    std::uint64_t begun_ = 0;   // loads of buckets
    // The newest read on its way for each key and bucket; loads own themselves.
    std::unordered_map<ReadKey, Load*, ReadKey::Hash> loads_;
    std::unordered_map<std::int64_t, BucketLoad*> bucket_loads_;
    VacancyCheck* vacancy_check_ = nullptr;  // on its way; owns itself
};

// What a client is told of an id without a pet.
api::Error no_such_pet() noexcept;

}  // namespace petstore::store
