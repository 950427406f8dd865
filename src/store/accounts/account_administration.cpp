#include "account_administration.h"

#include <algorithm>
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

redis::Command get(const std::string& key)
{
    return std::move(redis::Command("GET").key(key));
}

class Now final : public Operation<AccountSteps, api::UnixTime> {
public:
    using Operation::Operation;

private:
    void start() override
    {
        now([this](api::Millis now) { finish(now / 1000); });
    }
};

class Usage final : public Operation<AccountSteps, AccountUsage> {
public:
    Usage(Waiter<AccountUsage>& waiter, redis::Link& accounts,
          const Schema& schema, std::string account)
        : Operation(waiter, accounts, schema), account_(std::move(account))
    {}

private:
    void start() override
    {
        ask(accounts_, get(schema_.strikes(account_)),
            [this](const redis::Reply& reply) {
                usage_.strikes = number_of(reply);
                read_bans();
            });
    }

    void read_bans()
    {
        ask(accounts_, get(schema_.bans(account_)),
            [this](const redis::Reply& reply) {
                usage_.bans = number_of(reply);
                now([this](api::Millis now) { read_state(now); });
            });
    }

    void read_state(api::Millis now)
    {
        ask(accounts_, get(schema_.account_state(account_)),
            [this, now](const redis::Reply& reply) { take(reply, now); });
    }

    void take(const redis::Reply& reply, api::Millis now)
    {
        if (reply.is(redis::Type::nil)) {
            return finish(usage_);
        }
        const auto state = AccountState::decode(reply.text());
        if (!state) {
            return refuse_damaged("the state of account " + account_
                                  + " is damaged");
        }
        if (state->minute_end > now) {
            usage_.minute = {state->minute_used, state->minute_end};
        }
        if (state->day_end > now) {
            usage_.day = {state->day_used, state->day_end};
        }
        if (state->ban_until > now) {
            usage_.banned_until = state->ban_until;
        }
        finish(usage_);
    }

    const std::string account_;
    AccountUsage usage_;
};

class Unban final : public Operation<AccountSteps, bool> {
public:
    Unban(Waiter<bool>& waiter, redis::Link& accounts, const Schema& schema,
          std::string account)
        : Operation(waiter, accounts, schema), account_(std::move(account))
    {}

private:
    void start() override
    {
        redis::Command command(scripts::unban(), 3);
        command.key(schema_.account_state(account_))
            .key(schema_.strikes(account_))
            .key(schema_.bans(account_));
        change(
            accounts_, std::move(command),
            [this](const redis::Reply& reply) {
                touch(account_, 0, NotInEffectAfter::any_failure,
                      [this, was_banned = reply.integer() == 1] {
                          finish(was_banned);
                      });
            },
            NotInEffectAfter::lost_reply);
    }

    const std::string account_;
};

}  // namespace

void AccountSteps::now(std::function<void(api::Millis)> next)
{
    ask(accounts_, redis::Command("TIME"),
        [next = std::move(next)](const redis::Reply& reply) {
            next(reply.size() == 2
                     ? number_of(reply[0]) * 1000 + number_of(reply[1]) / 1000
                     : 0);
        });
}

void AccountSteps::touch(const std::string& account, std::int64_t written,
                         NotInEffectAfter not_in_effect_after,
                         const std::function<void()>& next)
{
    redis::Command command(scripts::touch_account(), 1);
    command.key(schema_.account_state(account))
        .own(written == 0 ? "" : std::to_string(written));
    redis::Command checked = command;
    command.arg("");
    checked.arg("1");

    const auto elsewhere = [=] {
        refuse(Refusal::limits_elsewhere, api::ErrorCode::service_unavailable,
               "the limits are being moved to another Redis, or were moved",
               not_in_effect_after);
    };
    const auto touched = [elsewhere, next](const redis::Reply& reply) {
        reply.integer() == 0 ? elsewhere() : next();
    };
    const auto marker_read = [=](const redis::Reply& reply) {
        if (Schema::limits_elsewhere(reply.text())) {
            return elsewhere();
        }
        change(accounts_, checked, touched, not_in_effect_after);
    };
    change(
        accounts_, std::move(command),
        [=](const redis::Reply& reply) {
            if (reply.integer() < 0) {
                return ask(accounts_, get(schema_.limits_place()), marker_read,
                           not_in_effect_after);
            }
            touched(reply);
        },
        not_in_effect_after);
}

void AccountAdministration::now(Waiter<api::UnixTime>& waiter)
{
    run<Now>(running_, waiter, accounts_, schema_);
}

void AccountAdministration::usage(std::string account,
                                  Waiter<AccountUsage>& waiter)
{
    run<Usage>(running_, waiter, accounts_, schema_, std::move(account));
}

void AccountAdministration::unban(std::string account, Waiter<bool>& waiter)
{
    run<Unban>(running_, waiter, accounts_, schema_, std::move(account));
}

}  // namespace petstore::store
