// Whichever allocation fails, a waiter for Redis is called exactly once, and
// the next one gets the right result.
#include <memory>

#include "ready.h"
#include "shortage.h"
#include "store/accounts/denial_reporter.h"
#include "store/accounts/limit_queue.h"
#include "store/keys/key_loader.h"
#include "store/pets/reader.h"
#include "store/pets/record.h"
#include "store/shared_read.h"
#include "unit/cached_key.h"
#include "unit/known_ids.h"
#include "unit/still.h"
#include "unit/store_replies.h"
#include "wire.h"

using namespace petstore;
using store::ReadKey;

namespace {

const char* const kNoScript = "-NOSCRIPT x\r\n";

// --- keys -------------------------------------------------------------------

struct SilentLog final : store::KeyLog {
    void damaged(std::string_view) noexcept override {}
    void unknown_plan(std::string_view, std::string_view) noexcept override {}
    void not_upgraded(std::string_view) noexcept override {}
    void report(store::Event) noexcept override {}
};

struct KeyWaiter final : store::Waiter<store::Ref<store::CachedKey>> {
    void on_result(const store::Outcome<store::Ref<store::CachedKey>>&
                       outcome) noexcept override
    {
        ++calls;
        failed = outcome.failed();
        key = failed ? nullptr : outcome.value();
    }
    int calls = 0;
    store::Ref<store::CachedKey> key;
    bool failed = false;
};

constexpr char kAccount[] = "an-account-whose-name-needs-memory";

// Also its account's, which has the same id.
std::string key_record()
{
    return array({bulk("id"), bulk(kAccount), bulk("account"), bulk(kAccount),
                  bulk("plan"), bulk("pro"), bulk("label"),
                  bulk("a label that is longer than most"), bulk("created"),
                  bulk("1"), bulk("epoch"), bulk("7")});
}

struct LookUps {
    void act()
    {
        loader.load(first, {}, waiters[0]);
        loader.load(first, {}, waiters[1]);
        loader.load(second, {}, waiters[2]);
        while (wire.waits()) {
            wire.take().handler->on_reply(record);
        }
    }

    void check(bool thrown)
    {
        CHECK_FALSE(thrown);
        for (const auto& waiter : waiters) {
            CHECK(waiter.calls == 1);
            // A failure is never reported as an unknown key.
            CHECK((waiter.key != nullptr) != waiter.failed);
        }
        KeyWaiter waiter;
        loader.load(first, {}, waiter);
        while (wire.waits()) {
            wire.take().handler->on_reply(record);
        }
        CHECK(waiter.calls == 1);
        REQUIRE(waiter.key);
        CHECK(waiter.key->account->id() == kAccount);
        CHECK(cache.find(first) == waiter.key);
    }

    const store::Schema schema{"petstore"};
    const api::PlanTable configured;
    const api::Digest first = api::sha256("1");
    const api::Digest second = api::sha256("2");
    const Ready record{key_record()};
    const FixedClock clock;
    Wire wire;
    store::KeyCache cache{1 << 20};
    SilentLog log;
    store::PlansInForce plans{wire, schema, clock, configured, log, log};
    store::KeyLoader loader{{wire, wire}, schema, plans, cache, log};
    std::array<KeyWaiter, 3> waiters;
};

struct KeyRecord {
    void act() { found = store::KeyCommands::parse(record, key); }
    void check(bool thrown) const
    {
        if (!thrown) {
            CHECK(found == store::RecordFound::found);
            CHECK(key.record.account == kAccount);
        }
    }
    const Ready record{key_record()};
    store::StoredKey key;
    store::RecordFound found = store::RecordFound::invalid;
};

struct UnknownKeys {
    void act()
    {
        cache.put_refused(digest, {api::KeyRefusal::unknown, nullptr}, 0);
        cache.put(digest, store::make_ref<store::CachedKey>());
    }
    void check(bool)
    {
        const auto key = store::make_ref<store::CachedKey>();
        cache.put(digest, key);
        CHECK(cache.find(digest) == key);
        CHECK_FALSE(cache.find_refused(digest, 0));
    }
    const api::Digest digest = api::sha256("1");
    store::KeyCache cache{1 << 20};
};

// --- limits -----------------------------------------------------------------

struct LimitWaiter final : store::LimitObserver,
                           store::Waiter<store::LimitAnswer> {
    store::LimitQueue::Asker asker() { return {*this, *this}; }

    void on_limit_sent() noexcept override {}
    void on_result(
        const store::Outcome<store::LimitAnswer>& outcome) noexcept override
    {
        ++calls;
        decided = !outcome.failed()
                  && outcome.value().kind == store::LimitAnswer::Kind::decided;
    }

    int calls = 0;
    bool decided = false;
};

std::string decided(int accounts)
{
    std::string windows;
    for (int i = 0; i < accounts; ++i) {
        windows += encode_numbers({1, 60'000, 1, 86'400'000, 1});
    }
    return bulk(windows + stamp(5, "200", "1000"));
}

// Two keys of one account, which need two commands, and a key of another.
struct Limits {
    store::Ref<store::CachedKey> make_key(const std::string& account)
    {
        return ::make_key(cache, account, 7);
    }

    template <typename Reply>
    void ask(Reply&& reply)
    {
        std::size_t next = 0;
        for (const auto& key : {first, first, second, other, other}) {
            queue.add(key, 1, {}, waiters[next++].asker());
        }
        for (auto& waiter : more) {  // more than have reserved memory
            queue.add(first, 1, {}, waiter.asker());
        }
        wire.end_iteration();
        while (wire.waits()) {
            reply(wire.take());
        }
    }

    void check(bool thrown)
    {
        CHECK_FALSE(thrown);
        for (const auto& waiter : waiters) {
            CHECK(waiter.calls == 1);
        }
        for (const auto& waiter : more) {
            CHECK(waiter.calls == 1);
        }
        LimitWaiter waiter;
        queue.add(first, 1, {}, waiter.asker());
        wire.end_iteration();
        REQUIRE(wire.waits());
        wire.take().handler->on_reply(one);
        CHECK(waiter.calls == 1);
        CHECK(waiter.decided);
    }

    const store::Schema schema{"petstore"};
    const store::LimitCommands limiter{schema};
    const Ready one{decided(1)};
    const Ready two{decided(2)};
    const Ready no_script{kNoScript};
    store::KeyCache cache{1 << 20};
    Wire wire;
    SilentLog log;
    store::LimitQueue queue{wire, wire, limiter, log, log};
    const store::Ref<store::CachedKey> first = make_key("a");
    const store::Ref<store::CachedKey> second = make_key("a");
    const store::Ref<store::CachedKey> other = make_key("b");
    std::array<LimitWaiter, 5> waiters;
    std::array<LimitWaiter, 40> more;
};

struct Decided : Limits {
    void act()
    {
        bool first_one = true;
        ask([&](const Wire::Sent& sent) {
            sent.handler->on_reply(std::exchange(first_one, false) ? two : one);
        });
    }
};

struct WithoutScript : Limits {
    void act()
    {
        ask([&](const Wire::Sent& sent) {
            if (sent.is("EVALSHA")) {
                sent.handler->on_reply(no_script);
            } else {
                sent.handler->on_reply(one);
            }
        });
    }
};

struct Lost : Limits {
    void act()
    {
        ask([&](const Wire::Sent& sent) {
            sent.handler->on_no_reply(redis::NoReply::in_doubt);
        });
    }
};

// --- denials ----------------------------------------------------------------

struct DenialWaiter final : store::Waiter<api::Decision> {
    void
    on_result(const store::Outcome<api::Decision>& outcome) noexcept override
    {
        ++calls;
        limit = outcome.value().minute.limit;
    }
    int calls = 0;
    std::int64_t limit = 0;
};

// A background report, one that a request waits for, and the alarm's.
struct Denials : Limits {
    void act()
    {
        first->account->count_strike(policy, first->limits, 0);
        reporter.report(first, policy);
        first->account->count_strike(policy, first->limits, 0);
        reporter.report_and_wait(first, policy, decision, waiter, bans);
        other->account->count_strike(policy, other->limits, 0);
        reporter.queue(other);
        reporter.flush();
        pump();
        reporter.flush();
        pump();
    }

    void pump()
    {
        while (wire.waits()) {
            const auto sent = wire.take();
            ++commands;
            if (sent.is("EVALSHA")) {
                sent.handler->on_reply(no_script);
            } else {
                sent.handler->on_reply(status);
            }
        }
    }

    void check(bool thrown)
    {
        CHECK_FALSE(thrown);
        CHECK(waiter.calls == 1);
        CHECK(waiter.limit == 60);
        CHECK_FALSE(wire.waits());
        // Later reports are still sent.
        for (const auto& key : {first, other}) {
            commands = 0;
            key->account->count_strike(policy, key->limits, 0);
            reporter.report(key, policy);
            pump();
            CHECK(commands == 2);
            CHECK_FALSE(key->account->has_denials());
        }
    }

    const api::BanPolicy policy;
    const FixedClock clock;
    SilentAlarm alarm;
    struct : store::BanLog {
        void account_banned(const store::Account&,
                            const store::AccountStatus&) noexcept override
        {}
    } bans;
    const Ready status{
        array({integer(1), integer(0), integer(5),
               bulk(encode_state({7, 0, 60, 60'000, 70, 86'400'000, 70}))})};
    store::DenialReporter reporter{wire, limiter, clock, alarm, log, bans};
    DenialWaiter waiter;
    api::Decision decision{
        api::Verdict::limited, {60, 60, 60'000}, {1000, 70, 86'400'000}, 0, 5};
    int commands = 0;
};

// --- reads ------------------------------------------------------------------

struct ReadWaiter final : store::Waiter<store::SharedResponse> {
    void on_result(
        const store::Outcome<store::SharedResponse>& outcome) noexcept override
    {
        ++calls;
        if (const auto* failure = outcome.failure()) {
            response = nullptr;
            status = api::http_status(failure->error.code);
        } else {
            response = outcome.value();
        }
    }
    int calls = 0;
    int status = 200;
    store::SharedResponse response;
};

constexpr store::Version kVersion{1024, 1000};

std::string rows(int count)
{
    return array(std::vector<std::string>(static_cast<std::size_t>(count),
                                          bulk("s7:a name that needs memory")));
}

// The replies of scripts and commands for a catalogue of identical pets.
struct Reads {
    void pump()
    {
        while (wire.waits()) {
            const auto sent = wire.take();
            if (sent.is("LINDEX")) {
                sent.handler->on_reply(record);
            } else if (sent.is("EVALSHA")) {
                sent.handler->on_reply(no_script);
            } else if (sent.is("EVAL")) {
                sent.handler->on_reply(filtered);
            } else if (sent.is("MGET")) {
                sent.handler->on_reply(ids);
            } else {
                sent.handler->on_reply(sent.whole ? whole : page);
            }
        }
    }

    // Like a request.
    void read(const ReadKey& key, store::Version version, ReadWaiter& waiter)
    {
        try {
            if (reader.read_ahead(key)) {
                reader.confirm(key, version);
            }
        } catch (const std::bad_alloc&) {
        }
        store::SharedResponse found;
        try {
            found = cache.find_latest(key, version);
        } catch (const std::bad_alloc&) {
        }
        if (found != nullptr) {
            waiter.on_result(found);
        } else {
            reader.read(key, version, waiter);
        }
    }

    static ReadKey page_after(api::PetId after, bool only_sold)
    {
        api::ListQuery query;
        query.limit = 2;
        query.after = after;
        if (only_sold) {
            query.status = api::Status::sold;
        }
        return ReadKey::of_page(query);
    }

    void act()
    {
        auto version = kVersion;
        std::size_t next = 0;
        // Rereading changed pets loads whole buckets, which serve the last
        // round.
        for (int round = 0; round < 4; ++round) {
            for (const auto& key : keys) {
                read(key, version, waiters.at(next++));
                read(key, version, waiters.at(next++));
            }
            pump();
            version.changes += round < 2;
        }
    }

    void check(bool thrown)
    {
        CHECK_FALSE(thrown);
        CHECK_FALSE(wire.waits());
        for (const auto& waiter : waiters) {
            CHECK(waiter.calls == 1);
            CHECK((waiter.status == 200 || waiter.status >= 500));
            CHECK((waiter.response != nullptr) == (waiter.status == 200));
        }
        ReadWaiter waiter;
        read(keys[0], {kVersion.count, kVersion.changes + 9}, waiter);
        pump();
        CHECK(waiter.calls == 1);
        REQUIRE(waiter.response);
        CHECK(waiter.response->body
              == R"({"id":5,"name":"a name that needs memory",)"
                 R"("categoryId":7,"status":"sold"})");
    }

    const store::Schema schema{"petstore"};
    const store::PetCommands catalogue{schema};
    const std::array<ReadKey, 4> keys{ReadKey::of_pet(5), page_after(0, false),
                                      page_after(127, false),
                                      page_after(0, true)};
    const Ready record{bulk("s7:a name that needs memory")};
    const Ready ids{array({bulk("5000"), bulk(kOneSegment)})};
    const Ready page{rows(1)};
    const Ready whole{rows(128)};
    const Ready filtered{
        array({integer(1), bulk("s7:a name that needs memory"), integer(2),
               bulk("s7:a name that needs memory")})};
    const Ready no_script{kNoScript};
    Wire wire;
    SilentLog log;
    petstore::metrics::CacheLookups lookups;
    store::ReadCache cache{{wire, catalogue, log}, lookups, 1 << 20};
    store::VersionQueue versions{wire, cache};
    store::Reader reader{cache, versions};
    std::array<ReadWaiter, 32> waiters;
};

// --- shared reads -----------------------------------------------------------

class Number;
using Numbers = store::SharedReads<Number, store::Waiter<int>*, int>;

class Number final : public Numbers::Item {
public:
    Number(Numbers& reads, int key) : Item(reads, key) {}
    void take(int value) noexcept { end(store::Outcome<int>(value)); }
};

struct NumberWaiter final : store::Waiter<int> {
    void on_result(const store::Outcome<int>& outcome) noexcept override
    {
        ++calls;
        value = outcome.value();
    }
    int calls = 0;
    int value = 0;
};

struct Sharing {
    void act()
    {
        reads.start(1, &waiters[0]);
        started = true;
        reads.find(1)->join(&waiters[1]);
        joined = true;
    }

    void check(bool thrown)
    {
        CHECK(thrown != joined);
        CHECK(reads.size() == (started ? 1 : 0));
        CHECK((reads.find(1) != nullptr) == started);
        if (started) {
            reads.find(1)->take(7);
        }
        CHECK(waiters[0].calls == (started ? 1 : 0));
        CHECK(waiters[1].calls == (joined ? 1 : 0));
        CHECK(reads.size() == 0);
    }

    Numbers reads;
    std::array<NumberWaiter, 2> waiters;
    bool started = false;
    bool joined = false;
};

}  // namespace

TEST_CASE("reads that are shared")
{
    fail_each_allocation<Sharing>();
}

TEST_CASE("lookups of keys")
{
    fail_each_allocation<LookUps>();
}

TEST_CASE("records of keys")
{
    fail_each_allocation<KeyRecord>();
}

TEST_CASE("unknown keys")
{
    fail_each_allocation<UnknownKeys>();
}

TEST_CASE("decisions of the limiter")
{
    fail_each_allocation<Decided>();
}

TEST_CASE("decisions of a limiter whose script Redis does not know")
{
    fail_each_allocation<WithoutScript>();
}

TEST_CASE("decisions that are lost")
{
    fail_each_allocation<Lost>();
}

TEST_CASE("reports of denials")
{
    fail_each_allocation<Denials>();
}

TEST_CASE("reads")
{
    fail_each_allocation<Reads>();
}
