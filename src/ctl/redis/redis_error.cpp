#include "redis_error.h"

#include "../../redis/error_table.h"

namespace petstore::ctl {

namespace {

constexpr std::size_t kMost = 200;

// Damage, and a full catalogue, are not Redis's fault.
Failure::Kind kind_of(std::string_view error)
{
    const redis::ErrorRow& row = redis::error_row(error);
    return row.read_error == api::ErrorCode::service_unavailable
                   && row.code != "FULL"
               ? Failure::Kind::redis_unavailable
               : Failure::Kind::failed;
}

}  // namespace

RedisError::RedisError(const std::string& context, std::string_view error)
    : Failure(context + ": " + std::string(error.substr(0, kMost)),
              kind_of(error)),
      error_(error.substr(0, kMost))
{}

}  // namespace petstore::ctl
