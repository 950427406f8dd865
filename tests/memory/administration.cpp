// Whichever allocation fails, an operation of administration ends: it throws
// std::bad_alloc before it has done anything, or calls its waiter once.
#include <array>
#include <string>

#include "api/text.h"
#include "ready.h"
#include "service/admin/admin_call.h"
#include "shortage.h"
#include "store/accounts/account_administration.h"
#include "store/accounts/usage_administration.h"
#include "store/keys/key_administration.h"
#include "store/plans/host_record.h"
#include "store/random.h"
#include "store/scripts.h"
#include "unit/still.h"
#include "unit/store_replies.h"
#include "wire.h"

using namespace petstore;

namespace {

template <typename T>
struct Once final : store::Waiter<T> {
    void on_result(const store::Outcome<T>& outcome) noexcept override
    {
        ++calls;
        failed = outcome.failed();
        if (failed) {
            outcome.failure()->error.message.text().copy(message.data(),
                                                         message.size() - 1);
        }
    }
    int calls = 0;
    bool failed = false;
    std::array<char, 200> message{};
};

struct Administered {
    // OpenSSL crashes if its first use runs out of memory.
    Administered() { static_cast<void>(api::sha256({})); }

    template <std::size_t n>
    void answer(const std::array<const Ready*, n>& replies)
    {
        while (wire.waits()) {
            wire.take().handler->on_reply(*replies.at(answered++));
        }
    }

    template <typename T>
    void check(bool thrown, const Once<T>& waiter, int replies) const
    {
        CHECK(waiter.calls == (thrown ? 0 : 1));
        CHECK((answered == 0 || !thrown));
        if (!thrown && !waiter.failed) {
            CHECK(answered == replies);
        }
    }

    const store::Schema schema{"petstore"};
    Wire wire;
    const store::StoreLinks links{wire, wire, schema};
    store::Operations running;
    int answered = 0;
};

struct AdministeredKey : Administered {
    const std::string digest =
        api::to_hex(api::bytes_of(api::sha256("a secret")));
    const Ready record{
        array({bulk("id"), bulk("a-key-whose-id-needs-memory"), bulk("account"),
               bulk("an-account-whose-name-needs-memory"), bulk("epoch"),
               bulk("7")})};
};

struct ChangedKey : AdministeredKey {
    void act()
    {
        store::run(
            running,
            store::update_key(links, "a-key-whose-id-needs-memory", change),
            waiter);
        answer<4>({&entry, &record, &epoch, &epoch});
    }
    void check(bool thrown) const { AdministeredKey::check(thrown, waiter, 4); }

    const Ready entry{bulk(digest)};
    const Ready epoch{integer(8)};
    store::KeyChange change = [](api::KeyRecord&) {};
    Once<api::KeyRecord> waiter;
};

// The other key has no record, so its entry is read again.
struct ListedKeys : AdministeredKey {
    void act()
    {
        store::run(running, store::list_keys(links), waiter);
        answer<5>({&index, &record, &record, &entry, &record});
    }
    void check(bool thrown) const { AdministeredKey::check(thrown, waiter, 5); }

    const Ready entry{bulk(digest)};
    const Ready index{array(
        {bulk("0"),
         array({bulk("a-key-whose-id-needs-memory"), bulk(digest),
                bulk("another-key-whose-id-needs-memory"), bulk(digest)})})};
    Once<store::KeyListing> waiter;
};

struct AdministeredAccount : Administered {
    static std::string record_of(const char* external_id)
    {
        return array({bulk("id"), bulk(kId), bulk("created"),
                      bulk("1700000000"), bulk("epoch"), bulk("7"),
                      bulk("external_id"), bulk(external_id), bulk("label"),
                      bulk("A customer whose name needs memory")});
    }

    const Ready record{record_of("a-customer's-id")};
    const Ready epoch{integer(8)};
    const Ready done{integer(1)};
    const Ready none{kNil};
    const Ready claimed{bulk(kId)};

    static constexpr char kId[] = "an-account-whose-name-needs-memory";
};

// The record, the new claim, which is read and set, the write, the claim
// confirmed, the state, and the old claim freed; then the rest of the change:
// the record, the claim, the write and the state.
struct ChangedAccount : AdministeredAccount {
    void act()
    {
        store::run(running, store::update_account(links, {kId, ""}, change),
                   waiter);
        answer<11>({&record, &none, &done, &epoch, &claimed, &epoch, &done,
                    &renamed, &claimed, &epoch, &epoch});
    }
    void check(bool thrown) const { Administered::check(thrown, waiter, 11); }

    const Ready renamed{record_of("another-customer's-id")};
    store::AccountChange change = [](api::AccountRecord& account) {
        account.external_id = "another-customer's-id";
    };
    Once<api::AccountRecord> waiter;
};

struct ListedAccounts : AdministeredAccount {
    void act()
    {
        store::run(running, store::list_accounts(links), waiter);
        answer<3>({&index, &record, &record});
    }
    void check(bool thrown) const { Administered::check(thrown, waiter, 3); }

    const Ready index{
        array({bulk("0"),
               array({bulk(kId), bulk("1"),
                      bulk("another-account-that-needs-memory"), bulk("2")})})};
    Once<store::AccountListing> waiter;
};

struct ShownUsage : AdministeredAccount {
    void act()
    {
        store::run(running, store::read_usage(links, kId, {0, 0}), waiter);
        answer<2>({&record, &counts});
    }
    void check(bool thrown) const { Administered::check(thrown, waiter, 2); }

    const Ready counts{array(
        {bulk("1000"), bulk("0"),
         bulk(encode_numbers({7, 0, 3, 1'030'000, 4, 80'000'000, 9, 0, 0, 5})),
         kNil, kNil, array({bulk("01"), bulk("2")})})};
    Once<api::AccountUsage> waiter;
};

// A request to the admin API, after admission.
struct AdminRequest : AdministeredKey {
    // `value`: of the entry that each hash has. Empty: a digest.
    explicit AdminRequest(api::Operation operation, const char* body = "{}",
                          const std::string& value = "")
        : index(
            array({bulk("0"), array({bulk("a-key-whose-id-needs-memory"),
                                     bulk(value.empty() ? digest : value)})}))
    {
        call.operation = operation;
        call.id = "a-key-whose-id-needs-memory";
        call.caller_key_id = "own-key";
        call.caller_account_id = "own-account";
        call.list = "/keys";
        call.query.limit = 20;
        if (api::has_admin_body(operation)) {
            call.body = std::get<api::AdminBody>(
                api::parse_admin_body(operation, body));
        }
        // As above, for random numbers.
        static_cast<void>(store::new_id());
        store::scripts();
    }

    void act()
    {
        service::answer(call, admin, running, waiter);
        while (wire.waits()) {
            const auto sent = wire.take();
            ++answered;
            sent.handler->on_reply(sent.is("HGETALL") ? both
                                   : sent.is("HGET")  ? entry
                                   : sent.is("HSCAN") ? index
                                   : sent.is("TIME")  ? time
                                   : sent.is("SET")   ? claimed
                                   : sent.is("SSCAN") ? none
                                                      : done);
        }
    }

    void check(bool thrown) const
    {
        CHECK(waiter.calls == (thrown ? 0 : 1));
        CHECK((answered == 0 || !thrown));
        INFO(waiter.message.data());
        CHECK((Shortage::came() || waiter.failed == fails));
    }

    service::AdminCall call;
    bool fails = false;
    FixedClock clock;
    SilentAlarm alarm;
    service::AdminStore admin{schema,
                              {wire, wire, schema},
                              clock,
                              service::Pauses(alarm),
                              service::ListSemaphore(alarm)};
    Once<service::AdminResponse> waiter;
    const Ready entry{bulk(digest)};
    // Of the key, and of its account, which has the same id.
    const Ready both{
        array({bulk("id"), bulk("a-key-whose-id-needs-memory"), bulk("account"),
               bulk("a-key-whose-id-needs-memory"), bulk("created"), bulk("1"),
               bulk("label"), bulk("A customer whose name needs memory"),
               bulk("epoch"), bulk("7")})};
    const Ready index;
    const Ready none{array({bulk("0"), array({})})};
    const Ready time{array({bulk("1000"), bulk("0")})};
    const Ready claimed{kNil};
    const Ready done{integer(1)};
};

struct AdminShows : AdminRequest {
    AdminShows() : AdminRequest(api::Operation::get_key) {}
};

struct AdminLists : AdminRequest {
    AdminLists() : AdminRequest(api::Operation::list_keys) {}
};

struct AdminListsPlans : AdminRequest {
    AdminListsPlans()
        : AdminRequest(api::Operation::list_plans, "",
                       "1000 "
                           + store::host_json(
                               {"a-host-whose-name-needs-memory",
                                "/etc/nginx/a-path/nginx.conf", "1"},
                               {{"a-plan-whose-name-needs-memory", {1, 2}}}))
    {}
};

struct AdminCreates : AdminRequest {
    AdminCreates()
        : AdminRequest(api::Operation::create_account,
                       R"({"label":"A customer whose name needs memory"})")
    {
        call.once = {api::sha256("a"), api::sha256("b")};
        fails = true;  // what it reads back has another id, which is damage
    }
};

struct AdminChanges : AdminRequest {
    AdminChanges()
        : AdminRequest(
            api::Operation::update_key,
            R"({"label":"A label that is so long: it needs memory"})")
    {}
};

}  // namespace

TEST_CASE("requests to the admin API")
{
    fail_each_allocation<AdminShows>();
    fail_each_allocation<AdminLists>();
    fail_each_allocation<AdminListsPlans>();
    fail_each_allocation<AdminCreates>();
    fail_each_allocation<AdminChanges>();
}

TEST_CASE("changes of accounts")
{
    fail_each_allocation<ChangedAccount>();
}

TEST_CASE("lists of accounts")
{
    fail_each_allocation<ListedAccounts>();
}

TEST_CASE("usage of an account")
{
    fail_each_allocation<ShownUsage>();
}

TEST_CASE("changes of keys")
{
    fail_each_allocation<ChangedKey>();
}

TEST_CASE("lists of keys")
{
    fail_each_allocation<ListedKeys>();
}
