#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bucket_loads.h"
#include "pet_commands.h"
#include "read_cache.h"

namespace petstore::store {

// The error for an id without a pet.
api::Error no_such_pet() noexcept;

// Reads one pet or page, without whole buckets.
class ResponseLoad final
    : public CacheLoad<ResponseLoad, Loaded::What::response, ReadKey,
                       ReadKey::Hash> {
public:
    // Without a version if it reads ahead; confirm() and join() may follow.
    // Borrows the rest.
    ResponseLoad(Loads& loads, const ReadKey& key, Position position,
                 const std::optional<Version>& version, ReadCache& cache,
                 BucketLoads& buckets, Continuation& continuation);

    void confirm(const Version& version) noexcept { version_ = version; }
    const std::optional<Version>& version() const noexcept { return version_; }
    Position position() const noexcept { return position_; }

private:
    void send_commands() override;
    void take(std::size_t index, const redis::Reply& reply) override;
    void on_done() noexcept override;

    std::uint64_t connection() const noexcept;
    void take_page(std::size_t index, const redis::Reply& reply);
    void take_error(std::size_t index, const redis::Reply& error);
    Position missing() const noexcept;
    const PetIds* ids() const noexcept;
    Outcome<SharedResponse> finish(const PetIds& ids);
    void take_rows(CachedResponse& response, const PetIds& ids);
    bool take_record(CachedResponse& response) const;

    BucketLoads& buckets_;
    const Position position_;         // see LocatedRead
    const std::uint64_t connection_;  // its generation
    const bool ahead_;                // began without a version
    // Read before the data, so the data are at least as new.
    std::optional<Version> version_;
    std::string record_;
    bool absent_ = false;  // Redis has no such record
    std::optional<PageReader> page_;
};

}  // namespace petstore::store
