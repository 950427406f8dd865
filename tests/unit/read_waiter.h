#pragma once

#include <vector>

#include "catch.h"
#include "store/pets/response_cache.h"
#include "store/waiter.h"

using ReadOutcome = petstore::store::Outcome<petstore::store::SharedResponse>;

// Collects the outcomes of reads.
struct ReadWaiter final
    : petstore::store::Waiter<petstore::store::SharedResponse> {
    void on_result(const ReadOutcome& outcome) noexcept override
    {
        results.push_back(outcome);
    }
    std::vector<ReadOutcome> results;
};

// nullptr for a response.
inline const petstore::api::Error* error_of(const ReadOutcome& outcome)
{
    const auto* failure = outcome.failure();
    return failure == nullptr ? nullptr : &failure->error;
}

inline const petstore::api::Error* error_of(const ReadWaiter& waiter)
{
    REQUIRE(waiter.results.size() == 1);
    return error_of(waiter.results[0]);
}

inline const petstore::store::CachedResponse&
response_of(const ReadWaiter& waiter)
{
    REQUIRE(error_of(waiter) == nullptr);
    return *waiter.results[0].value();
}
