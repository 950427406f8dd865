// The limiter's scripts in a real Redis, compared with an independent model of
// docs/limits.md.
//
// Moving all data of an account into the past simulates passing time: scripts
// use times only relative to now, so the effect is the same. Setting the clock
// back moves the data into the future. TIME before and after a call brackets
// its real time.
#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <random>
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
constexpr Number kLastId = 7;
constexpr Number kChanges = 3;

// The time span in which a call was executed.
struct Span {
    Number from = 0;
    Number to = 0;

    bool has(Number time) const { return from <= time && time <= to; }
};

// Placeholder for an expiry set by the current call.
constexpr Number kSetNow = 0;

// A key with an expiry; Redis keeps it up to and including that millisecond.
struct Counter {
    Number count = 0;
    Number end = kSetNow;
};

bool alive(const std::optional<Counter>& counter, Number now)
{
    return counter && now <= counter->end;
}

// The numbers of an account's state, in the order of their storage.
enum Field { kEpoch, kBanEnd, kMinuteUsed, kMinuteEnd, kDayUsed, kDayEnd };

struct State {
    Numbers fields = Numbers(6, 0);
    Number end = 0;  // expiry of the Redis key

    Number& operator[](Field field) { return fields[field]; }
    Number operator[](Field field) const { return fields[field]; }
};

// The expected account.
struct Account {
    std::string id;
    api::Limits limits;
    api::BanPolicy policy;
    std::optional<State> state;
    std::optional<Counter> strikes;
    std::optional<Counter> bans;
    std::deque<std::string> history;  // its latest calls
};

enum class Kind { limit, strike, touch, unban, pass, forget };

struct Call {
    Kind kind = Kind::limit;
    Number epoch = 0;
    Number count = 0;  // requests, strikes or milliseconds
    bool fresh = false;
};

// The part of a reply about one account.
struct Reply {
    Numbers numbers;  // without the state
    bool windows_only = false;
    std::optional<Numbers> state;

    std::string show() const
    {
        std::ostringstream text;
        for (const auto number : numbers) {
            text << number << ' ';
        }
        for (const auto number : state.value_or(Numbers{})) {
            text << number << ' ';
        }
        return text.str();
    }
};

// Computes the account after a call that Redis started at `begun` and that read
// the clock at `now`; nullopt if the reply contradicts that.
class Model {
public:
    Model(Account account, const Reply& reply, Span span, Number begun,
          Number now)
        : account_(std::move(account)), reply_(reply), span_(span), now_(now)
    {
        for (auto* counter : {&account_.strikes, &account_.bans}) {
            if (!alive(*counter, begun)) {
                counter->reset();
            }
        }
        if (account_.state && begun > account_.state->end) {
            account_.state.reset();
        }
    }

    std::optional<Account> apply(const Call& call)
    {
        bool good = false;
        switch (call.kind) {
        case Kind::limit:
            good = limit(call);
            break;
        case Kind::strike:
            good = strike(call);
            break;
        case Kind::touch:
            good = touch();
            break;
        case Kind::unban:
            good = unban();
            break;
        case Kind::pass:
        case Kind::forget:
            good = true;
            break;
        }
        return good ? std::optional<Account>(std::move(account_))
                    : std::nullopt;
    }

private:
    // Whether the epoch was derived from the current time, in microseconds.
    bool is_new_epoch(Number epoch) const { return span_.has(epoch / 1000); }

    // Limits ends after the clock was set back: no window ends later than one
    // opened now, and no ban later than one started now.
    void bring_back_ends()
    {
        State& state = *account_.state;
        const State before = state;
        state[kMinuteEnd] = std::min(state[kMinuteEnd], now_ + kMinute);
        state[kDayEnd] = std::min(state[kDayEnd], now_ + kDay);
        auto& bans = account_.bans;
        if (state[kBanEnd] > now_ && bans && bans->end - kDay > now_) {
            const Number length = state[kBanEnd] - (bans->end - kDay);
            state[kBanEnd] = now_ + length;
            bans->end = kSetNow;
        }
        if (state.fields != before.fields) {
            state.end = kSetNow;
        }
    }

    // The state in the reply: expired windows appear as if they opened now.
    State current() const
    {
        State state = *account_.state;
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
        return state;
    }

    bool limit(const Call& call)
    {
        const auto& numbers = reply_.numbers;
        if (numbers.size() != 4 || !reply_.state || numbers[0] != now_
            || numbers[1] != kLastId || numbers[2] != kChanges) {
            return false;
        }
        const Number admitted = numbers[3];
        auto& state = account_.state;
        const auto before = state;
        auto known = call.epoch;
        if (!state) {
            state = State{};
            (*state)[kEpoch] = (*reply_.state)[kEpoch];
            state->end = kSetNow;
            // A new account never takes the caller's epoch, not even one just
            // read.
            if (!is_new_epoch((*state)[kEpoch])) {
                return false;
            }
            if (!call.fresh) {
                return admitted == -1 && *reply_.state == state->fields;
            }
            known = (*state)[kEpoch];
        }
        if (known != (*state)[kEpoch]) {
            return admitted == -1 && *reply_.state == state->fields;
        }
        const bool day_opens = (*state)[kDayEnd] <= now_;
        bring_back_ends();
        State next = current();
        const Number left = std::min(account_.limits.minute - next[kMinuteUsed],
                                     account_.limits.day - next[kDayUsed]);
        const Number expected =
            next[kBanEnd] ? 0 : std::clamp<Number>(left, 0, call.count);
        next[kMinuteUsed] += expected;
        next[kDayUsed] += expected;
        if (admitted != expected || *reply_.state != next.fields) {
            return false;
        }
        // Only the counts changed, and possibly a new minute began.
        const bool usual = expected == call.count && before && !day_opens
                           && (*before)[kBanEnd] == 0
                           && next[kDayEnd] == (*before)[kDayEnd]
                           && (next[kMinuteEnd] == (*before)[kMinuteEnd]
                               || (*before)[kMinuteEnd] <= now_);
        if (reply_.windows_only != usual) {
            return false;
        }
        if (admitted > 0) {
            if (day_opens) {
                next.end = kSetNow;
            }
            state = next;
        }
        return true;
    }

    bool strike(const Call& call)
    {
        const auto& numbers = reply_.numbers;
        auto& state = account_.state;
        if (numbers.size() != 3 || numbers[2] != now_) {
            return false;
        }
        if (!state || call.epoch != (*state)[kEpoch]) {
            return numbers[0] == -1 && numbers[1] == 0
                   && reply_.state
                          == (state ? std::optional(state->fields)
                                    : std::nullopt);
        }
        bring_back_ends();
        State next = current();
        Number strikes = 0;
        bool new_ban = false;
        if (!next[kBanEnd] && call.count == 0) {
            strikes = account_.strikes ? account_.strikes->count : 0;
        } else if (!next[kBanEnd]) {
            auto& counter = account_.strikes;
            const auto& policy = account_.policy;
            strikes = (counter ? counter->count : 0) + call.count;
            const bool first = strikes == call.count;
            const Number latest = now_ + policy.window * 1000;
            counter =
                Counter{strikes, first || counter->end > latest ? kSetNow
                                                                : counter->end};
            if (strikes > policy.threshold_for(account_.limits)) {
                new_ban = true;
                auto& bans = account_.bans;
                bans = Counter{(bans ? bans->count : 0) + 1, kSetNow};
                Number seconds = policy.duration;
                for (Number i = 1; i < bans->count && seconds < policy.max;
                     ++i) {
                    seconds *= 2;
                }
                next[kBanEnd] = now_ + std::min(seconds, policy.max) * 1000;
                (*state)[kBanEnd] = next[kBanEnd];
                state->end = next[kBanEnd] + 2 * kDay;
                counter.reset();
            }
        }
        return numbers[0] == strikes && numbers[1] == (new_ban ? 1 : 0)
               && reply_.state == next.fields;
    }

    bool touch()
    {
        auto& state = account_.state;
        if (reply_.numbers.size() != 1) {
            return false;
        }
        const Number epoch = reply_.numbers[0];
        const bool good =
            is_new_epoch(epoch) || (state && epoch == (*state)[kEpoch] + 1);
        if (!state) {
            state = State{};
        }
        (*state)[kEpoch] = epoch;
        state->end = std::max(state->end, now_ / 1000 * 1000 + 2 * kDay);
        return good;
    }

    bool unban()
    {
        auto& state = account_.state;
        const bool was = state && (*state)[kBanEnd] > now_;
        if (state) {
            (*state)[kBanEnd] = 0;
        }
        account_.strikes.reset();
        account_.bans.reset();
        return reply_.numbers == Numbers{was ? 1 : 0};
    }

    Account account_;
    const Reply& reply_;
    const Span span_;
    const Number now_;
};

class Machine {
public:
    Machine(unsigned seed, LimitCommands::Accounts where)
        : random_(seed), connection_(redis_.socket()), schema_("model"),
          in_cluster_(where == LimitCommands::Accounts::cluster),
          limiter_(schema_,
                   in_cluster_ ? LimitCommands::Catalogue::elsewhere
                               : LimitCommands::Catalogue::here,
                   where)
    {
        redis_.command({"SET", schema_.pet_count(), std::to_string(kLastId)});
        redis_.command({"SET", schema_.changes(), std::to_string(kChanges)});
        for (int i = 0; i < 200; ++i) {
            Account account;
            account.id = "account" + std::to_string(i);
            accounts_.push_back(account);
            plan(accounts_.back());
        }
    }

    // Pipelines one call per account, or limiter calls for several accounts.
    // Returns the number of calls.
    int step()
    {
        std::shuffle(accounts_.begin(), accounts_.end(), random_);
        std::vector<Call> calls;
        for (auto& account : accounts_) {
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
            ends.push_back(to);
            send(calls, from, to);
        }
        std::size_t from = 0;
        for (const auto to : ends) {
            receive(calls, from, to);
            from = to;
        }
        return static_cast<int>(calls.size());
    }

    std::map<std::string, int> seen;  // number of calls per outcome

private:
    Number pick(Number from, Number to)
    {
        return std::uniform_int_distribution<Number>(from, to)(random_);
    }

    bool chance(int percent) { return pick(1, 100) <= percent; }

    void plan(Account& account)
    {
        static const api::Limits plans[] = {{60, 1000}, {300, 10'000}};
        account.limits = chance(20) ? plans[pick(0, 1)]
                                    : api::Limits{pick(1, 20), pick(1, 60)};
        account.policy.threshold = pick(1, 30);
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
        const auto dice = pick(1, 100);
        if (dice <= 55) {
            call.kind = Kind::limit;
            call.count = chance(60) ? 1 : pick(1, account.limits.minute + 5);
            call.fresh = !in_cluster_ && chance(50);
        } else if (dice <= 80) {
            call.kind = Kind::strike;
            call.count = pick(0, 12);
        } else if (dice <= 82) {
            call.kind = Kind::touch;
        } else if (dice <= 84) {
            call.kind = Kind::unban;
        } else if (dice <= 85) {
            call.kind = Kind::forget;
        } else {
            call.kind = Kind::pass;
            call.count = step_of(account);
        }
        return call;
    }

    // A moment, a while, or until about some expiry. The account's next call
    // comes some milliseconds later.
    Number step_of(const Account& account)
    {
        static const Number whiles[] = {
            1, 999, 1000, 5000, 59'000, 60'000, 61'000, 300'000, 3'600'000};
        if (chance(50)) {
            return whiles[pick(0, std::size(whiles) - 1)];
        }
        // Setbacks of the clock: a moment, a window, many windows.
        static const Number back[] = {1,         1000,     59'000,    61'000,
                                      3'600'000, 2 * kDay, 400 * kDay};
        if (chance(40)) {
            return -back[pick(0, std::size(back) - 1)] - pick(0, 1000);
        }
        Numbers ends;
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
        if (ends.empty()) {
            return 1;
        }
        const auto end =
            ends[static_cast<std::size_t>(pick(0, Number(ends.size()) - 1))];
        return std::max<Number>(end - latest_ - pick(-3, 25), 1);
    }

    void ask(const redis::Command& command) { connection_.append(command); }

    void send(const std::vector<Call>& calls, std::size_t from, std::size_t to)
    {
        ask(redis::Command("TIME"));
        if (calls[from].kind == Kind::limit) {
            std::vector<store::LimitRequest> requests;
            for (auto i = from; i < to; ++i) {
                requests.push_back({accounts_[i].id, calls[i].epoch,
                                    accounts_[i].limits, calls[i].count,
                                    calls[i].fresh, in_cluster_});
            }
            ask(as_text(limiter_.decide(requests)));
        } else {
            send(accounts_[from], calls[from]);
        }
        ask(redis::Command("TIME"));
        for (auto i = from; i < to; ++i) {
            for (const auto& name : names(accounts_[i].id)) {
                ask(redis::Command("PEXPIRETIME").key(name));
            }
            ask(redis::Command("GET").key(
                schema_.account_state(accounts_[i].id)));
        }
        ask(redis::Command("TIME"));
    }

    void send(const Account& account, const Call& call)
    {
        const auto& id = account.id;
        switch (call.kind) {
        case Kind::limit:
            break;
        case Kind::strike:
            ask(as_text(limiter_.report_denials(
                id, call.epoch, call.count, account.limits, account.policy)));
            break;
        case Kind::touch:
            ask(as_text(redis::Command(store::scripts::touch_account(), 1)
                            .key(schema_.account_state(id))));
            break;
        case Kind::unban:
            ask(as_text(redis::Command(store::scripts::unban(), 3)
                            .key(schema_.account_state(id))
                            .key(schema_.strikes(id))
                            .key(schema_.bans(id))));
            break;
        case Kind::pass: {
            // Moves all data of the account `count` ms into the past.
            static const char* const text = R"(
                local step = tonumber(ARGV[1])
                local state = redis.call('GET', KEYS[1])
                if state then
                  local n = {struct.unpack('<dddddd', state)}
                  for _, i in ipairs({2, 4, 6}) do
                    if n[i] > 0 then n[i] = n[i] - step end
                  end
                  redis.call('SETRANGE', KEYS[1], 0, struct.pack('<dddddd',
                    n[1], n[2], n[3], n[4], n[5], n[6]))
                end
                for _, key in ipairs(KEYS) do
                  local ends = redis.call('PEXPIRETIME', key)
                  if ends > 0 then redis.call('PEXPIREAT', key, ends - step) end
                end
                return 0)";
            redis::Command command("EVAL");
            command.arg(text).arg(Number(3));
            for (const auto& name : names(id)) {
                command.key(name);
            }
            ask(command.arg(call.count));
            break;
        }
        case Kind::forget: {
            redis::Command command("DEL");
            for (const auto& name : names(id)) {
                command.key(name);
            }
            ask(command);
            break;
        }
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
        latest_ = *api::parse_int64(reply[0].text()) * 1000
                  + *api::parse_int64(reply[1].text()) / 1000;
        return latest_;
    }

    static std::optional<Numbers> state_of(std::string_view bytes)
    {
        const auto state = store::AccountState::decode(bytes);
        if (!state) {
            return std::nullopt;
        }
        return Numbers{state->epoch,      state->ban_until, state->minute_used,
                       state->minute_end, state->day_used,  state->day_end};
    }

    static Reply usual(std::string_view windows, const Call& call)
    {
        std::string bytes;
        store::append_numbers(bytes, {call.epoch, 0});
        Reply reply;
        reply.windows_only = true;
        reply.numbers = {call.count};
        reply.state = state_of(bytes.append(windows));
        return reply;
    }

    static Reply unusual(const redis::Reply& answer)
    {
        REQUIRE(answer.size() == 2);
        Reply reply;
        reply.numbers = {answer[0].integer()};
        reply.state = state_of(answer[1].text());
        return reply;
    }

    // Splits a limiter's reply into the accounts and the trailer.
    std::vector<Reply> limit_replies(const redis::Reply& reply,
                                     const std::vector<Call>& calls,
                                     std::size_t from, std::size_t accounts)
    {
        constexpr std::size_t kWindows = store::AccountState::kWindowsSize;
        std::vector<Reply> copies;
        std::string_view end;
        if (reply.is(redis::Type::string)) {
            const std::string_view text = reply.text();
            REQUIRE(text.size() > accounts * kWindows);
            for (std::size_t i = 0; i < accounts; ++i) {
                copies.push_back(usual(text.substr(i * kWindows, kWindows),
                                       calls[from + i]));
            }
            end = text.substr(accounts * kWindows);
        } else {
            REQUIRE(reply.size() == accounts + 1);
            bool all_usual = true;
            for (std::size_t i = 0; i < accounts; ++i) {
                const bool is_usual = reply[i].is(redis::Type::string);
                copies.push_back(is_usual
                                     ? usual(reply[i].text(), calls[from + i])
                                     : unusual(reply[i]));
                all_usual = all_usual && is_usual;
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
    std::vector<Reply> receive_replies(const std::vector<Call>& calls,
                                       std::size_t from, std::size_t to)
    {
        const std::size_t accounts = to - from;
        const Kind kind = calls[from].kind;
        const auto& reply = connection_.get();
        if (kind == Kind::limit) {
            return limit_replies(reply, calls, from, accounts);
        }
        std::vector<Reply> copies(accounts);
        if (reply.is(redis::Type::array)) {
            REQUIRE(reply.size() == 4);
            for (std::size_t i = 0; i < 3; ++i) {
                copies[0].numbers.push_back(reply[i].integer());
            }
            copies[0].state = state_of(reply[3].text());
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
            return {kLastId, kChanges};
        }
        REQUIRE(bytes.size() > 2);
        const auto last_id = static_cast<std::size_t>(bytes[0]);
        const auto changes = static_cast<std::size_t>(bytes[1]);
        REQUIRE(bytes.size() == 2 + last_id + changes);
        return store::Version::parse(bytes.substr(2, last_id),
                                     bytes.substr(2 + last_id));
    }

    // An account in Redis after a call.
    struct Kept {
        Numbers ends;  // expiry of its keys
        std::optional<Numbers> state;
    };

    void receive(const std::vector<Call>& calls, std::size_t from,
                 std::size_t to)
    {
        Span span;
        span.from = receive_time();
        const auto replies = receive_replies(calls, from, to);
        span.to = receive_time();
        std::vector<Kept> kept(to - from);
        for (auto& account : kept) {
            for (int i = 0; i < 3; ++i) {
                account.ends.push_back(connection_.get().integer());
            }
            account.state = state_of(connection_.get().text());
        }
        const Number after = receive_time();
        for (auto i = from; i < to; ++i) {
            check(accounts_[i], calls[i], replies[i - from], kept[i - from],
                  span, after);
        }
    }

    void check(Account& account, const Call& call, const Reply& reply,
               const Kept& kept, Span span, Number after)
    {
        static const char* const kinds[] = {"limit", "strike", "touch",
                                            "unban", "pass",   "forget"};
        std::ostringstream line;
        line << kinds[static_cast<int>(call.kind)] << ' ' << call.epoch << ' '
             << call.count << (call.fresh ? " fresh" : "") << " within "
             << span.from << "…" << span.to << " of " << account.limits.minute
             << '/' << account.limits.day << " → " << reply.show();
        account.history.push_back(line.str());
        if (account.history.size() > 8) {
            account.history.pop_front();
        }
        note(account, call, reply);

        if (call.kind == Kind::forget) {
            account.state.reset();
            account.strikes.reset();
            account.bans.reset();
        } else {
            account = expected(account, call, reply, span);
        }
        if (call.kind == Kind::pass) {
            move(account, call.count);
        }
        check_ends(account, call, kept.ends, span, after);
        if (account.state && kept.state
            && account.state->fields != *kept.state) {
            fail(account, "Redis keeps another state");
        }
    }

    // Redis reads the clock when a script starts, and again for TIME in the
    // script, so any pair of moments may be right.
    Account expected(const Account& account, const Call& call,
                     const Reply& reply, Span span)
    {
        for (Number begun = span.from; begun <= span.to; ++begun) {
            for (Number now = begun; now <= span.to; ++now) {
                auto next = Model(account, reply, span, begun, now).apply(call);
                if (next) {
                    return *next;
                }
            }
        }
        fail(account, "unexpected reply");
    }

    static void move(Account& account, Number step)
    {
        for (auto* counter : {&account.strikes, &account.bans}) {
            if (*counter) {
                (*counter)->end -= step;
            }
        }
        if (auto& state = account.state) {
            state->end -= step;
            for (const Field field : {kBanEnd, kMinuteEnd, kDayEnd}) {
                if ((*state)[field]) {
                    (*state)[field] -= step;
                }
            }
        }
    }

    // Checks the expiry of all keys. Learns those set by this call, which must
    // be `length` after it.
    void check_ends(Account& account, const Call& call, const Numbers& ends,
                    Span span, Number after)
    {
        const bool touched = call.kind == Kind::touch;
        const Number passed = call.kind == Kind::pass ? call.count : 0;
        const auto check = [&](const char* what, bool there, Number& expected,
                               Number actual, Number length) {
            if (!there) {
                if (actual != -2) {
                    fail(account, std::string(what) + " should not be there");
                }
                return false;
            }
            if (actual == -1) {
                fail(account, std::string(what) + " has no end");
            }
            if (actual == -2) {
                // Expired at this moment, or just before it was moved.
                if (expected != kSetNow
                    && std::min(expected, expected + passed) <= after) {
                    return false;
                }
                fail(account, std::string(what) + " is not there");
            }
            if (actual != expected) {
                const bool set = expected == kSetNow || touched;
                if (!set || !span.has(actual - length)) {
                    fail(account, std::string(what) + " has another end: "
                                      + std::to_string(actual) + ", not "
                                      + std::to_string(expected));
                }
                expected = actual;
            }
            return true;
        };
        const auto check_counter = [&](const char* what,
                                       std::optional<Counter>& counter,
                                       Number actual, Number length) {
            Number none = 0;
            if (!check(what, counter.has_value(), counter ? counter->end : none,
                       actual, length)) {
                counter.reset();
            }
        };
        check_counter("strikes", account.strikes, ends[1],
                      account.policy.window * 1000);
        check_counter("bans", account.bans, ends[2], kDay);

        Number none = 0;
        if (!check("state", account.state.has_value(),
                   account.state ? account.state->end : none, ends[0],
                   2 * kDay)) {
            account.state.reset();
        }
    }

    void note(const Account& account, const Call& call, const Reply& reply)
    {
        ++seen["calls"];
        const auto& numbers = reply.numbers;
        if (call.kind == Kind::limit) {
            const auto admitted = numbers.at(3);
            ++seen[admitted < 0               ? "stale"
                   : admitted == call.count   ? "admitted"
                   : admitted > 0             ? "partly admitted"
                   : reply.state->at(kBanEnd) ? "banned"
                                              : "limited"];
            if (!account.state && admitted > 0) {
                ++seen["new account"];
            }
            seen["windows alone"] += reply.windows_only;
            seen["windows alone, a new minute"] +=
                reply.windows_only
                && (*account.state)[kMinuteEnd] < reply.state->at(kMinuteEnd);
            if (account.state && admitted >= 0) {
                const auto moved = [&](Field end, Number latest) {
                    return (*account.state)[end] > latest
                           && reply.state->at(end) <= latest;
                };
                seen["window brought back"] +=
                    moved(kMinuteEnd, numbers.at(0) + kMinute);
                seen["day brought back, denied"] +=
                    moved(kDayEnd, numbers.at(0) + kDay) && admitted == 0;
                seen["ban brought back"] +=
                    reply.state->at(kBanEnd)
                    && reply.state->at(kBanEnd) < (*account.state)[kBanEnd];
            }
        } else if (call.kind == Kind::strike) {
            ++seen[numbers.at(0) < 0          ? "stale strike"
                   : numbers.at(1)            ? "new ban"
                   : reply.state->at(kBanEnd) ? "strike in a ban"
                                              : "strike"];
            if (account.state && numbers.at(0) >= 0) {
                seen["window brought back by a strike"] +=
                    (*account.state)[kMinuteEnd] > numbers.at(2) + kMinute;
                seen["ban brought back by a strike"] +=
                    !numbers.at(1) && reply.state->at(kBanEnd)
                    && reply.state->at(kBanEnd) < (*account.state)[kBanEnd];
            }
            if (numbers.at(1) && account.bans) {
                ++seen["longer ban"];
            }
        } else if (call.kind == Kind::touch) {
            ++seen["touched"];
        } else if (call.kind == Kind::unban) {
            ++seen[numbers.at(0) ? "unbanned" : "no ban to lift"];
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

    std::mt19937 random_;
    RedisServer redis_{{"appendonly no"}};
    RedisConnection connection_;
    const store::Schema schema_;
    const bool in_cluster_;
    const LimitCommands limiter_;
    std::vector<Account> accounts_;
    Number latest_ = 0;
};

const char* const kOutcomes[] = {
    "admitted",
    "windows alone",
    "windows alone, a new minute",
    "partly admitted",
    "limited",
    "banned",
    "stale",
    "strike",
    "stale strike",
    "strike in a ban",
    "new ban",
    "longer ban",
    "touched",
    "unbanned",
    "no ban to lift",
    "window brought back",
    "day brought back, denied",
    "ban brought back",
    "window brought back by a strike",
    "ban brought back by a strike",
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
        INFO(what);
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
TEST_CASE("model: 50,000 calls of the limiter's scripts for a Cluster")
{
    auto seen = check_calls(50'000, LimitCommands::Accounts::cluster);
    CHECK(seen["new account"] == 0);  // such accounts are always reread
}
