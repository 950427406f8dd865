// The scripts that decide on requests, the real ones in a real Redis, against a
// model of SPEC 3 that was written without looking at them.
//
// Time passes by moving everything that an account has in Redis into the past:
// scripts know times only relative to now, so that is the same. What is left of
// real time is bracketed by asking Redis for it before and after each call.
#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <sstream>

#include "api/text.h"
#include "catch.h"
#include "e2e/support/redis_server.h"
#include "resp/blocking_connection.h"
#include "store/limiter.h"

using namespace petstore;
using e2e::RedisServer;

namespace {

using Number = std::int64_t;
using Numbers = std::vector<Number>;

constexpr Number kMinute = 60'000;
constexpr Number kDay = 86'400'000;
constexpr Number kLastId = 7;
constexpr Number kChanges = 3;

// When a call was executed: not before, not after.
struct Span {
    Number from = 0;
    Number to = 0;

    bool has(Number time) const { return from <= time && time <= to; }
};

// Something with an end; Redis keeps it up to and including that millisecond.
struct Counter {
    Number count = 0;
    Number end = 0;
};

bool alive(const std::optional<Counter>& counter, Number now)
{
    return counter && now <= counter->end;
}

struct State {
    std::string epoch;
    Number ban_end = 0;  // 0: none, or one that nobody has cleared away
    Number end = 0;
};

// An account as it should be.
struct Account {
    std::string id;
    api::Limits limits;
    api::BanPolicy policy;
    std::optional<State> state;
    std::optional<Counter> minute;
    std::optional<Counter> day;
    std::optional<Counter> strikes;
    std::optional<Counter> bans;
    std::deque<std::string> history;  // what was done to it lately
};

enum class Kind { limit, strike, touch, unban, pass, forget };

struct Call {
    Kind kind = Kind::limit;
    std::string epoch;
    Number count = 0;  // of requests, of strikes, of milliseconds
    bool tell_time = false;
};

struct Reply {
    bool is_text = false;
    std::string text;
    Numbers numbers;  // one for an integer
};

std::string show(const Reply& reply)
{
    std::ostringstream text;
    if (reply.is_text) {
        text << '"' << reply.text << '"';
    }
    for (const auto number : reply.numbers) {
        text << number << ' ';
    }
    return text.str();
}

// What the account becomes by a call that Redis began at `begun` and that
// looked at the clock at `now`; nullopt where that is not what was answered.
class Model {
public:
    Model(Account account, const Reply& reply, Span span, Number begun,
          Number now)
        : account_(std::move(account)), reply_(reply), span_(span), now_(now)
    {
        for (auto* counter : {&account_.minute, &account_.day,
                              &account_.strikes, &account_.bans}) {
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
    bool is_text(const std::string& text) const
    {
        return reply_.is_text && reply_.text == text;
    }

    // An epoch made of the time in microseconds.
    bool is_new_epoch() const
    {
        const auto value = api::parse_int64(reply_.text);
        return reply_.is_text && value && span_.has(*value / 1000);
    }

    bool ban_runs() const { return account_.state->ban_end > now_; }

    // The end that was told for a window: its own; that of one opened by this
    // call; or what it would be for one opened now.
    bool window_end(std::optional<Counter>& window, bool opened, Number length,
                    Number told, Number told_now)
    {
        if (opened) {
            window->end = told;
            return span_.has(told - length);
        }
        return told == (window ? window->end : told_now + length);
    }

    bool limit(const Call& call)
    {
        auto& state = account_.state;
        if (!state) {
            state = State{reply_.text, 0, 0};
            return is_new_epoch();
        }
        if (call.epoch != state->epoch) {
            return is_text(state->epoch);
        }
        const bool banned = ban_runs();
        if (!banned) {
            state->ban_end = 0;
        }
        auto& minute = account_.minute;
        auto& day = account_.day;
        const Number left =
            std::min(account_.limits.minute - (minute ? minute->count : 0),
                     account_.limits.day - (day ? day->count : 0));
        const Number admitted =
            banned ? 0 : std::clamp<Number>(left, 0, call.count);
        const bool minute_opens = admitted > 0 && !minute;
        const bool day_opens = admitted > 0 && !day;
        if (admitted > 0) {
            minute = Counter{(minute ? minute->count : 0) + admitted,
                             minute ? minute->end : 0};
            day =
                Counter{(day ? day->count : 0) + admitted, day ? day->end : 0};
        }

        const auto& told = reply_.numbers;
        if (reply_.is_text || told.size() != 9) {
            return false;
        }
        const bool tells = call.tell_time || admitted < call.count;
        return told[0] == admitted && told[1] == (minute ? minute->count : 0)
               && told[2] == (day ? day->count : 0)
               && window_end(minute, minute_opens, kMinute, told[3], told[5])
               && window_end(day, day_opens, kDay, told[4], told[5])
               && (tells ? span_.has(told[5]) : told[5] == 0)
               && told[6] == (banned ? state->ban_end : 0) && told[7] == kLastId
               && told[8] == kChanges;
    }

    bool strike(const Call& call)
    {
        auto& state = account_.state;
        if (!state) {
            return is_text("0");
        }
        if (call.epoch != state->epoch) {
            return is_text(state->epoch);
        }
        const bool banned = ban_runs();
        Number strikes = 0;
        Number ban = banned ? state->ban_end : 0;
        bool new_ban = false;
        if (!banned) {
            auto& counter = account_.strikes;
            strikes = (counter ? counter->count : 0) + call.count;
            counter = Counter{strikes, counter ? counter->end : 0};
            const auto& policy = account_.policy;
            if (strikes > policy.threshold_for(account_.limits)) {
                new_ban = true;
                auto& bans = account_.bans;
                bans = Counter{(bans ? bans->count : 0) + 1, 0};
                Number seconds = policy.duration;
                for (Number i = 1; i < bans->count && seconds < policy.max;
                     ++i) {
                    seconds *= 2;
                }
                ban = now_ + std::min(seconds, policy.max) * 1000;
                state->ban_end = ban;
                counter.reset();
            }
        }
        const auto& told = reply_.numbers;
        const auto& minute = account_.minute;
        const auto& day = account_.day;
        return !reply_.is_text
               && told
                      == Numbers{minute ? minute->count : 0,
                                 day ? day->count : 0,
                                 minute ? minute->end : now_ + kMinute,
                                 day ? day->end : now_ + kDay,
                                 now_,
                                 ban,
                                 strikes,
                                 new_ban ? 1 : 0};
    }

    bool touch()
    {
        auto& state = account_.state;
        const bool good = is_new_epoch()
                          || (state
                              && is_text(std::to_string(
                                  *api::parse_int64(state->epoch) + 1)));
        state = State{reply_.text, state ? state->ban_end : 0, 0};
        return good;
    }

    bool unban()
    {
        auto& state = account_.state;
        // To the second: whoever asks is a person.
        const bool was = state && state->ban_end > now_ / 1000 * 1000;
        state = State{
            std::to_string((state ? *api::parse_int64(state->epoch) : 0) + 1),
            0, 0};
        account_.strikes.reset();
        account_.bans.reset();
        return !reply_.is_text && reply_.numbers == Numbers{was ? 1 : 0};
    }

    Account account_;
    const Reply& reply_;
    const Span span_;
    const Number now_;
};

class Machine {
public:
    explicit Machine(unsigned seed)
        : random_(seed), connection_(resp::BlockingConnection::unix_socket(
                             redis_.socket(), std::chrono::seconds(5))),
          schema_("model"), limiter_(schema_)
    {
        connection_.set_timeout(std::chrono::seconds(20));
        redis_.command({"SET", schema_.last_pet_id(), std::to_string(kLastId)});
        redis_.command({"SET", schema_.changes(), std::to_string(kChanges)});
        for (int i = 0; i < 200; ++i) {
            Account account;
            account.id = "account" + std::to_string(i);
            accounts_.push_back(account);
            plan(accounts_.back());
        }
    }

    // One call to each of many accounts, so that they can travel together.
    // Returns how many.
    int step()
    {
        std::shuffle(accounts_.begin(), accounts_.end(), random_);
        std::vector<Call> calls;
        for (auto& account : accounts_) {
            calls.push_back(choose(account));
            send(account, calls.back());
        }
        for (std::size_t i = 0; i < calls.size(); ++i) {
            receive(accounts_[i], calls[i]);
        }
        return static_cast<int>(calls.size());
    }

    std::map<std::string, int> seen;  // how often what happened

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
            plan(account);  // an operator's change
        }
        Call call;
        call.epoch = account.state ? account.state->epoch : "1";
        if (chance(4)) {
            call.epoch = std::to_string(pick(1, 3));
        }
        const auto dice = pick(1, 100);
        if (dice <= 55) {
            call.kind = Kind::limit;
            call.count = chance(60) ? 1 : pick(1, account.limits.minute + 5);
            call.tell_time = chance(50);
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

    // A moment, a while, or so far that some end comes about when the next call
    // of the account does, which is some milliseconds later.
    Number step_of(const Account& account)
    {
        static const Number whiles[] = {
            1, 999, 1000, 5000, 59'000, 60'000, 61'000, 300'000, 3'600'000};
        if (chance(50)) {
            return whiles[pick(0, std::size(whiles) - 1)];
        }
        Numbers ends;
        for (const auto& counter :
             {account.minute, account.day, account.strikes, account.bans}) {
            if (counter) {
                ends.push_back(counter->end);
            }
        }
        if (account.state && account.state->ban_end) {
            ends.push_back(account.state->ban_end);
        }
        if (ends.empty()) {
            return 1;
        }
        const auto end =
            ends[static_cast<std::size_t>(pick(0, Number(ends.size()) - 1))];
        return std::max<Number>(end - latest_ - pick(-3, 25), 1);
    }

    void ask(const resp::Command& command) { connection_.append(command); }

    void send(const Account& account, const Call& call)
    {
        const auto& id = account.id;
        ask(resp::Command("TIME"));
        switch (call.kind) {
        case Kind::limit:
            ask(limiter_.decide(
                {id, call.epoch, account.limits, call.count, call.tell_time},
                true));
            break;
        case Kind::strike:
            ask(limiter_.strike(id, call.epoch, call.count, account.limits,
                                account.policy, true));
            break;
        case Kind::touch:
            ask(store::call(store::scripts::touch_account(), 1, true)
                    .own(schema_.account_state(id)));
            break;
        case Kind::unban:
            ask(store::call(store::scripts::unban(), 3, true)
                    .own(schema_.account_state(id))
                    .own(schema_.strikes(id))
                    .own(schema_.bans(id)));
            break;
        case Kind::pass: {
            // Everything the account has, as it is `count` ms later.
            static const char* const text = R"(
                local step = tonumber(ARGV[1])
                local state = redis.call('GET', KEYS[1])
                local epoch, ban = string.match(state or '', '^(%d+)!(%d+)$')
                if ban then
                  redis.call('SET', KEYS[1], string.format('%s!%.0f', epoch,
                    math.max(ban - step, 1)), 'KEEPTTL')
                end
                for _, key in ipairs(KEYS) do
                  local ends = redis.call('PEXPIRETIME', key)
                  if ends > 0 then redis.call('PEXPIREAT', key, ends - step) end
                end
                return 0)";
            resp::Command command("EVAL");
            command.arg(text).arg(Number(5));
            for (const auto& name : names(id)) {
                command.own(name);
            }
            ask(command.arg(call.count));
            break;
        }
        case Kind::forget: {
            resp::Command command("DEL");
            for (const auto& name : names(id)) {
                command.own(name);
            }
            ask(command);
            break;
        }
        }
        ask(resp::Command("TIME"));
        for (const auto& name : names(id)) {
            ask(resp::Command("PEXPIRETIME").own(name));
        }
        ask(resp::Command("TIME"));
    }

    std::vector<std::string> names(const std::string& id) const
    {
        return {schema_.account_state(id), schema_.minute_window(id),
                schema_.day_window(id), schema_.strikes(id), schema_.bans(id)};
    }

    Number receive_time()
    {
        const auto& reply = connection_.get();
        latest_ = *api::parse_int64(reply[0].text()) * 1000
                  + *api::parse_int64(reply[1].text()) / 1000;
        return latest_;
    }

    Reply receive_reply()
    {
        const auto& reply = connection_.get();
        Reply copy;
        if (reply.is(resp::Type::integer)) {
            copy.numbers.push_back(reply.integer());
        } else if (reply.is(resp::Type::array)) {
            for (std::size_t i = 0; i < reply.size(); ++i) {
                copy.numbers.push_back(reply[i].integer());
            }
        } else {
            copy.is_text = true;
            copy.text = reply.text();
        }
        return copy;
    }

    void receive(Account& account, const Call& call)
    {
        Span span;
        span.from = receive_time();
        const auto reply = receive_reply();
        span.to = receive_time();
        Numbers ends;
        for (int i = 0; i < 5; ++i) {
            ends.push_back(connection_.get().integer());
        }
        const Number after = receive_time();

        static const char* const kinds[] = {"limit", "strike", "touch",
                                            "unban", "pass",   "forget"};
        std::ostringstream line;
        line << kinds[static_cast<int>(call.kind)] << ' ' << call.epoch << ' '
             << call.count << (call.tell_time ? " tell" : "") << " within "
             << span.from << "…" << span.to << " of " << account.limits.minute
             << '/' << account.limits.day << " → " << show(reply);
        account.history.push_back(line.str());
        if (account.history.size() > 8) {
            account.history.pop_front();
        }
        note(account, call, reply);

        if (call.kind == Kind::forget) {
            account.state.reset();
            for (auto* counter : {&account.minute, &account.day,
                                  &account.strikes, &account.bans}) {
                counter->reset();
            }
        } else {
            account = expected(account, call, reply, span);
        }
        if (call.kind == Kind::pass) {
            move(account, call.count);
        }
        check_ends(account, call, ends, span, after);
    }

    // Redis looks at the clock when a script begins, and the script when it
    // asks; any pair of moments may be it.
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
        fail(account, "another answer was expected");
    }

    static void move(Account& account, Number step)
    {
        for (auto* counter :
             {&account.minute, &account.day, &account.strikes, &account.bans}) {
            if (*counter) {
                (*counter)->end -= step;
            }
        }
        if (auto& state = account.state) {
            state->end -= step;
            if (state->ban_end) {
                state->ban_end = std::max<Number>(state->ban_end - step, 1);
            }
        }
    }

    // Whatever is in Redis has the end that it should, and ends are taken from
    // there where they are not told.
    void check_ends(Account& account, const Call& call, const Numbers& ends,
                    Span span, Number after)
    {
        const auto check = [&](const char* what, bool there, Number& expected,
                               Number told, Number length) {
            if (!there) {
                if (told != -2) {
                    fail(account, std::string(what) + " should not be there");
                }
                return false;
            }
            if (told == -1) {
                fail(account, std::string(what) + " has no end");
            }
            if (told == -2) {
                // Gone by itself, at the very moment.
                if (expected != 0 && expected <= after) {
                    return false;
                }
                fail(account, std::string(what) + " is not there");
            }
            if (told != expected) {
                // Set by this call.
                if (length == 0 || !span.has(told - length)) {
                    fail(account, std::string(what) + " has another end: "
                                      + std::to_string(told) + ", not "
                                      + std::to_string(expected));
                }
                expected = told;
            }
            return true;
        };
        const auto check_counter = [&](const char* what,
                                       std::optional<Counter>& counter,
                                       Number told, Number length) {
            Number none = 0;
            if (!check(what, counter.has_value(), counter ? counter->end : none,
                       told, length)) {
                counter.reset();
            }
        };
        const bool strike = call.kind == Kind::strike;
        check_counter("minute", account.minute, ends[1], 0);
        check_counter("day", account.day, ends[2], 0);
        check_counter("strikes", account.strikes, ends[3],
                      strike ? account.policy.window * 1000 : 0);
        check_counter("bans", account.bans, ends[4], strike ? kDay : 0);

        Number none = 0;
        Number length = 0;
        if (call.kind == Kind::limit || call.kind == Kind::unban) {
            length = kDay;
        } else if (call.kind == Kind::touch) {
            length = 2 * kDay;
        } else if (strike && account.state && account.state->ban_end) {
            length = account.state->ban_end - span.from + kDay;
            span.to = span.from;
        }
        if (!check("state", account.state.has_value(),
                   account.state ? account.state->end : none, ends[0],
                   length)) {
            account.state.reset();
        }
    }

    void note(const Account& account, const Call& call, const Reply& reply)
    {
        ++seen["calls"];
        if (reply.is_text) {
            ++seen[call.kind == Kind::touch ? "touched" : "stale"];
        } else if (call.kind == Kind::limit) {
            const auto admitted = reply.numbers.at(0);
            ++seen[admitted == call.count ? "admitted"
                   : admitted > 0         ? "partly admitted"
                   : reply.numbers.at(6)  ? "banned"
                                          : "limited"];
        } else if (call.kind == Kind::strike) {
            ++seen[reply.numbers.at(7)   ? "new ban"
                   : reply.numbers.at(5) ? "strike in a ban"
                                         : "strike"];
            if (reply.numbers.at(7) && account.bans) {
                ++seen["longer ban"];
            }
        } else if (call.kind == Kind::unban) {
            ++seen[reply.numbers.at(0) ? "unbanned" : "no ban to lift"];
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
    resp::BlockingConnection connection_;
    const store::Schema schema_;
    const store::Limiter limiter_;
    std::vector<Account> accounts_;
    Number latest_ = 0;
};

}  // namespace

TEST_CASE("model: a hundred thousand calls of the scripts of the limiter")
{
    const auto seed = static_cast<unsigned>(
        std::atoi(e2e::env_or("PETSTORE_MODEL_SEED", "20301205").c_str()));
    INFO("PETSTORE_MODEL_SEED=" << seed);
    Machine machine(seed);
    for (int calls = 0; calls < 100'000;) {
        calls += machine.step();
    }
    // It went everywhere.
    std::string counts;
    for (const auto& [what, count] : machine.seen) {
        counts += what + ": " + std::to_string(count) + "\n";
    }
    INFO(counts);
    for (const char* what :
         {"admitted", "partly admitted", "limited", "banned", "stale", "strike",
          "strike in a ban", "new ban", "longer ban", "touched", "unbanned",
          "no ban to lift"}) {
        INFO(what);
        CHECK(machine.seen[what] > 100);
    }
}
