#include "catch.h"

#include <memory>
#include <string>
#include <vector>

#include "cached_key.h"
#include "fake_alarm.h"
#include "fake_link.h"
#include "store/accounts/denial_reporter.h"
#include "store/scripts.h"

using namespace petstore;
using api::Verdict;
using redis::NoReply;
using Names = std::vector<std::string>;

namespace {

constexpr std::int64_t kEpoch = 7;
constexpr api::Millis kRedisNow = 1'000'000;

struct Clock final : store::Clock {
    store::Monotonic monotonic() const noexcept override { return now; }
    api::Millis host_time() const noexcept override { return 0; }
    store::Monotonic now = 5000;
};

struct DamageLog final : store::DamageLog {
    void damaged(std::string_view redis_key) noexcept override
    {
        keys.emplace_back(redis_key);
    }
    Names keys;
};

struct Bans final : store::BanLog {
    void account_banned(const store::Account& account,
                        const store::AccountStatus& status) noexcept override
    {
        accounts.emplace_back(account.id());
        denials.push_back(status.strikes);
    }
    Names accounts;
    std::vector<std::int64_t> denials;
};

struct Waiter final : store::Waiter<api::Decision>, store::BanLog {
    void account_banned(const store::Account& account,
                        const store::AccountStatus& status) noexcept override
    {
        CHECK(calls == 0);
        bans.account_banned(account, status);
    }
    void
    on_result(const store::Outcome<api::Decision>& outcome) noexcept override
    {
        ++calls;
        decision = outcome.value();
    }
    Bans bans;
    int calls = 0;
    api::Decision decision;
};

// What Redis knows about the account after a report.
struct Status {
    long long denials = 0;
    long long new_ban = 0;
    std::int64_t minute = 60;
    api::Millis ban_until = 0;
    std::int64_t epoch = kEpoch;
};

std::string reply_of(const Status& status)
{
    return array(
        {integer(status.denials), integer(status.new_ban), integer(kRedisNow),
         bulk(encode_state({status.epoch, 0, status.minute, kRedisNow + 30'000,
                            70, kRedisNow + 80'000'000, 70,
                            status.ban_until}))});
}

api::Decision limited()
{
    api::Decision decision;
    decision.verdict = Verdict::limited;
    decision.minute = {60, 60, kRedisNow + 30'500};
    decision.day = {1000, 70, kRedisNow + 80'000'000};
    decision.now = kRedisNow - 500;
    return decision;
}

struct Fixture {
    store::Ref<store::CachedKey> make_key(const std::string& account)
    {
        return ::make_key(cache, account, kEpoch);
    }

    store::Account& account() { return *key->account; }

    void deny(int times = 1)
    {
        for (int i = 0; i < times; ++i) {
            account().count_strike(policy, key->limits, clock.now);
        }
    }

    // As if Redis had just denied a request of the account.
    void remember_denial()
    {
        account().remember(limited(), 0, clock.now, clock.now);
    }
    bool denies()
    {
        return account()
            .denial(key->limits, key->epoch, 1, clock.now)
            .has_value();
    }

    // The denials in the oldest command without a reply.
    std::string reported()
    {
        REQUIRE_FALSE(link.commands.empty());
        const auto& command = link.commands.front();
        REQUIRE(command.size() == 13);
        CHECK(command[3] == "petstore:{a1}:state");
        return command[7];
    }

    const store::Schema schema{"petstore"};
    const store::LimitCommands limiter{schema};
    const api::BanPolicy policy;
    FakeLink link;
    Clock clock;
    FakeAlarm alarm;
    DamageLog damage;
    Bans bans;
    store::KeyCache cache{1 << 20};
    store::Ref<store::CachedKey> key = make_key("a1");
    void report_and_wait()
    {
        reporter.report_and_wait(key, policy, limited(), waiter, waiter);
    }

    store::DenialReporter reporter{link, limiter, clock, alarm, damage, bans};
    Waiter waiter;
};

}  // namespace

TEST_CASE("queued denials are reported together when the alarm goes off",
          "[store]")
{
    Fixture f;
    f.deny(3);
    f.reporter.queue(f.key);
    f.alarm.wait(store::DenialReporter::kInterval - 1);
    f.deny(2);
    f.reporter.queue(f.key);
    CHECK(f.link.sent.empty());

    f.alarm.wait(1);
    REQUIRE(f.link.sent.size() == 1);
    CHECK(f.link.sent[0]
          == FakeLink::Words{"EVALSHA", store::scripts().strike.sha1, "3",
                             "petstore:{a1}:state", "petstore:{a1}:strikes",
                             "petstore:{a1}:bans", "7", "5", "100", "60", "300",
                             "3600", "5"});
    CHECK_FALSE(f.account().has_denials());

    f.link.reply(reply_of({5}));
    // The queue is empty again.
    CHECK_FALSE(f.alarm.alarm);
    f.reporter.flush();
    CHECK(f.link.sent.size() == 1);
}

TEST_CASE("each account has its own report", "[store]")
{
    Fixture f;
    const auto other = f.make_key("a2");
    f.deny(2);
    for (int i = 0; i < 9; ++i) {
        other->account->count_strike(f.policy, other->limits, f.clock.now);
    }
    f.reporter.queue(f.key);
    f.reporter.queue(other);
    f.reporter.flush();
    REQUIRE(f.link.sent.size() == 2);
    CHECK(f.link.sent[0][3] == "petstore:{a1}:state");
    CHECK(f.link.sent[0][7] == "2");
    CHECK(f.link.sent[1][3] == "petstore:{a2}:state");
    CHECK(f.link.sent[1][7] == "9");
}

TEST_CASE("keys of one account are queued once", "[store]")
{
    Fixture f;
    const auto second = f.make_key("a1");
    f.deny(2);
    f.reporter.queue(f.key);
    f.reporter.queue(second);
    f.reporter.flush();
    CHECK(f.link.sent.size() == 1);
    CHECK(f.reported() == "2");
}

TEST_CASE("denials that lead to no ban leave strikes to another report",
          "[store]")
{
    constexpr api::BanPolicy kNoBan = {false};
    Fixture f;
    f.deny(2);
    f.account().count_denial();
    f.reporter.report(f.key, kNoBan);
    CHECK(f.reported() == "0");
    CHECK(f.link.commands.front().back() == "3");
    f.link.reply(reply_of({0}));
    CHECK(f.account().has_denials());

    f.account().count_denial();
    f.reporter.queue(f.key);
    f.reporter.flush();
    CHECK(f.reported() == "2");
    CHECK(f.link.commands.front().back() == "1");
    CHECK_FALSE(f.account().has_denials());
}

TEST_CASE("a report has the ban policy of the request that causes it",
          "[store]")
{
    api::BanPolicy lenient;
    lenient.threshold = 100'000;
    Fixture f;
    const auto deny = [&](const api::BanPolicy& policy) {
        return f.account().count_strike(policy, f.key->limits, f.clock.now);
    };
    deny(lenient);
    for (int i = 0; i < 100; ++i) {
        CHECK_FALSE(deny(lenient));
    }
    CHECK(deny(f.policy));
    f.report_and_wait();
    CHECK(f.reported() == "102");
    CHECK(f.link.commands.front()[8] == "100");
    f.link.reply(reply_of({102}));

    // In the background, that of the last denial.
    deny(lenient);
    f.reporter.queue(f.key);
    f.reporter.flush();
    CHECK(f.link.commands.front()[8] == "100000");
}

TEST_CASE("an account with nothing left to report is not reported", "[store]")
{
    Fixture f;
    f.deny();
    f.reporter.queue(f.key);
    // A waiting request takes the queued denials along.
    f.report_and_wait();
    CHECK(f.reported() == "1");
    f.link.reply(reply_of({1}));
    f.reporter.flush();
    CHECK(f.link.sent.size() == 1);

    // It can be queued again.
    f.deny();
    f.reporter.queue(f.key);
    f.reporter.flush();
    CHECK(f.link.sent.size() == 2);
}

TEST_CASE("a background report asks for the status even without denials",
          "[store]")
{
    Fixture f;
    f.remember_denial();
    f.clock.now += 600;
    f.reporter.report(f.key, f.policy);
    CHECK(f.reported() == "0");
    f.link.reply(reply_of({0}));
    // Confirmed for as long as a limiter's decision.
    f.clock.now += 899;
    CHECK(f.denies());
    f.clock.now += 1;
    CHECK_FALSE(f.denies());
}

TEST_CASE("one background report per account is in flight", "[store]")
{
    Fixture f;
    f.deny();
    f.reporter.report(f.key, f.policy);
    f.deny(4);
    f.reporter.report(f.key, f.policy);
    f.reporter.queue(f.key);
    f.alarm.wait(store::DenialReporter::kInterval);
    CHECK(f.link.sent.size() == 1);
    CHECK(f.alarm.alarm);  // queued once more

    f.link.reply(reply_of({1}));
    f.reporter.flush();
    REQUIRE(f.link.sent.size() == 2);
    CHECK(f.reported() == "4");
}

TEST_CASE("denials of a report that was not sent are reported again", "[store]")
{
    Fixture f;
    f.remember_denial();
    f.deny(3);
    f.link.full = true;
    f.reporter.report(f.key, f.policy);
    CHECK(f.account().has_denials());
    CHECK(f.denies());

    f.link.full = false;
    f.deny();
    f.reporter.report(f.key, f.policy);
    CHECK(f.reported() == "4");
    f.link.lose(NoReply::not_sent);
    CHECK(f.account().take_denials(f.policy, f.clock.now).strikes == 4);
}

TEST_CASE("denials of a report that Redis did not execute are reported again",
          "[store]")
{
    Fixture f;
    f.remember_denial();
    f.deny(3);
    f.reporter.report(f.key, f.policy);
    const bool executed = GENERATE(false, true);
    f.link.reply(executed ? "-ERR a broken script\r\n" : "-READONLY x\r\n");
    CHECK(f.account().has_denials() != executed);
    CHECK(f.denies());  // the error says nothing about the account
    CHECK(f.account().take_denials(f.policy, f.clock.now).strikes
          == (executed ? 0 : 3));
}

TEST_CASE("a refused report is queued again, though no request follows",
          "[store]")
{
    Fixture f;
    f.deny(3);
    f.reporter.queue(f.key);
    f.link.full = GENERATE(false, true);
    f.alarm.wait(store::DenialReporter::kInterval);
    if (!f.link.full) {
        f.link.reply("-NOREPLICAS x\r\n");
    }
    f.link.full = false;
    f.link.sent.clear();
    f.key.reset();  // evicted

    f.alarm.wait(store::DenialReporter::kRetryInterval - 1);
    CHECK(f.link.sent.empty());
    f.alarm.wait(1);
    REQUIRE(f.link.sent.size() == 1);
    CHECK(f.reported() == "3");
    f.link.reply(reply_of({3}));
    CHECK_FALSE(f.alarm.alarm);
}

TEST_CASE("refused reports are sent as soon as Redis accepts another",
          "[store]")
{
    Fixture f;
    const auto other = f.make_key("a2");
    f.deny(3);
    f.reporter.report(f.key, f.policy);
    f.link.reply("-OOM x\r\n");
    CHECK(f.alarm.alarm
          == f.alarm.time + store::DenialReporter::kRetryInterval);
    other->account->count_strike(f.policy, other->limits, f.clock.now);
    f.reporter.report(other, f.policy);
    f.link.reply(reply_of({1}));
    f.alarm.wait(store::DenialReporter::kInterval);
    CHECK(f.reported() == "3");
}

TEST_CASE("a quitting worker gives up reports that Redis refuses", "[store]")
{
    using store::DenialReporter;
    Fixture f;
    f.deny(3);
    f.reporter.report(f.key, f.policy);
    f.link.reply("-NOREPLICAS x\r\n");
    f.alarm.quitting = true;
    f.alarm.wait(DenialReporter::kRetryInterval);
    std::uint64_t sent = 0;
    while (!f.link.commands.empty()) {
        ++sent;
        f.link.reply("-NOREPLICAS x\r\n");
        f.alarm.wait(DenialReporter::kInterval);
    }
    CHECK(sent == DenialReporter::kQuitWithin / DenialReporter::kInterval);
    CHECK_FALSE(f.alarm.alarm);
}

TEST_CASE("many reports are not sent at once", "[store]")
{
    constexpr auto kMost = store::DenialReporter::kMaxAtOnce;
    Fixture f;
    std::vector<store::Ref<store::CachedKey>> keys;
    while (keys.size() < kMost + 5) {
        keys.push_back(f.make_key("b" + std::to_string(keys.size())));
        keys.back()->account->count_denial();
        f.reporter.queue(keys.back());
    }
    f.alarm.wait(store::DenialReporter::kInterval);
    CHECK(f.link.sent.size() == kMost);
    f.alarm.wait(store::DenialReporter::kPause);
    CHECK(f.link.sent.size() == kMost + 5);
    CHECK_FALSE(f.alarm.alarm);
    while (!f.link.commands.empty()) {
        f.link.lose(NoReply::in_doubt);
    }
}

TEST_CASE("strikes count for one window, however late they are reported",
          "[store]")
{
    Fixture f;
    f.deny(3);
    f.clock.now += 999;
    f.reporter.report(f.key, f.policy);
    CHECK(f.link.commands.front()[9] == "60");
    f.link.reply("-OOM x\r\n");
    f.clock.now += 44'001;
    f.deny();
    f.reporter.report(f.key, f.policy);
    CHECK(f.reported() == "4");
    CHECK(f.link.commands.front()[9] == "15");
    f.link.reply("-OOM x\r\n");
    f.clock.now += 15'000;
    f.reporter.report(f.key, f.policy);
    CHECK(f.reported() == "0");
    CHECK(f.link.commands.front()[9] == "60");
    CHECK(f.link.commands.front().back() == "4");
}

TEST_CASE("a record from before a lost connection confirms no denial",
          "[store]")
{
    const bool lost_before = GENERATE(true, false);
    Fixture f;
    f.remember_denial();
    f.deny(3);
    if (lost_before) {
        f.link.generation = 2;
    }
    f.reporter.report(f.key, f.policy);
    f.link.generation = 2;
    // Redis counts strikes for the epoch that it knows only.
    CHECK(f.link.commands.front()[6] == std::to_string(kEpoch));
    f.link.reply(reply_of({3}));
    CHECK_FALSE(f.denies());
    CHECK_FALSE(f.account().has_denials());
}

TEST_CASE("denials of a report without a reply are not reported again",
          "[store]")
{
    Fixture f;
    f.remember_denial();
    f.deny(3);
    f.reporter.report(f.key, f.policy);
    f.link.lose(NoReply::in_doubt);
    CHECK_FALSE(f.account().has_denials());
    CHECK(f.denies());

    // The next report is not held up.
    f.deny();
    f.reporter.report(f.key, f.policy);
    CHECK(f.reported() == "1");
}

TEST_CASE("a report is sent once more with the script's text", "[store]")
{
    Fixture f;
    f.deny(3);
    f.reporter.report(f.key, f.policy);
    f.link.reply("-NOSCRIPT No matching script\r\n");
    REQUIRE(f.link.sent.size() == 2);
    CHECK(f.link.sent[1][0] == "EVAL");
    CHECK(f.link.sent[1][7] == "3");
    CHECK_FALSE(f.account().has_denials());

    // It is still one report.
    f.reporter.report(f.key, f.policy);
    CHECK(f.link.sent.size() == 2);
    f.link.reply(reply_of({3}));
    f.reporter.report(f.key, f.policy);
    CHECK(f.link.sent.size() == 3);
}

TEST_CASE("a report whose text cannot be sent returns its denials", "[store]")
{
    Fixture f;
    f.deny(3);
    f.report_and_wait();
    f.link.full = true;
    f.link.reply("-NOSCRIPT No matching script\r\n");
    CHECK(f.waiter.calls == 1);
    CHECK(f.account().take_denials(f.policy, f.clock.now).strikes == 3);
}

TEST_CASE("a damaged account is logged and the next request asks", "[store]")
{
    Fixture f;
    f.remember_denial();
    f.deny();
    f.reporter.report(f.key, f.policy);
    f.link.reply("-DAMAGED petstore:{a1}:strikes\r\n");
    CHECK(f.damage.keys == Names{"petstore:{a1}:strikes"});
    CHECK_FALSE(f.denies());
    CHECK_FALSE(f.account().has_denials());
    CHECK(f.bans.accounts.empty());
}

TEST_CASE("an unusable reply to a report makes the next request ask", "[store]")
{
    Fixture f;
    f.remember_denial();
    f.report_and_wait();
    f.link.reply(GENERATE(as<std::string>{}, "+OK\r\n", "*2\r\n:1\r\n:0\r\n"));
    CHECK_FALSE(f.denies());
    CHECK(f.damage.keys.empty());
    CHECK(f.waiter.calls == 1);
    CHECK(f.waiter.decision.verdict == Verdict::limited);
    CHECK(f.waiter.decision.now == kRedisNow - 500);
}

TEST_CASE("a new ban is logged once", "[store]")
{
    Fixture f;
    f.deny();
    f.reporter.report(f.key, f.policy);
    f.link.reply(reply_of({101, 1, 60, kRedisNow + 300'000}));
    CHECK(f.bans.accounts == Names{"a1"});
    CHECK(f.bans.denials == std::vector<std::int64_t>{101});
    CHECK(f.denies());
    CHECK(
        f.account().denial(f.key->limits, f.key->epoch, 1, f.clock.now)->verdict
        == Verdict::banned);

    // The next report does not log the ban again.
    f.reporter.report(f.key, f.policy);
    f.link.reply(reply_of({0, 0, 60, kRedisNow + 300'000}));
    CHECK(f.bans.accounts.size() == 1);
}

TEST_CASE("a waiting request logs the ban that it has caused", "[store]")
{
    Fixture f;
    f.deny();
    f.report_and_wait();
    CHECK(f.waiter.calls == 0);
    f.link.reply(reply_of({101, 1, 60, kRedisNow + 300'000}));
    CHECK(f.waiter.calls == 1);
    CHECK(f.waiter.bans.accounts == Names{"a1"});
    CHECK(f.waiter.bans.denials == std::vector<std::int64_t>{101});
    CHECK(f.bans.accounts.empty());
    CHECK(f.waiter.decision.verdict == Verdict::banned);
    CHECK(f.waiter.decision.ban_until == kRedisNow + 300'000);
    CHECK(f.waiter.decision.now == kRedisNow);
}

TEST_CASE("a waiting request is denied by the latest status from Redis",
          "[store]")
{
    Fixture f;
    f.deny();
    f.report_and_wait();
    f.link.reply(reply_of({7}));
    CHECK(f.waiter.decision.verdict == Verdict::limited);
    CHECK(f.waiter.decision.minute.reset == kRedisNow + 30'000);
    CHECK(f.waiter.bans.accounts.empty());
}

TEST_CASE("a waiting request stays denied if a window has ended meanwhile",
          "[store]")
{
    Fixture f;
    f.remember_denial();
    f.deny();
    f.report_and_wait();
    f.link.reply(reply_of({7, 0, 0}));
    CHECK(f.waiter.calls == 1);
    CHECK(f.waiter.decision.verdict == Verdict::limited);
    CHECK(f.waiter.decision.minute.used == 60);
    CHECK(f.waiter.decision.minute.reset == kRedisNow + 30'500);
    CHECK(f.waiter.decision.now == kRedisNow - 500);
    // Later requests are not.
    CHECK_FALSE(f.denies());
    CHECK(f.key->rate.remaining == 60);
}

TEST_CASE("a status of another epoch ends the denial from memory", "[store]")
{
    Fixture f;
    f.remember_denial();
    f.deny();
    f.report_and_wait();
    f.link.reply(reply_of({-1, 0, 0, 0, kEpoch + 1}));
    CHECK_FALSE(f.denies());
    CHECK(f.key->epoch == kEpoch);
    CHECK(f.waiter.calls == 1);
    CHECK(f.waiter.decision.verdict == Verdict::limited);
    CHECK(f.waiter.bans.accounts.empty());
}

TEST_CASE("what Redis has counted decides how close the next ban is", "[store]")
{
    Fixture f;
    f.deny();
    f.reporter.report(f.key, f.policy);
    f.link.reply(reply_of({99}));
    CHECK_FALSE(f.account().count_strike(f.policy, f.key->limits, f.clock.now));
    CHECK(f.account().count_strike(f.policy, f.key->limits, f.clock.now));
}

TEST_CASE("strikes count towards a ban while their report is in flight",
          "[store]")
{
    Fixture f;
    f.deny(60);
    f.reporter.report(f.key, f.policy);
    f.deny(40);
    CHECK(f.account().count_strike(f.policy, f.key->limits, f.clock.now));
    SECTION("and then as Redis says")
    {
        f.link.reply(reply_of({50}));
        CHECK_FALSE(
            f.account().count_strike(f.policy, f.key->limits, f.clock.now));
    }
    SECTION("but not once it is lost")
    {
        f.link.lose(redis::NoReply::in_doubt);
        CHECK_FALSE(
            f.account().count_strike(f.policy, f.key->limits, f.clock.now));
    }
}

TEST_CASE("a waiter is called once if its report cannot be sent", "[store]")
{
    Fixture f;
    f.deny(3);
    f.link.full = true;
    f.report_and_wait();
    CHECK(f.waiter.calls == 1);
    CHECK(f.waiter.decision.minute.reset == kRedisNow + 30'500);
    CHECK(f.account().take_denials(f.policy, f.clock.now).strikes == 3);
}

TEST_CASE("a waiter whose report has no reply keeps its decision", "[store]")
{
    Fixture f;
    f.deny(3);
    f.report_and_wait();
    f.link.lose(NoReply::in_doubt);
    CHECK(f.waiter.calls == 1);
    CHECK(f.waiter.decision.verdict == Verdict::limited);
    CHECK_FALSE(f.account().has_denials());
}

TEST_CASE("waiting requests do not hold up background reports", "[store]")
{
    Fixture f;
    f.deny();
    f.report_and_wait();
    f.deny();
    f.reporter.report(f.key, f.policy);
    REQUIRE(f.link.sent.size() == 2);
    f.link.reply(reply_of({1}));
    CHECK(f.waiter.calls == 1);
    // The background report is still in flight.
    f.reporter.report(f.key, f.policy);
    CHECK(f.link.sent.size() == 2);
    f.link.reply(reply_of({2}));
    f.reporter.report(f.key, f.policy);
    CHECK(f.link.sent.size() == 3);
}

TEST_CASE("a report keeps its key alive", "[store]")
{
    Fixture f;
    f.deny();
    f.reporter.report(f.key, f.policy);
    f.key.reset();  // the last key of its account
    f.link.reply(reply_of({101, 1, 60, kRedisNow + 300'000}));
    CHECK(f.bans.accounts == Names{"a1"});
}
