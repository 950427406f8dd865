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

api::UnixTime AccountAdministration::now()
{
    const redis::Reply& reply = redis_.call(redis::Command("TIME"));
    return reply.size() == 2 ? number_of(reply[0]) : 0;
}

void AccountAdministration::touch(std::string_view account,
                                  std::int64_t written)
{
    redis::Command command(scripts::touch_account(), 1);
    command.key(schema_.account_state(account));
    if (written != 0) {
        command.arg(written);
    }
    if (redis_.run_script(std::move(command)).integer() == 0) {
        throw AdministrationError(
            "the limits are being moved to another Redis, or were moved");
    }
}

AccountUsage AccountAdministration::usage(std::string_view account)
{
    const redis::Reply& seen = redis_.transaction({
        redis::Command("GET").key(schema_.account_state(account)),
        redis::Command("GET").key(schema_.strikes(account)),
        redis::Command("GET").key(schema_.bans(account)),
        redis::Command("TIME"),
    });
    if (seen.size() != 4 || seen[3].size() != 2) {
        throw AdministrationError("unexpected reply of Redis to EXEC");
    }
    const api::Millis now =
        number_of(seen[3][0]) * 1000 + number_of(seen[3][1]) / 1000;

    AccountUsage usage;
    usage.strikes = number_of(seen[1]);
    usage.bans = number_of(seen[2]);
    if (seen[0].is(redis::Type::nil)) {
        return usage;
    }
    const auto state = AccountState::decode(seen[0].text());
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
    return redis_.run_script(std::move(command)).integer() == 1;
}

}  // namespace petstore::store
