#include "failure.h"

#include "../redis/error_table.h"
#include "damage.h"

namespace petstore::store {

namespace {

api::Error lost(bool outcome_open) noexcept
{
    if (outcome_open) {
        return {
            api::ErrorCode::outcome_unknown,
            "The change was not confirmed: it may or may not have been made. Check before you repeat the request, or repeat it with the same Idempotency-Key."};
    }
    return {api::ErrorCode::service_unavailable,
            "The service is temporarily unavailable. Try again later."};
}

}  // namespace

bool is_full(const redis::Reply& error) noexcept
{
    return error.error_code() == "FULL";
}

Failure failure_of(const redis::Reply& error, Purpose purpose) noexcept
{
    if (is_full(error)) {
        return {{api::ErrorCode::service_unavailable,
                 "The catalogue is full: no more pets can be created."}};
    }
    const redis::ErrorRow& row = redis::error_row(error.text());
    const api::ErrorCode code =
        purpose == Purpose::change ? row.write_error() : row.read_error;
    const bool in_doubt = code == api::ErrorCode::outcome_unknown;
    return {code == api::ErrorCode::internal_error ? damage_error()
                                                   : lost(in_doubt),
            in_doubt};
}

Failure failure_of(redis::NoReply cause, Purpose purpose) noexcept
{
    const bool in_doubt = cause == redis::NoReply::in_doubt;
    return {lost(purpose == Purpose::change && in_doubt), in_doubt};
}

Failure not_counted() noexcept
{
    return {{api::ErrorCode::service_unavailable,
             "The request could not be counted. Please try again later."}};
}

Failure unavailable() noexcept
{
    return failure_of(redis::NoReply::not_sent, Purpose::read);
}

}  // namespace petstore::store
