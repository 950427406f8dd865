#include "account_tasks.h"

#include <algorithm>
#include <utility>

#include "../../api/text.h"
#include "../scripts.h"

namespace petstore::store {

std::int64_t number_of(const redis::Reply& reply) noexcept
{
    if (reply.is(redis::Type::integer)) {
        return std::max<std::int64_t>(reply.integer(), 0);
    }
    return api::parse_int64(reply.text()).value_or(0);
}

redis::Command get_command(const std::string& key)
{
    return std::move(redis::Command("GET").key(key));
}

Task<api::Millis> redis_time(const KeyServers& servers)
{
    const redis::Reply& time =
        co_await ask(servers.accounts, redis::Command("TIME"));
    co_return time.size() == 2
        ? number_of(time[0]) * 1000 + number_of(time[1]) / 1000
        : 0;
}

Task<> touch(const KeyServers& servers, const std::string& account,
             std::int64_t written)
{
    redis::Command command(scripts::touch_account(), 1);
    command.key(servers.schema.account_state(account))
        .own(written == 0 ? "" : std::to_string(written));
    redis::Command checked = command;
    command.arg("");
    checked.arg("1");

    auto epoch =
        (co_await change(servers.accounts, std::move(command))).integer();
    if (epoch < 0) {
        const redis::Reply& marker = co_await ask(
            servers.accounts, get_command(servers.schema.limits_place()));
        epoch = 0;
        if (!Schema::limits_elsewhere(marker.text())) {
            epoch = (co_await change(servers.accounts, std::move(checked)))
                        .integer();
        }
    }
    if (epoch == 0) {
        throw refused(
            Refusal::limits_elsewhere, api::ErrorCode::service_unavailable,
            "the limits are being moved to another Redis, or were moved");
    }
}

Task<> announce(const KeyServers& servers, const std::string& account,
                std::int64_t written)
{
    try {
        co_await touch(servers, account, written);
    } catch (...) {
        rethrow_not_in_effect();
    }
}

}  // namespace petstore::store
