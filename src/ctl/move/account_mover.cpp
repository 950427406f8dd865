#include "account_mover.h"

#include <utility>

#include "../../api/plan.h"
#include "../../api/usage.h"
#include "../../store/scripts.h"
#include "../exit.h"

namespace petstore::ctl {

namespace {

constexpr std::size_t kAccountsAtOnce = 128;
constexpr std::int64_t kKeepSeconds = api::kUsageKeptOfDay * api::kDaySeconds;

// What take_account.lua replies.
enum TakenField : std::size_t {
    kRenamedNow,
    kState,
    kStrikes = kState + 2,
    kBans = kStrikes + 2,
    kUsageOfMonths = kBans + 2,  // of the first month
};

bool is_usage(std::string_view suffix)
{
    constexpr std::string_view kUsagePrefix = "usage:";
    constexpr std::size_t kMonthSize = 6;  // "203012"
    return suffix.size() == kUsagePrefix.size() + kMonthSize
           && suffix.starts_with(kUsagePrefix);
}

}  // namespace

std::size_t AccountMover::run()
{
    name_months();
    Found found = find(source_);
    Found there = find(destination_);
    remove_stale(found, there);
    copied_ = std::move(there.states);
    found.states.merge(found.renamed);
    found.states.merge(found.used);
    std::vector<std::string> accounts;
    for (const std::string& id : found.states) {
        accounts.push_back(id);
        if (accounts.size() == kAccountsAtOnce) {
            move(accounts);
            accounts.clear();
        }
    }
    move(accounts);
    rename_back(find(destination_).renamed);
    return found.states.size();
}

// A usage is kept for kUsageKept after its month. The next month may begin
// meanwhile, or by the clock of another server.
void AccountMover::name_months()
{
    const api::Day today = api::day_of(time_of(source_));
    const api::Day last = api::first_of_next_month(today);
    const api::Day oldest = api::first_of_month(today - api::kUsageKept);
    for (api::Day month = api::first_of_month(oldest - 1); month <= last;
         month = api::first_of_next_month(month)) {
        months_.push_back(api::month_of(month));
    }
}

// A scan finds every key that exists from its start to its end, and no states
// are created meanwhile, so this finds all of them.
AccountMover::Found AccountMover::find(RedisSession& redis)
{
    Found found;
    each_key(redis, schema_.account_pattern(), [&](std::string_view name) {
        const auto key = schema_.parse_account_key(name);
        if (key && key->suffix == "state") {
            found.states.emplace(key->account);
        } else if (key && key->suffix == "moving") {
            found.renamed.emplace(key->account);
        } else if (key && (key->suffix == "strikes" || key->suffix == "bans")) {
            found.counted.emplace(key->account);
        } else if (key && is_usage(key->suffix)) {
            found.used.emplace(key->account);
        }
    });
    return found;
}

// Removes what interrupted moves left at the destination and the account no
// longer has. While the source has an account's state, that is all there is of
// the account. Without a state, strikes and bans are those of a copy that was
// not completed, unless the state is renamed and will get its name back.
void AccountMover::remove_stale(const Found& here, const Found& there)
{
    Ids candidates = there.counted;
    candidates.insert(there.renamed.begin(), there.renamed.end());
    for (const std::string& id : candidates) {
        const bool replaced = here.states.count(id) != 0;
        if (!replaced
            && (there.states.count(id) != 0 || there.renamed.count(id) != 0)) {
            continue;
        }
        redis::Command remove("DEL");
        remove.key(schema_.strikes(id)).key(schema_.bans(id));
        if (replaced) {
            remove.key(schema_.moving_state(id));
        }
        send_batched(destination_, remove, kAccountsAtOnce);
    }
    destination_.receive_all();
}

void AccountMover::move(const std::vector<std::string>& accounts)
{
    for (const std::string& id : accounts) {
        redis::Command take(store::scripts().take_account, 4 + months_.size());
        name_keys(id, take);
        take.use_script_text();
        source_.send(take);
    }
    std::vector<redis::Command> states;
    for (const std::string& id : accounts) {
        copy(id, source_.receive(), states);
    }
    receive_copies();
    // Only once all else is stored: the next move takes an account whose state
    // is here for copied, and deletes the rest of it at the source.
    for (const redis::Command& state : states) {
        destination_.send(state);
    }
    receive_copies();
    for (const std::string& id : accounts) {
        redis::Command remove("DEL");
        remove.key(schema_.moving_state(id));
        remove.key(schema_.strikes(id)).key(schema_.bans(id));
        append_usage_keys(id, remove);
        source_.send(remove);
    }
    source_.receive_all();
}

void AccountMover::receive_copies()
{
    while (destination_.due() > 0) {
        destination_.receive_naming_key();
    }
}

// The reply is a number if a key of the account holds another type.
void AccountMover::refuse_damaged(const std::string& account,
                                  const redis::Reply& taken) const
{
    if (!taken.is(redis::Type::integer)) {
        return;
    }
    redis::Command keys("");
    name_keys(account, keys);
    const auto names = keys.argv();
    const auto number = static_cast<std::size_t>(taken.integer());
    throw Failure(
        "the Redis key "
        + (number < names.size() ? std::string(names[number])
                                 : "of account " + account)
        + " is damaged: it holds another type; repair it, then run the command again");
}

// Sends all but the state, which it adds to `states`.
void AccountMover::copy(const std::string& account, const redis::Reply& taken,
                        std::vector<redis::Command>& states)
{
    refuse_damaged(account, taken);
    if (taken.size() != kUsageOfMonths + 2 * months_.size()) {
        throw Failure("unexpected reply of Redis to take_account.lua");
    }
    // Do not change the copy of an earlier move: workers may have used it. All
    // else was copied before its state, or is over.
    const bool keep = taken[kRenamedNow].integer() == 0;
    if (keep && copied_.count(account) != 0) {
        return;
    }
    std::vector<redis::Command> rest;
    const auto put = [&](std::vector<redis::Command>& commands,
                         const std::string& name, std::size_t field) {
        if (taken[field].is(redis::Type::nil)) {
            return;
        }
        redis::Command set("SET");
        set.key(name).own(taken[field].text());
        const std::int64_t expires = taken[field + 1].integer();
        if (expires > 0) {
            set.arg("PXAT").arg(expires);
        } else {
            set.arg("EX").arg(kKeepSeconds);  // edited by hand
        }
        if (keep) {
            set.arg("NX");
        }
        commands.push_back(std::move(set));
    };
    put(rest, schema_.strikes(account), kStrikes);
    put(rest, schema_.bans(account), kBans);
    put(states, schema_.account_state(account), kState);
    for (const redis::Command& command : rest) {
        destination_.send(command);
    }
    copy_usage(account, taken);
}

void AccountMover::copy_usage(const std::string& account,
                              const redis::Reply& taken)
{
    for (std::size_t i = 0; i < months_.size(); ++i) {
        const redis::Reply& fields = taken[kUsageOfMonths + 2 * i];
        if (fields.size() == 0) {
            continue;
        }
        const std::string name =
            schema_.usage(account, months_[i].year, months_[i].month);
        redis::Command set("HSET");
        set.key(name);
        for (std::size_t j = 0; j < fields.size(); ++j) {
            set.own(fields[j].text());
        }
        destination_.send(set);
        const std::int64_t expires =
            taken[kUsageOfMonths + 2 * i + 1].integer();
        destination_.send(
            expires > 0
                ? redis::Command("PEXPIREAT").key(name).arg(expires)
                : redis::Command("PEXPIRE").key(name).arg(kKeepSeconds * 1000));
    }
}

// Those of take_account.lua.
void AccountMover::name_keys(const std::string& account,
                             redis::Command& command) const
{
    command.key(schema_.account_state(account))
        .key(schema_.moving_state(account))
        .key(schema_.strikes(account))
        .key(schema_.bans(account));
    append_usage_keys(account, command);
}

void AccountMover::append_usage_keys(const std::string& account,
                                     redis::Command& command) const
{
    for (const api::YearMonth& month : months_) {
        command.key(schema_.usage(account, month.year, month.month));
    }
}

// Undoes what an interrupted move in the other direction left behind: a state
// that was not copied, or whose copy has just been moved back.
void AccountMover::rename_back(const Ids& accounts)
{
    for (const std::string& id : accounts) {
        const std::string moving = schema_.moving_state(id);
        destination_.call(redis::Command("RENAMENX")
                              .key(moving)
                              .own(schema_.account_state(id)));
        destination_.call(redis::Command("DEL").key(moving));
    }
}

}  // namespace petstore::ctl
