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

// A script reports a command that it may not run as another error.
bool is_forbidden(std::string_view error)
{
    const auto has = [&](std::string_view words) {
        return error.find(words) != std::string_view::npos;
    };
    return error.substr(0, error.find(' ')) == "NOPERM"
           || has("The user executing the script can't ")
           || has("ACL failure in script");
}

std::string text_of(std::string_view error)
{
    std::string text(error.substr(0, kMost));
    if (is_forbidden(error)) {
        text +=
            " (petstorectl needs more rules than nginx: see \"Access rules\" in docs/redis-keys.md)";
    }
    return text;
}

}  // namespace

RedisError::RedisError(const std::string& context, std::string_view error)
    : Failure(context + ": " + text_of(error), kind_of(error)),
      error_(error.substr(0, kMost))
{}

}  // namespace petstore::ctl
