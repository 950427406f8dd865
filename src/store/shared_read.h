#pragma once

#include <cstddef>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../redis/in_flight.h"
#include "waiter.h"

namespace petstore::store {

// The key where all requests need the same read.
struct NoKey {};

namespace shared_read {

// The newest read of each key.
template <typename Read, typename Key, typename Hash>
class Index {
public:
    void set(const Key& key, Read& read) { newest_[key] = &read; }
    Read* find(const Key& key) const noexcept
    {
        const auto found = newest_.find(key);
        return found == newest_.end() ? nullptr : found->second;
    }
    void erase(const Key& key) noexcept { newest_.erase(key); }
    void clear() noexcept { newest_.clear(); }

private:
    std::unordered_map<Key, Read*, Hash> newest_;
};

template <typename Read, typename Hash>
class Index<Read, NoKey, Hash> {
public:
    void set(NoKey, Read& read) noexcept { newest_ = &read; }
    Read* find(NoKey) const noexcept { return newest_; }
    void erase(NoKey) noexcept { newest_ = nullptr; }
    void clear() noexcept { newest_ = nullptr; }

private:
    Read* newest_ = nullptr;
};

}  // namespace shared_read

// Reads in flight, each for all requests that need the same data. Owns a read
// from start() until its end(). `Read` derives from Item, and its constructor
// takes what Item's does first; it may be incomplete where this is a member.
// `Waiting` is what a request leaves: a Waiter<T>*, or a struct with one.
template <typename Read, typename Waiting, typename Key = NoKey,
          typename Hash = std::hash<Key>>
class SharedReads {
public:
    class Item : public redis::InFlight<Read>::Item {
    public:
        const Key& key() const noexcept { return key_; }

        // Throws std::bad_alloc, and then has not added it.
        void join(Waiting waiting) { waiting_.push_back(std::move(waiting)); }

    protected:
        Item(SharedReads& reads, const Key& key) : reads_(reads), key_(key) {}
        ~Item() = default;

        // Ends the read: calls `resume` for everything that waits, then
        // destroys the read. No longer in `reads` by then, so that `resume`
        // may start the next read of this key, and the last one may destroy
        // `reads`.
        template <typename Resume>
        void end_each(Resume&& resume) noexcept
        {
            const auto self = reads_.remove(static_cast<Read&>(*this));
            for (const Waiting& each : waiting_) {
                resume(each);
            }
        }

        // The same if each request waits for the same outcome.
        template <typename T>
        void end(const Outcome<T>& outcome) noexcept
        {
            end_each([&](Waiter<T>* waiter) { waiter->on_result(outcome); });
        }

    private:
        SharedReads& reads_;
        const Key key_;
        std::vector<Waiting> waiting_;
    };

    // The newest read of the key, if requests can still join it.
    Read* find(const Key& key = {}) const noexcept { return newest_.find(key); }

    // Adds a read, which others can join from now on. The caller sends its
    // commands. Throws what Read's constructor throws and std::bad_alloc, and
    // then has added nothing.
    template <typename... Args>
    Read& start(const Key& key, Waiting first, Args&&... args)
    {
        return add(key, &first, std::forward<Args>(args)...);
    }

    // The same before there is a request that waits.
    template <typename... Args>
    Read& start_ahead(const Key& key, Args&&... args)
    {
        return add(key, nullptr, std::forward<Args>(args)...);
    }

    // From now on, no request can join a read in flight.
    void close() noexcept { newest_.clear(); }

    // In flight.
    std::size_t size() const noexcept { return reads_.size(); }

private:
    template <typename... Args>
    Read& add(const Key& key, Waiting* first, Args&&... args)
    {
        Read& read = reads_.start(*this, key, std::forward<Args>(args)...);
        try {
            if (first != nullptr) {
                read.join(std::move(*first));
            }
            newest_.set(key, read);
        } catch (...) {
            reads_.end(read);
            throw;
        }
        return read;
    }

    auto remove(Read& read) noexcept
    {
        if (newest_.find(read.key()) == &read) {
            newest_.erase(read.key());
        }
        return reads_.take(read);
    }

    redis::InFlight<Read> reads_;
    shared_read::Index<Read, Key, Hash> newest_;
};

}  // namespace petstore::store
