#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fetch.h"
#include "reader.h"

// The reads that a Reader can have in flight, owned by its InFlight members.
namespace petstore::store {

// A request that came with the version `now`.
struct WaitingRead {
    ReadKey key;
    Version now;
    ReadWaiter* waiter;
};

// Reads one pet or page, without whole buckets.
class Reader::Load final : public Fetch, public redis::InFlight<Load>::Item {
public:
    // Reads ahead, without a version; confirm() and add() may follow.
    Load(Reader& owner, const ReadKey& key);

    Load(Reader& owner, const ReadKey& key, const Version& version,
         ReadWaiter& waiter);

    void confirm(const Version& version) noexcept { version_ = version; }
    const std::optional<Version>& version() const noexcept { return version_; }

    void add(ReadWaiter& waiter) { waiters_.push_back(&waiter); }

private:
    void send_commands() override;
    void take(std::size_t index, const redis::Reply& reply) override;
    void end() noexcept override;

    void take_page(std::size_t index, const redis::Reply& reply);
    void take_error(std::size_t index, const redis::Reply& error);
    api::Error damaged(std::int64_t bucket);
    api::PetId missing() const noexcept;
    ReadResult finish();

    Reader& owner_;
    const ReadKey key_;
    const std::uint64_t generation_;
    const std::uint64_t connection_;  // its generation
    // Read before the data, so the data are at least as new.
    std::optional<Version> version_;
    std::vector<ReadWaiter*> waiters_;
    std::string record_;
    bool absent_ = false;  // Redis has no such record
    std::optional<PageReader> page_;
};

// Reads a whole bucket into the cache. Everything else that its waiters need is
// already cached or arrives earlier.
class Reader::BucketLoad final : public Fetch,
                                 public redis::InFlight<BucketLoad>::Item {
public:
    // `version` was read earlier, so the bucket is at least as new.
    BucketLoad(Reader& owner, std::int64_t number, const Version& version);

    // Whether the bucket will be valid at `now`; it may lack the newest pets.
    bool serves(const Version& now) const noexcept;

    // Loads started later arrive later.
    std::uint64_t serial() const noexcept { return serial_; }

    void add(const ReadKey& key, const Version& now, ReadWaiter& waiter)
    {
        waiters_.push_back({key, now, &waiter});
    }

private:
    void send_commands() override;
    void take(std::size_t index, const redis::Reply& reply) override;
    void end() noexcept override;

    void keep(const redis::Reply& reply) noexcept;
    void respond(const WaitingRead& waiting) noexcept;

    Reader& owner_;
    const std::int64_t number_;
    const Version version_;
    const std::uint64_t serial_;
    const std::uint64_t generation_;
    std::vector<WaitingRead> waiters_;
};

// Reads the catalogue's version for a request that has none, then serves it.
class Reader::VersionLoad final : public Fetch,
                                  public redis::InFlight<VersionLoad>::Item {
public:
    VersionLoad(Reader& owner, const ReadKey& key, ReadWaiter& waiter) noexcept
        : Fetch(owner.link_), owner_(owner), key_(key), waiter_(waiter)
    {}

private:
    void send_commands() override;
    void take(std::size_t index, const redis::Reply& reply) override;
    void end() noexcept override;

    Reader& owner_;
    const ReadKey key_;
    ReadWaiter& waiter_;
    Version version_;
};

// Reads the latest changes, so that cached data of other buckets remain valid.
class Reader::LogLoad final : public Fetch,
                              public redis::InFlight<LogLoad>::Item {
public:
    // Reads all changes up to the latest known version, not only up to `now`,
    // so that a request that waits for a later version needs at most two reads,
    // however fast versions follow each other. Both versions were read earlier,
    // so the log has their changes.
    LogLoad(Reader& owner, const ReadKey& key, const Version& now,
            ReadWaiter& waiter)
        : Fetch(owner.link_), owner_(owner),
          changes_(std::max(now.changes, owner.latest_.changes)),
          generation_(owner.generation()), waiters_{{key, now, &waiter}}
    {}

    void add(const ReadKey& key, const Version& now, ReadWaiter& waiter)
    {
        waiters_.push_back({key, now, &waiter});
    }

private:
    void send_commands() override;
    void take(std::size_t index, const redis::Reply& reply) override;
    void end() noexcept override;

    void respond(const WaitingRead& waiting) noexcept;

    Reader& owner_;
    const std::int64_t changes_;
    const std::uint64_t generation_;
    std::vector<WaitingRead> waiters_;
};

// A catalogue without a last id is empty, or has lost that key. Reads the first
// pet, then the last id again. A create writes both at once, so if there is a
// pet but still no last id, the key was lost: damage.
class Reader::VacancyCheck final : public Fetch,
                                   public redis::InFlight<VacancyCheck>::Item {
public:
    VacancyCheck(Reader& owner, const ReadKey& key, ReadWaiter& waiter)
        : Fetch(owner.link_), owner_(owner), waiters_{{key, &waiter}}
    {}

    void add(const ReadKey& key, ReadWaiter& waiter)
    {
        waiters_.push_back({key, &waiter});
    }

private:
    struct Waiting {
        ReadKey key;
        ReadWaiter* waiter;
    };

    void send_commands() override;
    void take(std::size_t index, const redis::Reply& reply) override;
    void end() noexcept override;

    void take_first_pet(const redis::Reply& reply);
    void take_last_id(const redis::Reply& reply);
    ReadResult result_for(const ReadKey& key) const;

    Reader& owner_;
    std::vector<Waiting> waiters_;
    bool has_pets_ = false;
};

}  // namespace petstore::store
