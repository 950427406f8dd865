#pragma once

#include <cstdint>
#include <utility>
#include <variant>

#include "../api/error.h"

namespace petstore::store {

// Why administration refuses what was asked, although Redis answered.
enum class Refusal : std::uint8_t {
    none,       // not a refusal: Redis failed
    not_found,  // the key
    account_not_found,
    plan_not_found,
    key_exists,
    already_rotated,
    external_id_taken,
    account_in_use,  // it has keys
    plan_in_use,
    too_many_plans,
    overtaken,         // by another command
    invalid,           // what the caller wants to change
    expired,           // the key to rotate
    limits_elsewhere,  // on another Redis, or being moved there
    server_changes,    // that of an index, during each attempt to read it
    damaged,
};

// Why something asked of Redis was not done.
struct Failure {
    api::Error error;  // for the client

    // Redis may have executed the command: its reply was lost, or a replica did
    // not confirm it.
    bool in_doubt = false;

    // Only for administration: why it refused. `error` then describes that.
    Refusal refusal = Refusal::none;

    // A change may be stored, but workers may not know of it yet. Repeating the
    // operation is safe and completes the change.
    bool not_in_effect = false;

    // Redis failed after the operation had sent a change, so the change may be
    // stored, in part or wholly.
    bool after_change = false;
};

// What waiting for Redis led to. The only form in which the store hands on
// results: replies and their errors become outcomes in the store, so that its
// callers never see a redis::Reply.
template <typename T>
class Outcome {
public:
    // Implicit, so that a function can return either.
    // NOLINTNEXTLINE(google-explicit-constructor)
    Outcome(T value) noexcept(noexcept(T(std::move(value))))
        : result_(std::in_place_index<0>, std::move(value))
    {}
    // NOLINTNEXTLINE(google-explicit-constructor)
    Outcome(Failure failure) noexcept
        : result_(std::in_place_index<1>, std::move(failure))
    {}

    bool failed() const noexcept { return result_.index() == 1; }

    // Only unless failed().
    const T& value() const noexcept { return *std::get_if<0>(&result_); }
    T& value() noexcept { return *std::get_if<0>(&result_); }

    // nullptr unless failed().
    const Failure* failure() const noexcept { return std::get_if<1>(&result_); }

private:
    std::variant<T, Failure> result_;
};

// For what has no value but its success.
struct Done {};

}  // namespace petstore::store
