#include "account_store.h"

#include <algorithm>
#include <string>

#include "../api/text.h"
#include "../store/account_state.h"
#include "../store/script.h"
#include "exit.h"

namespace petstore::ctl {

namespace {

std::int64_t number_of(const resp::Reply& reply)
{
    if (reply.is(resp::Type::integer)) {
        return std::max<std::int64_t>(reply.integer(), 0);
    }
    return api::parse_int64(reply.text()).value_or(0);
}

}  // namespace

void AccountStore::touch(std::string_view account, std::int64_t written)
{
    const std::string state = schema_.account_state(account);
    redis_.run_script([&](bool eval) {
        auto command = store::call(store::scripts::touch_account(), 1, eval);
        command.arg(state);
        if (written != 0) {
            command.arg(written);
        }
        return command;
    });
}

AccountUsage AccountStore::usage(std::string_view account)
{
    const resp::Reply& seen = redis_.transaction({
        resp::Command("GET").own(schema_.account_state(account)),
        resp::Command("GET").own(schema_.strikes(account)),
        resp::Command("GET").own(schema_.bans(account)),
        resp::Command("TIME"),
    });
    if (seen.size() != 4 || seen[3].size() != 2) {
        throw Failure("unexpected reply of Redis to EXEC");
    }
    const api::Millis now =
        number_of(seen[3][0]) * 1000 + number_of(seen[3][1]) / 1000;

    AccountUsage usage;
    usage.strikes = number_of(seen[1]);
    usage.bans = number_of(seen[2]);
    if (seen[0].is(resp::Type::nil)) {
        return usage;
    }
    const auto state = store::AccountState::decode(seen[0].text());
    if (!state) {
        throw Failure("the state of account " + std::string(account)
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

bool AccountStore::unban(std::string_view account)
{
    return redis_
               .run_script([&](bool eval) {
                   return store::call(store::scripts::unban(), 3, eval)
                       .own(schema_.account_state(account))
                       .own(schema_.strikes(account))
                       .own(schema_.bans(account));
               })
               .integer()
           == 1;
}

}  // namespace petstore::ctl
