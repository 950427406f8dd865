#pragma once

#include <cstdint>
#include <functional>

#include "../shared_read.h"
#include "fetch.h"
#include "read_cache.h"

namespace petstore::store {

// A request at the version `now` that waits for the cache to be completed.
struct WaitingRead {
    ReadKey key;
    Version now;
    Waiter<SharedResponse>* waiter;
};

// What a read has put into the cache, or found out about the catalogue.
struct Loaded {
    enum class What { ids, bucket, changes, vacancy, response } what;
    // Of the cache when the read started.
    std::uint64_t generation;
    std::uint64_t history;
};

// Continues the requests that have waited.
class Continuation {
public:
    virtual void resume(const WaitingRead& read,
                        const Outcome<Loaded>& loaded) noexcept = 0;

protected:
    ~Continuation() = default;
};

// The common base of the reads that fill the cache, each for all requests that
// lack the same. `continuation` is borrowed.
template <typename Load, Loaded::What kWhat, typename Key = NoKey,
          typename Hash = std::hash<Key>>
class CacheLoad : public Fetch,
                  public SharedReads<Load, WaitingRead, Key, Hash>::Item {
public:
    using Loads = SharedReads<Load, WaitingRead, Key, Hash>;

    CacheLoad(Loads& loads, const Key& key, ReadCache& cache,
              Continuation& continuation)
        : Fetch(cache.source().link), Loads::Item(loads, key), cache_(cache),
          continuation_(continuation), loaded_{kWhat, cache.generation(),
                                               cache.history()}
    {}

    std::uint64_t generation() const noexcept { return loaded_.generation; }
    std::uint64_t history() const noexcept { return loaded_.history; }

    // Whether what was read belongs to the cache, not to data that were dropped
    // since.
    bool is_current() const noexcept
    {
        return generation() == cache_.generation();
    }

protected:
    ~CacheLoad() = default;

    const PetSource& source() const noexcept { return cache_.source(); }
    ReadCache& cache() const noexcept { return cache_; }

    void on_done() noexcept override
    {
        Outcome<Loaded> outcome = loaded_;
        if (failure()) {
            outcome = *failure();  // its message is a literal
        }
        this->end_each([&](const WaitingRead& read) {
            continuation_.resume(read, outcome);
        });
    }

private:
    ReadCache& cache_;
    Continuation& continuation_;
    const Loaded loaded_;
};

// The newest of these loads in flight whose data will belong to the cache, if
// any.
template <typename Loads, typename Key = NoKey>
auto current_load(const Loads& loads, const Key& key = {}) noexcept
{
    const auto load = loads.find(key);
    return load != nullptr && load->is_current() ? load : nullptr;
}

// Reads the latest changes, so that cached data of other buckets remain valid.
class ChangesLoad final : public CacheLoad<ChangesLoad, Loaded::What::changes> {
public:
    // Reads all changes up to the latest known version, not only up to `now`,
    // so that a request that waits for a later version needs at most two reads,
    // however fast versions follow each other. Both versions were read earlier,
    // so the log has their changes.
    ChangesLoad(Loads& loads, NoKey key, const Version& now, ReadCache& cache,
                Continuation& continuation);

private:
    void send_commands() override;
    void take(std::size_t index, const redis::Reply& reply) override;

    const std::int64_t changes_;
};

// Reads which ids the pets have.
class IdsLoad final : public CacheLoad<IdsLoad, Loaded::What::ids> {
public:
    using CacheLoad::CacheLoad;

private:
    void send_commands() override { send(source().commands.ids()); }
    void take(std::size_t index, const redis::Reply& reply) override;
};

// A catalogue without a count is empty, or has lost that key. Reads the first
// pet, then the count again. A create writes both at once, so if there is a pet
// but still no count, the key was lost: damage.
class VacancyCheck final
    : public CacheLoad<VacancyCheck, Loaded::What::vacancy> {
public:
    using CacheLoad::CacheLoad;

private:
    void send_commands() override;
    void take(std::size_t index, const redis::Reply& reply) override;

    bool has_pets_ = false;
};

}  // namespace petstore::store
