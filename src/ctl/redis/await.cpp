#include "await.h"

#include <string>

#include "../exit.h"

namespace petstore::ctl {

namespace {

bool is_about_redis(api::ErrorCode code)
{
    return code == api::ErrorCode::service_unavailable
           || code == api::ErrorCode::outcome_unknown
           || code == api::ErrorCode::internal_error;
}

Failure::Kind kind_of(api::ErrorCode code)
{
    switch (code) {
    case api::ErrorCode::not_found:
    case api::ErrorCode::pet_not_found:
        return Failure::Kind::not_found;
    case api::ErrorCode::service_unavailable:
    case api::ErrorCode::outcome_unknown:
        return Failure::Kind::redis_unavailable;
    default:
        return Failure::Kind::failed;
    }
}

}  // namespace

void throw_failure(const store::Failure& failure, const Pump& pump)
{
    const api::ErrorCode code = failure.error.code;
    if (is_about_redis(code) && pump.problem() != nullptr) {
        try {
            std::rethrow_exception(pump.problem());
        } catch (const LostConnection& lost) {
            throw LostConnection(lost.what(), failure.in_doubt);
        }
    }
    throw Failure(std::string(failure.error.message.text()), kind_of(code));
}

}  // namespace petstore::ctl
