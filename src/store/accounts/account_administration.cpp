#include "account_administration.h"

#include <algorithm>
#include <string>
#include <utility>

#include "../../api/text.h"
#include "../scripts.h"
#include "account_state.h"

namespace petstore::store {

namespace {

std::int64_t number_of(const redis::Reply& reply)
{
    if (reply.is(redis::Type::integer)) {
        return std::max<std::int64_t>(reply.integer(), 0);
    }
    return api::parse_int64(reply.text()).value_or(0);
}

}  // namespace

api::Millis AccountAdministration::now_millis()
{
    const redis::Reply& reply = redis_.call(redis::Command("TIME"));
    return reply.size() == 2
               ? number_of(reply[0]) * 1000 + number_of(reply[1]) / 1000
               : 0;
}

void AccountAdministration::touch(std::string_view account,
                                  std::int64_t written)
{
    const auto touched = [&](std::string_view checked) {
        redis::Command command(scripts::touch_account(), 1);
        command.key(schema_.account_state(account))
            .own(written == 0 ? "" : std::to_string(written))
            .arg(checked);
        return redis_.run(std::move(command)).integer();
    };
    std::int64_t epoch = touched("");
    if (epoch < 0) {
        const auto marker = redis::Command("GET").key(schema_.limits());
        epoch = Schema::limits_elsewhere(redis_.call(marker).text())
                    ? 0
                    : touched("1");
    }
    if (epoch == 0) {
        throw AdministrationError(
            "the limits are being moved to another Redis, or were moved");
    }
}

AccountUsage AccountAdministration::usage(std::string_view account)
{
    const auto get = [&](const std::string& key) -> const redis::Reply& {
        return redis_.run(redis::Command("GET").key(key));
    };
    AccountUsage usage;
    usage.strikes = number_of(get(schema_.strikes(account)));
    usage.bans = number_of(get(schema_.bans(account)));
    const api::Millis now = now_millis();
    const redis::Reply& seen = get(schema_.account_state(account));
    if (seen.is(redis::Type::nil)) {
        return usage;
    }
    const auto state = AccountState::decode(seen.text());
    if (!state) {
        throw AdministrationError("the state of account " + std::string(account)
                                  + " is damaged");
    }
    if (state->minute_end > now) {
        usage.minute = {state->minute_used, state->minute_end};
    }
    if (state->day_end > now) {
        usage.day = {state->day_used, state->day_end};
    }
    if (state->ban_until > now) {
        usage.banned_until = state->ban_until;
    }
    return usage;
}

bool AccountAdministration::unban(std::string_view account)
{
    redis::Command command(scripts::unban(), 3);
    command.key(schema_.account_state(account))
        .key(schema_.strikes(account))
        .key(schema_.bans(account));
    return redis_.run(std::move(command)).integer() == 1;
}

}  // namespace petstore::store
