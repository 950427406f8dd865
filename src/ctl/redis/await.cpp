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

Failure::Kind kind_of(const store::Failure& failure)
{
    switch (failure.refusal) {
    case store::Refusal::key_exists:
        return Failure::Kind::key_exists;
    case store::Refusal::already_rotated:
        return Failure::Kind::already_rotated;
    case store::Refusal::external_id_taken:
        return Failure::Kind::external_id_taken;
    case store::Refusal::account_in_use:
        return Failure::Kind::account_in_use;
    case store::Refusal::plan_in_use:
        return Failure::Kind::plan_in_use;
    case store::Refusal::too_many_plans:
        return Failure::Kind::too_many_plans;
    case store::Refusal::limits_elsewhere:
        return Failure::Kind::failed;
    default:
        break;
    }
    switch (failure.error.code) {
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

const char* hint(store::Refusal refusal)
{
    switch (refusal) {
    case store::Refusal::not_found:
        return ": see petstorectl key list";
    case store::Refusal::account_not_found:
        return ": see petstorectl account list; an external id needs --external-id";
    case store::Refusal::account_in_use:
        return ": delete them first, see petstorectl key list --account ID";
    case store::Refusal::plan_not_found:
        return ": see petstorectl plan list";
    case store::Refusal::expired:
        return ": set a new --expires first";
    default:
        return "";
    }
}

}  // namespace

void throw_failure(const store::Failure& failure, const Pump& pump)
{
    const api::ErrorCode code = failure.error.code;
    if (failure.refusal == store::Refusal::none && is_about_redis(code)
        && pump.problem() != nullptr) {
        try {
            std::rethrow_exception(pump.problem());
        } catch (const Failure& problem) {
            if (failure.not_in_effect) {
                throw Failure(problem.what(), Failure::Kind::not_in_effect);
            }
            if (dynamic_cast<const LostConnection*>(&problem) != nullptr) {
                throw LostConnection(problem.what(), failure.in_doubt);
            }
            throw;
        }
    }
    const std::string text =
        std::string(failure.error.message.text()) + hint(failure.refusal);
    if (failure.not_in_effect) {
        throw Failure(text, Failure::Kind::not_in_effect);
    }
    throw Failure(text, kind_of(failure));
}

}  // namespace petstore::ctl
