// The limiter's scripts in a real Redis, compared with an independent model of
// docs/limits.md and docs/redis-keys.md.
//
// Redis's clock stands still while each account gets a call, and is then set
// forth or back. So every number and every expiry can be predicted exactly.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <sstream>

#include "api/text.h"
#include "as_text.h"
#include "catch.h"
#include "e2e/support/redis_server.h"
#include "redis_connection.h"
#include "store/accounts/account_state.h"
#include "store/accounts/limit_commands.h"
#include "store/scripts.h"

using namespace petstore;
using e2e::RedisServer;
using store::LimitCommands;

namespace {

using Number = std::int64_t;
using Numbers = std::vector<Number>;

constexpr Number kMinute = 60'000;
constexpr Number kDay = 86'400'000;
constexpr Number kKeep = 431 * kDay;
constexpr Number kPets = 7;
constexpr Number kChanges = 3;
constexpr Number kNoMonth = 0;

std::chrono::year_month_day date_of(Number day)
{
    return std::chrono::sys_days(std::chrono::days(day));
}

Number first_of_month(Number day)
{
    return day - static_cast<Number>(unsigned(date_of(day).day())) + 1;
}

std::string month_name(Number day)
{
    char text[16];
    const auto date = date_of(day);
    std::snprintf(text, sizeof(text), "%04d%02u", int(date.year()),
                  unsigned(date.month()));
    return text;
}

// When the usage of the day's month expires.
Number end_of_usage(Number day)
{
    return (first_of_month(day) + 431) * kDay;
}

// A key with an expiry; Redis keeps it up to and including that millisecond.
struct Counter {
    Number count = 0;
    Number end = 0;
};

// The numbers of an account's state, in the order of their storage.
enum Field {
    kEpoch,
    kUsualDay,
    kMinuteUsed,
    kMinuteEnd,
    kDayUsed,
    kDayEnd,
    kMonthUsed,
    kBanEnd,
    kUtcDay,
    kMonthBase,
    kFields
};

struct State {
    Numbers fields = Numbers(kFields, 0);
    std::string rest;  // of a later version
    Number end = 0;    // expiry of the Redis key

    Number& operator[](Field field) { return fields[field]; }
    Number operator[](Field field) const { return fields[field]; }

    Number running() const { return fields[kMonthUsed] - fields[kMonthBase]; }

    std::string bytes() const
    {
        std::string text;
        for (const Number number : fields) {
            store::append_numbers(text, {number});
        }
        return text;
    }
};

using Days = std::map<Number, Number>;  // UTC day → count

// The expected account.
struct Account {
    std::string id;
    api::Limits limits;
    api::BanPolicy policy;
    std::optional<State> state;
    std::optional<Counter> strikes;
    std::optional<Counter> bans;
    Days admitted;  // all units charged, less those whose record expired
    Days denied;
    std::deque<std::string> history;  // its latest calls

    // The hash of the usage in a month.
    std::map<std::string, std::string> usage(const std::string& month) const
    {
        std::map<std::string, std::string> fields;
        const auto add = [&](Number day, Number count, const char* suffix) {
            char name[8];
            std::snprintf(name, sizeof(name), "%02u%s",
                          unsigned(date_of(day).day()), suffix);
            if (count > 0 && month_name(day) == month) {
                fields[name] = std::to_string(count);
            }
        };
        for (const auto& [day, units] : admitted) {
            add(day, units - running_on(day), "");
        }
        for (const auto& [day, count] : denied) {
            add(day, count, "d");
        }
        return fields;
    }

    // Charged on that day, and still in the state.
    Number running_on(Number day) const
    {
        return state && (*state)[kUtcDay] == day ? state->running() : 0;
    }

    // All charged in a month.
    Number units_in(const std::string& month) const
    {
        Number sum = 0;
        for (const auto& [day, units] : admitted) {
            sum += month_name(day) == month ? units : 0;
        }
        return sum;
    }

    void lose_usage(const std::string& month)
    {
        for (auto& [day, units] : admitted) {
            units = month_name(day) == month ? running_on(day) : units;
        }
        std::erase_if(denied, [&](const auto& entry) {
            return month_name(entry.first) == month;
        });
        std::erase_if(admitted,
                      [](const auto& entry) { return entry.second == 0; });
    }

    void lose_state()
    {
        if (state && state->running() != 0
            && (admitted[(*state)[kUtcDay]] -= state->running()) == 0) {
            admitted.erase((*state)[kUtcDay]);
        }
        state.reset();
    }

    void expire(Number now)
    {
        for (auto* counter : {&strikes, &bans}) {
            if (*counter && now > (*counter)->end) {
                counter->reset();
            }
        }
        if (state && now > state->end) {
            lose_state();
        }
        for (const Days* days : {&admitted, &denied}) {
            std::set<std::string> months;
            for (const auto& [day, count] : *days) {
                if (now > end_of_usage(day)) {
                    months.insert(month_name(day));
                }
            }
            for (const auto& month : months) {
                lose_usage(month);
            }
        }
    }
};

enum class Kind { limit, strike, touch, unban, settle, reset, extend, forget };
const char* const kKinds[] = {"limit",  "strike", "touch",  "unban",
                              "settle", "reset",  "extend", "forget"};

struct Call {
    Kind kind = Kind::limit;
    Number epoch = 0;
    Number count = 0;  // requests or strikes
    Number cost = 1;
    Number all = 0;  // denials
    bool fresh = false;
};

// The part of a reply about one account.
struct Reply {
    Numbers numbers;  // without the state
    bool windows_only = false;
    std::string state;
};

// What an account is after a call, and the expected reply.
class Model {
public:
    Model(Account& account, Number now) : account_(account), now_(now) {}

    Reply apply(const Call& call)
    {
        switch (call.kind) {
        case Kind::limit:
            return limit(call);
        case Kind::strike:
            return strike(call);
        case Kind::touch:
            return touch();
        case Kind::unban:
            return unban();
        case Kind::settle:
        case Kind::reset:
            return settle(call.kind == Kind::reset);
        case Kind::extend:
            account_.state->rest += "later";
            return {{Number(80 + account_.state->rest.size())}, false, ""};
        case Kind::forget:
            account_.state.reset();
            account_.strikes.reset();
            account_.bans.reset();
            account_.admitted.clear();
            account_.denied.clear();
            return {{0}, false, ""};
        }
        return {};
    }

private:
    Number today() const { return now_ / kDay; }

    // A day in the state never goes back, unless it is more than a day ahead.
    Number day_of_charge() const
    {
        const auto& state = account_.state;
        const bool stays = state && (*state)[kUtcDay] == today() + 1;
        return today() + (stays ? 1 : 0);
    }

    void store(const State& state)
    {
        const auto rest = account_.state ? account_.state->rest : "";
        account_.state = state;
        account_.state->rest = rest;
        (*account_.state)[kUsualDay] = state[kBanEnd] ? 0 : state[kUtcDay];
        account_.state->end = now_ + kKeep;
    }

    // The usage of that day was written.
    void wrote(Number day)
    {
        if (end_of_usage(day) <= now_) {
            account_.lose_usage(month_name(day));
        }
    }

    // Limits ends after the clock was set back: no window ends later than one
    // opened now, and no ban later than one started now.
    void bring_back_ends()
    {
        State state = *account_.state;
        if (state[kBanEnd] <= now_) {
            state[kBanEnd] = 0;
        }
        const State before = state;
        state[kMinuteEnd] = std::min(state[kMinuteEnd], now_ + kMinute);
        state[kDayEnd] = std::min(state[kDayEnd], now_ + kDay);
        auto& bans = account_.bans;
        if (state[kBanEnd] && bans && bans->end - kDay > now_) {
            const Number length = state[kBanEnd] - (bans->end - kDay);
            state[kBanEnd] = now_ + length;
            bans->end = now_ + kDay;
        }
        if (state.fields != before.fields) {
            store(state);
        }
    }

    // What a reply shows: expired windows appear as if they opened now.
    State current(State state) const
    {
        if (state[kBanEnd] <= now_) {
            state[kBanEnd] = 0;
        }
        if (state[kMinuteEnd] <= now_) {
            state[kMinuteUsed] = 0;
            state[kMinuteEnd] = now_ + kMinute;
        }
        if (state[kDayEnd] <= now_) {
            state[kDayUsed] = 0;
            state[kDayEnd] = now_ + kDay;
        }
        const Number day = day_of_charge();
        if (day != state[kUtcDay]) {
            if (month_name(day) != month_name(state[kUtcDay])) {
                // Not 0 if the clock was once in that month.
                state[kMonthUsed] =
                    state[kUtcDay] > 0 ? account_.units_in(month_name(day)) : 0;
            }
            state[kMonthBase] = state[kMonthUsed];
            state[kUtcDay] = day;
        }
        state[kUsualDay] = state[kBanEnd] ? 0 : day;
        return state;
    }

    Reply decided(Number admitted, const std::string& state,
                  bool windows_only = false) const
    {
        return {{now_, kPets, kChanges, admitted}, windows_only, state};
    }

    Reply limit(const Call& call)
    {
        const auto before = account_.state;
        State base = before.value_or(State{});
        Number known = call.epoch;
        if (!before) {
            // Never the caller's epoch, not even one just read.
            base[kEpoch] = now_ * 1000;
            if (call.fresh) {
                known = base[kEpoch];
            } else {
                store(base);
            }
        }
        if (known != base[kEpoch]) {
            return decided(-1, base.bytes() + base.rest);
        }
        if (before) {
            bring_back_ends();
            base = *account_.state;
        }
        State next = current(base);
        const api::Limits& limits = account_.limits;
        Number left = std::min(limits.minute - next[kMinuteUsed],
                               limits.day - next[kDayUsed]);
        if (limits.month != kNoMonth) {
            left = std::min(left, limits.month - next[kMonthUsed]);
        }
        Number admitted = 0;
        while (!next[kBanEnd] && admitted < call.count
               && (admitted + 1) * call.cost <= left) {
            ++admitted;
        }
        for (const Field field : {kMinuteUsed, kDayUsed, kMonthUsed}) {
            next[field] += admitted * call.cost;
        }
        const bool usual = before && admitted == call.count
                           && (*before)[kUsualDay] == today()
                           && next[kDayEnd] == (*before)[kDayEnd]
                           && (next[kMinuteEnd] == (*before)[kMinuteEnd]
                               || (*before)[kMinuteEnd] <= now_);
        if (admitted > 0) {
            const Number end = base.end;
            const bool new_day = base[kUtcDay] != next[kUtcDay];
            store(next);
            account_.admitted[next[kUtcDay]] += admitted * call.cost;
            if (!new_day) {
                account_.state->end = end;
            } else if (base.running() > 0) {
                wrote(base[kUtcDay]);
            }
        }
        return decided(admitted, next.bytes(), usual);
    }

    Reply strike(const Call& call)
    {
        if (!account_.state) {
            return {{-1, 0, now_}, false, ""};
        }
        if (call.all > 0) {
            account_.denied[day_of_charge()] += call.all;
        }
        if (call.epoch != (*account_.state)[kEpoch]) {
            return {{-1, 0, now_},
                    false,
                    account_.state->bytes() + account_.state->rest};
        }
        bring_back_ends();
        State next = current(*account_.state);
        auto& counter = account_.strikes;
        Number strikes = 0;
        bool new_ban = false;
        if (!next[kBanEnd] && call.count == 0) {
            strikes = counter ? counter->count : 0;
        } else if (!next[kBanEnd]) {
            const auto& policy = account_.policy;
            strikes = (counter ? counter->count : 0) + call.count;
            const bool first = strikes == call.count;
            const Number latest = now_ + policy.window * 1000;
            counter = Counter{strikes,
                              first ? latest : std::min(counter->end, latest)};
            if (strikes > policy.threshold_for(account_.limits.minute)) {
                new_ban = true;
                auto& bans = account_.bans;
                bans = Counter{(bans ? bans->count : 0) + 1, now_ + kDay};
                Number seconds = policy.duration;
                for (Number i = 1; i < bans->count && seconds < policy.max;
                     ++i) {
                    seconds *= 2;
                }
                next[kBanEnd] = now_ + std::min(seconds, policy.max) * 1000;
                next[kUsualDay] = 0;
                State banned = *account_.state;
                banned[kBanEnd] = next[kBanEnd];
                store(banned);
                counter.reset();
            }
        }
        return {{strikes, new_ban ? 1 : 0, now_}, false, next.bytes()};
    }

    Reply touch()
    {
        auto& state = account_.state;
        Number epoch = now_ * 1000;
        if (state) {
            epoch = std::max(epoch, (*state)[kEpoch] + 1);
        } else {
            state = State{};
        }
        (*state)[kEpoch] = epoch;
        state->end = std::max(state->end, now_ / 1000 * 1000 + kKeep);
        return {{epoch}, false, ""};
    }

    Reply unban()
    {
        auto& state = account_.state;
        const bool was = state && (*state)[kBanEnd] > now_;
        if (state) {
            (*state)[kBanEnd] = 0;
        }
        account_.strikes.reset();
        account_.bans.reset();
        return {{was ? 1 : 0}, false, ""};
    }

    Reply settle(bool reset)
    {
        auto& state = account_.state;
        if (!state) {
            return {{0}, false, ""};
        }
        const bool moved = state->running() > 0;
        if (reset) {
            for (const Field field :
                 {kMinuteUsed, kMinuteEnd, kDayUsed, kDayEnd, kMonthUsed}) {
                (*state)[field] = 0;
            }
        }
        (*state)[kMonthBase] = (*state)[kMonthUsed];
        state->end = now_ + kKeep;
        if (moved) {
            wrote((*state)[kUtcDay]);
        }
        return {{1}, false, ""};
    }

    Account& account_;
    const Number now_;
};

// A clock for Redis that stands still.
class StoppedClock {
public:
    void set(Number ms)
    {
        now_ = ms;
        e2e::write_file(dir_ / "new", "=" + std::to_string(ms));
        std::rename((dir_ / "new").c_str(), (dir_ / "clock").c_str());
    }
    Number now() const { return now_; }

    std::vector<std::pair<std::string, std::string>> env() const
    {
        return {{"LD_PRELOAD", E2E_FAKE_CLOCK}, {"FAKE_CLOCK", dir_ / "clock"}};
    }

private:
    e2e::TempDir dir_;
    Number now_ = 0;
};

class Machine {
public:
    Machine(unsigned seed, LimitCommands::Accounts where)
        : random_(seed), redis_(started(clock_)), connection_(redis_.socket()),
          schema_("model"),
          in_cluster_(where == LimitCommands::Accounts::cluster),
          limiter_(schema_,
                   in_cluster_ ? LimitCommands::Catalogue::elsewhere
                               : LimitCommands::Catalogue::here,
                   where)
    {
        redis_.command({"SET", schema_.pet_count(), std::to_string(kPets)});
        redis_.command({"SET", schema_.changes(), std::to_string(kChanges)});
        for (int i = 0; i < 100; ++i) {
            Account account;
            account.id = "account" + std::to_string(i);
            plan(account);
            accounts_.push_back(account);
        }
    }

    // Pipelines one call per account, or limiter calls for several accounts,
    // all at one time. Returns the number of calls.
    int step()
    {
        turn_clock();
        std::shuffle(accounts_.begin(), accounts_.end(), random_);
        std::vector<Call> calls;
        for (auto& account : accounts_) {
            account.expire(clock_.now());
            calls.push_back(choose(account));
        }
        std::vector<std::size_t> ends;  // ends of the groups
        for (std::size_t from = 0; from < calls.size(); from = ends.back()) {
            std::size_t to = from + 1;
            const auto most = static_cast<std::size_t>(pick(1, 6));
            while (calls[from].kind == Kind::limit && to < calls.size()
                   && calls[to].kind == Kind::limit && to - from < most) {
                ++to;
            }
            if (to - from >= 4 && chance(60)) {
                make_alike(calls, from, to);
            }
            ends.push_back(to);
            send(calls, from, to);
        }
        std::size_t from = 0;
        for (const auto to : ends) {
            receive(calls, from, to);
            from = to;
        }
        if (++steps_ % 20 == 0) {
            for (const auto& account : accounts_) {
                check_ledger(account);
            }
        }
        return static_cast<int>(calls.size());
    }

    std::map<std::string, int> seen;  // number of calls per outcome

private:
    static RedisServer started(StoppedClock& clock)
    {
        clock.set(1'921'924'800'123);  // 2030-11-26
        return RedisServer({"appendonly no"}, RedisServer::Start::now,
                           clock.env());
    }

    Number pick(Number from, Number to)
    {
        return std::uniform_int_distribution<Number>(from, to)(random_);
    }

    bool chance(int percent) { return pick(1, 100) <= percent; }

    template <std::size_t Size>
    Number one_of(const Number (&numbers)[Size])
    {
        return numbers[pick(0, Size - 1)];
    }

    void plan(Account& account)
    {
        // A float would round the last one.
        static const api::Limits plans[] = {{60, 1000, kNoMonth},
                                            {300, 10'000, 50'000},
                                            {16'777'217, 33'554'435, kNoMonth}};
        account.limits = chance(20)
                             ? plans[pick(0, 2)]
                             : api::Limits{pick(1, 20), pick(1, 60),
                                           chance(50) ? pick(1, 120) : 0};
        account.policy.threshold = pick(1, 15);
        account.policy.window = pick(1, 120);
        account.policy.duration = pick(1, 600);
        account.policy.max = account.policy.duration * pick(1, 12);
    }

    Call choose(Account& account)
    {
        if (chance(1)) {
            plan(account);  // like an operator's change
        }
        Call call;
        call.epoch = account.state ? (*account.state)[kEpoch] : pick(0, 1);
        if (chance(4)) {
            call.epoch = pick(0, 3);
        }
        const bool banned =
            account.state && (*account.state)[kBanEnd] > clock_.now();
        const auto dice = banned && chance(6) ? 190 : pick(1, 200);
        if (dice <= 140) {
            call.kind = Kind::limit;
            // The model decides on each request alone.
            call.count =
                chance(60)
                    ? 1
                    : pick(1, std::min<Number>(account.limits.minute, 300) + 5);
            call.cost = chance(70) ? 1 : pick(2, 9);
            call.fresh = !in_cluster_ && chance(50);
        } else if (dice <= 180) {
            call.kind = Kind::strike;
            call.count = pick(0, 12);
            call.all = call.count + (chance(50) ? pick(0, 5) : 0);
        } else if (dice <= 185) {
            call.kind = Kind::touch;
        } else if (dice <= 190) {
            call.kind = Kind::unban;
        } else if (dice <= 194) {
            call.kind = Kind::settle;
        } else if (dice <= 198) {
            call.kind = Kind::reset;
        } else if (dice == 199 && account.state
                   && account.state->rest.size() < 20) {
            call.kind = Kind::extend;
        } else {
            call.kind = Kind::forget;
        }
        return call;
    }

    // Requests with the same numbers are packed in another way.
    void make_alike(std::vector<Call>& calls, std::size_t from, std::size_t to)
    {
        ++seen["accounts alike"];
        for (auto i = from + 1; i < to; ++i) {
            accounts_[i].limits = accounts_[from].limits;
            calls[i].count = calls[from].count;
            calls[i].cost = calls[from].cost;
        }
    }

    // By a moment or a while, until about some end, day or month, or back.
    void turn_clock()
    {
        static const Number whiles[] = {1,      999,    1000,   5000,
                                        29'000, 59'999, 60'000, 3'600'000};
        static const Number back[] = {1,         1000,      59'000,
                                      3'600'000, kDay - 1,  kDay + 1,
                                      2 * kDay,  33 * kDay, 100 * kDay};
        Number now = clock_.now();
        const auto dice = pick(1, 100);
        if (dice <= 40) {
            now += one_of(whiles);
        } else if (dice <= 65) {
            now = std::max(some_end() + pick(-2, 2), now + 1);
        } else if (dice <= 80) {
            now = (now / kDay + 1) * kDay + pick(-2, 2);
        } else if (dice <= 85) {
            now = first_of_month(first_of_month(now / kDay) + 31) * kDay
                  + pick(-2, 2);
        } else if (dice <= 97) {
            now -= one_of(back) + pick(0, 1000);
        } else {
            now += pick(1, 40) * kDay;
        }
        if (steps_ % 200 == 199) {
            now += 431 * kDay + pick(-3, 3) * kDay;  // states and usage expire
        }
        clock_.set(now);
        do {  // Valkey 9 reads the clock only now and then
            ask(redis::Command("TIME"));
        } while (receive_time() != now);
        // Deletes expired keys, which would else exist again once the clock
        // is set back.
        ask(redis::Command("SCAN").arg("0").arg("COUNT").arg(
            Number{1'000'000}));
        connection_.get();
    }

    // Of a window, ban or counter.
    Number some_end()
    {
        const auto& account = accounts_[static_cast<std::size_t>(pick(0, 99))];
        Numbers ends = {clock_.now() + 1};
        for (const auto& counter : {account.strikes, account.bans}) {
            if (counter) {
                ends.push_back(counter->end);
            }
        }
        for (const Field field : {kBanEnd, kMinuteEnd, kDayEnd}) {
            if (account.state && (*account.state)[field]) {
                ends.push_back((*account.state)[field]);
            }
        }
        return ends[static_cast<std::size_t>(pick(0, Number(ends.size()) - 1))];
    }

    void ask(const redis::Command& command) { connection_.append(command); }

    void send(const std::vector<Call>& calls, std::size_t from, std::size_t to)
    {
        if (calls[from].kind == Kind::limit) {
            std::vector<store::LimitRequest> requests;
            for (auto i = from; i < to; ++i) {
                requests.push_back({accounts_[i].id, calls[i].epoch,
                                    accounts_[i].limits, calls[i].count,
                                    calls[i].cost, calls[i].fresh,
                                    in_cluster_});
            }
            ask(as_text(limiter_.decide(requests)));
        } else {
            send(accounts_[from], calls[from]);
        }
        for (auto i = from; i < to; ++i) {
            for (const auto& name : names(accounts_[i].id)) {
                ask(redis::Command("PEXPIRETIME").key(name));
            }
            ask(redis::Command("GET").key(
                schema_.account_state(accounts_[i].id)));
            for (const auto& month : months_of(accounts_[i])) {
                ask_usage(accounts_[i], month);
            }
        }
    }

    // Those that a call may write.
    std::set<std::string> months_of(const Account& account) const
    {
        const Number today = clock_.now() / kDay;
        std::set<std::string> months = {month_name(today),
                                        month_name(today + 1)};
        if (const auto kept = used_days_.find(account.id);
            kept != used_days_.end()) {
            months.insert(month_name(kept->second));
        }
        return months;
    }

    std::string usage_name(const Account& account,
                           const std::string& month) const
    {
        return "model:{" + account.id + "}:usage:" + month;
    }

    void ask_usage(const Account& account, const std::string& month)
    {
        ask(redis::Command("HGETALL").own(usage_name(account, month)));
        ask(redis::Command("PEXPIRETIME").own(usage_name(account, month)));
    }

    void send(const Account& account, const Call& call)
    {
        const auto& id = account.id;
        const auto state = schema_.account_state(id);
        switch (call.kind) {
        case Kind::limit:
            break;
        case Kind::strike:
            ask(as_text(limiter_.report_denials(
                id, call.epoch, {call.all, call.count, account.limits.minute},
                account.policy)));
            break;
        case Kind::touch:
            ask(as_text(redis::Command(store::scripts().touch_account, 1)
                            .own(state)
                            .arg("")
                            .arg("")
                            .arg("")));
            break;
        case Kind::unban:
            ask(as_text(redis::Command(store::scripts().unban, 3)
                            .own(state)
                            .own(schema_.strikes(id))
                            .own(schema_.bans(id))));
            break;
        case Kind::settle:
        case Kind::reset:
            ask(as_text(redis::Command(store::scripts().settle_usage, 1)
                            .own(state)
                            .arg(call.kind == Kind::reset ? "1" : "0")));
            break;
        case Kind::extend:
            ask(redis::Command("APPEND").own(state).arg("later"));
            break;
        case Kind::forget:
            ask(redis::Command("EVAL")
                    .arg("for _, key in ipairs(redis.call('KEYS', ARGV[1])) do"
                         " redis.call('DEL', key) end return 0")
                    .arg(Number(0))
                    .own("model:{" + id + "}:*"));
            break;
        }
    }

    std::vector<std::string> names(const std::string& id) const
    {
        return {schema_.account_state(id), schema_.strikes(id),
                schema_.bans(id)};
    }

    Number receive_time()
    {
        const auto& reply = connection_.get();
        return *api::parse_int64(reply[0].text()) * 1000
               + *api::parse_int64(reply[1].text()) / 1000;
    }

    // Splits a limiter's reply into the accounts and the trailer.
    std::vector<Reply> limit_replies(const redis::Reply& reply,
                                     std::size_t accounts)
    {
        constexpr std::size_t kWindows = store::AccountState::kWindowsSize;
        std::vector<Reply> copies(accounts);
        std::string_view end;
        if (reply.is(redis::Type::string)) {
            REQUIRE(reply.text().size() > accounts * kWindows);
            for (std::size_t i = 0; i < accounts; ++i) {
                copies[i].windows_only = true;
                copies[i].state = reply.text().substr(i * kWindows, kWindows);
            }
            end = reply.text().substr(accounts * kWindows);
        } else {
            REQUIRE(reply.size() == accounts + 1);
            bool all_usual = true;
            for (std::size_t i = 0; i < accounts; ++i) {
                copies[i].windows_only = reply[i].is(redis::Type::string);
                all_usual = all_usual && copies[i].windows_only;
                if (copies[i].windows_only) {
                    copies[i].state = reply[i].text();
                } else {
                    REQUIRE(reply[i].size() == 2);
                    copies[i].numbers = {reply[i][0].integer()};
                    copies[i].state = reply[i][1].text();
                }
            }
            CHECK_FALSE(all_usual);
            end = reply[accounts].text();
        }
        const auto now = store::decode_number(end);
        REQUIRE(now);
        const auto version = version_of(end.substr(sizeof(double)));
        for (Reply& copy : copies) {
            copy.numbers.insert(copy.numbers.begin(),
                                {*now, version.count, version.changes});
        }
        return copies;
    }

    // A reply of the limiter covers several accounts.
    std::vector<Reply> receive_replies(const Call& call, std::size_t accounts)
    {
        const auto& reply = connection_.get();
        if (call.kind == Kind::limit) {
            return limit_replies(reply, accounts);
        }
        std::vector<Reply> copies(1);
        if (reply.is(redis::Type::array)) {
            REQUIRE(reply.size() == 4);
            for (std::size_t i = 0; i < 3; ++i) {
                copies[0].numbers.push_back(reply[i].integer());
            }
            copies[0].state = reply[3].text();
        } else {
            REQUIRE(reply.is(redis::Type::integer));
            copies[0].numbers.push_back(reply.integer());
        }
        return copies;
    }

    // In a Cluster, replies have no version. The lengths of its numbers come
    // first.
    store::Version version_of(std::string_view bytes) const
    {
        if (in_cluster_) {
            REQUIRE(bytes
                    == "\1\1"
                       "00");
            return {kPets, kChanges};
        }
        REQUIRE(bytes.size() > 2);
        const auto last_id = static_cast<std::size_t>(bytes[0]);
        const auto changes = static_cast<std::size_t>(bytes[1]);
        REQUIRE(bytes.size() == 2 + last_id + changes);
        return store::Version::parse(bytes.substr(2, last_id),
                                     bytes.substr(2 + last_id));
    }

    void receive(const std::vector<Call>& calls, std::size_t from,
                 std::size_t to)
    {
        const auto replies = receive_replies(calls[from], to - from);
        for (auto i = from; i < to; ++i) {
            Account& account = accounts_[i];
            const Account before = account;
            check_reply(account, calls[i], replies[i - from]);
            note(before, account, calls[i], replies[i - from]);
            check_end(account, "state",
                      account.state ? account.state->end : kGone);
            check_end(account, "strikes",
                      account.strikes ? account.strikes->end : kGone);
            check_end(account, "bans",
                      account.bans ? account.bans->end : kGone);
            const auto& state = connection_.get();
            if (state.text()
                != (account.state ? account.state->bytes() + account.state->rest
                                  : "")) {
                fail(account, "Redis keeps another state");
            }
            for (const auto& month : months_of(account)) {
                check_usage(account, month);
            }
            if (account.state) {
                used_days_[account.id] = (*account.state)[kUtcDay];
            }
        }
    }

    void check_reply(Account& account, const Call& call, const Reply& reply)
    {
        std::ostringstream line;
        line << kKinds[static_cast<int>(call.kind)] << ' ' << call.epoch << ' '
             << call.count << "×" << call.cost << (call.fresh ? " fresh" : "")
             << " at " << clock_.now() << " of " << account.limits.minute << '/'
             << account.limits.day << '/' << account.limits.month << " →";
        for (const auto number : reply.numbers) {
            line << ' ' << number;
        }
        line << (reply.windows_only ? " usual" : "");
        account.history.push_back(line.str());
        if (account.history.size() > 8) {
            account.history.pop_front();
        }
        const Reply expected = Model(account, clock_.now()).apply(call);
        auto numbers = reply.numbers;
        if (reply.windows_only) {
            numbers.push_back(call.count);
        }
        const auto state =
            reply.windows_only ? expected.state.substr(16, 40) : expected.state;
        if (numbers != expected.numbers || reply.state != state
            || reply.windows_only != expected.windows_only) {
            fail(account, "unexpected reply");
        }
    }

    void check_end(const Account& account, const char* what, Number expected)
    {
        const Number end = connection_.get().integer();
        if (end != expected) {
            fail(account, std::string(what) + " ends at " + std::to_string(end)
                              + ", not " + std::to_string(expected));
        }
    }

    // Returns the units admitted.
    Number check_usage(const Account& account, const std::string& month)
    {
        std::map<std::string, std::string> fields;
        const auto& reply = connection_.get();
        Number sum = 0;
        for (std::size_t i = 0; i + 1 < reply.size(); i += 2) {
            const std::string name(reply[i].text());
            fields[name] = reply[i + 1].text();
            sum +=
                name.size() == 2 ? *api::parse_int64(reply[i + 1].text()) : 0;
        }
        if (fields != account.usage(month)) {
            fail(account, "Redis has another usage in " + month);
        }
        const int year_and_month = std::atoi(month.c_str());
        const Number first =
            std::chrono::sys_days(
                std::chrono::year(year_and_month / 100)
                / std::chrono::month(unsigned(year_and_month % 100)) / 1)
                .time_since_epoch()
                .count();
        check_end(account, "usage",
                  fields.empty() ? kGone : end_of_usage(first));
        return sum;
    }

    // The usage of all months and the running day are what was admitted.
    void check_ledger(const Account& account)
    {
        std::set<std::string> months;
        for (const Days* days : {&account.admitted, &account.denied}) {
            for (const auto& [day, count] : *days) {
                months.insert(month_name(day));
            }
        }
        std::set<std::string> names;
        for (const auto& month : months) {
            if (!account.usage(month).empty()) {
                names.insert(usage_name(account, month));
            }
        }
        ask(redis::Command("KEYS").own(usage_name(account, "*")));
        std::set<std::string> kept;
        const auto& reply = connection_.get();
        for (std::size_t i = 0; i < reply.size(); ++i) {
            kept.emplace(reply[i].text());
        }
        if (kept != names) {
            std::string months = "Redis has the usage of other months:";
            for (const auto& name : kept) {
                months += ' ' + name;
            }
            for (const auto& name : names) {
                months += ", not " + name;
            }
            fail(account, months);
        }
        Number sum = account.state ? account.state->running() : 0;
        for (const auto& month : months) {
            ask_usage(account, month);
            sum += check_usage(account, month);
        }
        for (const auto& [day, units] : account.admitted) {
            sum -= units;
        }
        if (sum != 0) {
            fail(account, "the usage is not what was admitted");
        }
        ++seen["ledgers"];
        seen["months"] += static_cast<int>(names.size());
    }

    void note(const Account& before, const Account& after, const Call& call,
              const Reply& reply)
    {
        const auto& numbers = reply.numbers;
        const auto& was = before.state;
        const Number now = clock_.now();
        switch (call.kind) {
        case Kind::limit: {
            const Number admitted =
                reply.windows_only ? call.count : numbers.at(3);
            ++seen[admitted < 0                   ? "stale"
                   : admitted == call.count       ? "admitted"
                   : admitted > 0                 ? "partly admitted"
                   : was && (*was)[kBanEnd] > now ? "banned"
                                                  : "limited"];
            seen["new account"] += !was && admitted > 0;
            seen["windows alone"] += reply.windows_only;
            seen["windows alone, a new minute"] +=
                reply.windows_only && (*was)[kMinuteEnd] <= now;
            seen["windows alone, with a cost"] +=
                reply.windows_only && call.cost > 1;
            if (!was || admitted < 0) {
                break;
            }
            const Number day = (*was)[kUtcDay];
            const bool rolled = admitted > 0 && (*after.state)[kUtcDay] != day;
            seen["day moved into the usage"] += rolled && was->running() > 0;
            seen["month began"] +=
                rolled
                && month_name((*after.state)[kUtcDay]) != month_name(day);
            seen["month began with its usage"] +=
                rolled && day < now / kDay
                && month_name((*after.state)[kUtcDay]) != month_name(day)
                && (*after.state)[kMonthBase] > 0;
            seen["day went back"] += rolled && day > now / kDay;
            seen["day stayed ahead"] += admitted > 0 && day == now / kDay + 1;
            seen["limited by the month"] +=
                admitted < call.count && before.limits.month != kNoMonth
                && day == now / kDay
                && before.limits.month - (*was)[kMonthUsed]
                       < call.count * call.cost;
            seen["window brought back"] += (*was)[kMinuteEnd] > now + kMinute;
            seen["day brought back, denied"] +=
                (*was)[kDayEnd] > now + kDay && admitted == 0;
            seen["ban brought back"] +=
                (*was)[kBanEnd] > now
                && (*after.state)[kBanEnd] < (*was)[kBanEnd];
            break;
        }
        case Kind::strike:
            ++seen[numbers.at(0) < 0              ? "stale strike"
                   : numbers.at(1)                ? "new ban"
                   : was && (*was)[kBanEnd] > now ? "strike in a ban"
                                                  : "strike"];
            seen["longer ban"] += numbers.at(1) && before.bans;
            seen["window brought back by a strike"] +=
                was && numbers.at(0) >= 0 && (*was)[kMinuteEnd] > now + kMinute;
            break;
        case Kind::unban:
            ++seen[numbers.at(0) ? "unbanned" : "no ban to lift"];
            break;
        case Kind::settle:
        case Kind::reset:
            seen["settled"] += was && was->running() > 0;
            break;
        case Kind::touch:
        case Kind::extend:
            ++seen[kKinds[static_cast<int>(call.kind)]];
            break;
        case Kind::forget:
            break;
        }
    }

    [[noreturn]] void fail(const Account& account, const std::string& problem)
    {
        std::string text = account.id + ": " + problem + "\n";
        for (const auto& line : account.history) {
            text += line + "\n";
        }
        FAIL(text);
        std::abort();  // FAIL has thrown
    }

    static constexpr Number kGone = -2;  // what PEXPIRETIME returns

    std::mt19937 random_;
    StoppedClock clock_;
    RedisServer redis_;
    RedisConnection connection_;
    const store::Schema schema_;
    const bool in_cluster_;
    const LimitCommands limiter_;
    std::vector<Account> accounts_;
    std::map<std::string, Number> used_days_;  // of each account's state
    int steps_ = 0;
};

const char* const kOutcomes[] = {
    "admitted",
    "windows alone",
    "windows alone, a new minute",
    "windows alone, with a cost",
    "accounts alike",
    "partly admitted",
    "limited",
    "limited by the month",
    "banned",
    "stale",
    "strike",
    "stale strike",
    "strike in a ban",
    "new ban",
    "longer ban",
    "touch",
    "unbanned",
    "no ban to lift",
    "window brought back",
    "day brought back, denied",
    "ban brought back",
    "window brought back by a strike",
    "day moved into the usage",
    "month began",
    "month began with its usage",
    "day went back",
    "day stayed ahead",
    "settled",
    "extend",
    "ledgers",
    "months",
};

// Returns how often each outcome was seen.
std::map<std::string, int> check_calls(int count, LimitCommands::Accounts where)
{
    const auto seed = static_cast<unsigned>(
        std::atoi(e2e::env_or("PETSTORE_MODEL_SEED", "20301205").c_str()));
    INFO("PETSTORE_MODEL_SEED=" << seed);
    Machine machine(seed, where);
    for (int calls = 0; calls < count;) {
        calls += machine.step();
    }
    std::string counts;
    for (const auto& [what, times] : machine.seen) {
        counts += what + ": " + std::to_string(times) + "\n";
    }
    INFO(counts);
    for (const char* what : kOutcomes) {
        CAPTURE(what);
        CHECK(machine.seen[what] > count / 1000);
    }
    return machine.seen;
}

}  // namespace

TEST_CASE("model: 100,000 calls of the limiter's scripts")
{
    auto seen = check_calls(100'000, LimitCommands::Accounts::together);
    CHECK(seen["new account"] > 100);
}

// In one Redis, which holds all keys.
TEST_CASE("model: 20,000 calls of the limiter's scripts for a Cluster")
{
    auto seen = check_calls(20'000, LimitCommands::Accounts::cluster);
    CHECK(seen["new account"] == 0);  // such accounts are always reread
}
