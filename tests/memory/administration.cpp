// Whichever allocation fails, an operation of administration ends: it throws
// std::bad_alloc before it has done anything, or calls its waiter once.
#include <array>
#include <string>

#include "api/text.h"
#include "ready.h"
#include "shortage.h"
#include "store/keys/key_administration.h"
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
    }
    int calls = 0;
    bool failed = false;
};

struct AdministeredKey {
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
    const std::string digest =
        api::to_hex(api::bytes_of(api::sha256("a secret")));
    const Ready record{
        array({bulk("id"), bulk("a-key-whose-id-needs-memory"), bulk("account"),
               bulk("an-account-whose-name-needs-memory"), bulk("epoch"),
               bulk("7")})};
    Wire wire;
    store::KeyAdministration keys{{wire, wire, schema}};
    int answered = 0;
};

struct ChangedKey : AdministeredKey {
    void act()
    {
        keys.update("a-key-whose-id-needs-memory", change, waiter);
        answer<4>({&entry, &record, &epoch, &epoch});
    }
    void check(bool thrown) const { AdministeredKey::check(thrown, waiter, 4); }

    const Ready entry{bulk(digest)};
    const Ready epoch{integer(8)};
    store::KeyAdministration::Change change = [](api::KeyRecord&) {
        return std::nullopt;
    };
    Once<api::KeyRecord> waiter;
};

struct ListedKeys : AdministeredKey {
    void act()
    {
        keys.list(waiter);
        answer<3>({&index, &record, &record});
    }
    void check(bool thrown) const { AdministeredKey::check(thrown, waiter, 3); }

    const Ready index{array(
        {bulk("0"),
         array({bulk("a-key-whose-id-needs-memory"), bulk(digest),
                bulk("another-key-whose-id-needs-memory"), bulk(digest)})})};
    Once<store::KeyListing> waiter;
};

}  // namespace

TEST_CASE("changes of keys")
{
    fail_each_allocation<ChangedKey>();
}

TEST_CASE("lists of keys")
{
    fail_each_allocation<ListedKeys>();
}
