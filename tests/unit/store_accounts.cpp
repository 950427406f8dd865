#include "catch.h"

#include <string>
#include <vector>

#include "store/accounts/account_commands.h"
#include "store/scripts.h"
#include "store_replies.h"

using namespace petstore;
using store::AccountCommands;
using store::RecordFound;

namespace {

using Words = std::vector<std::string>;

const store::Schema kSchema("petstore");
const AccountCommands kAccounts(kSchema);

AccountCommands::Found parse(const Words& fields)
{
    Replies replies;
    Words items;
    for (const auto& field : fields) {
        items.push_back(bulk(field));
    }
    return AccountCommands::parse(replies(array(items)), "a1");
}

AccountCommands::Found round_trip(const api::AccountRecord& record)
{
    const auto command = words(kAccounts.write(record, std::nullopt));
    Words fields;
    for (std::size_t i = 6; i < command.size(); i += 2) {
        if (!command[i + 1].empty()) {
            fields.insert(fields.end(), {command[i], command[i + 1]});
        }
    }
    return parse(fields);
}

}  // namespace

TEST_CASE("an account record round-trips", "[store]")
{
    api::AccountRecord record;
    record.id = "a1";
    record.external_id = "cust_42/~!";
    record.label = "Zoë & Co: 10%";
    record.plan = "enterprise";
    record.per_minute = 5;
    record.per_day = 1000000000000;
    record.per_month = 7;
    record.disabled = true;
    record.created = 1700000000;
    record.implicit = true;
    record.deleted = 1800000000;

    const auto found = round_trip(record);
    REQUIRE(found.result == RecordFound::found);
    CHECK(found.record.id == record.id);
    CHECK(found.record.external_id == record.external_id);
    CHECK(found.record.label == record.label);
    CHECK(found.record.plan == record.plan);
    CHECK(found.record.per_minute == record.per_minute);
    CHECK(found.record.per_day == record.per_day);
    CHECK(found.record.per_month == record.per_month);
    CHECK(found.record.disabled == record.disabled);
    CHECK(found.record.created == record.created);
    CHECK(found.record.implicit == record.implicit);
    CHECK(found.record.deleted == record.deleted);
}

TEST_CASE("an account needs no more than id and creation", "[store]")
{
    api::AccountRecord record;
    record.id = "a1";
    const auto found = round_trip(record);
    REQUIRE(found.result == RecordFound::found);
    CHECK(found.record.external_id.empty());
    CHECK(found.record.plan.empty());
    CHECK_FALSE(found.record.per_minute);
    CHECK_FALSE(found.record.disabled);
    CHECK_FALSE(found.record.implicit);
    CHECK(found.record.deleted == 0);
    CHECK(found.record.epoch == 0);
    CHECK(parse({"id", "a1", "created", "5", "epoch", "9"}).record.epoch == 9);
    CHECK(parse({"id", "a1"}).result == RecordFound::invalid);
    CHECK(parse({"created", "5"}).result == RecordFound::invalid);
    CHECK(parse({}).result == RecordFound::absent);
}

TEST_CASE("the record of another account is invalid", "[store]")
{
    CHECK(parse({"id", "a2", "created", "5"}).result == RecordFound::invalid);
}

TEST_CASE("a damaged account record is invalid", "[store]")
{
    Words fields = {"id", "a1", "created", "5"};
    const auto wrong = GENERATE(
        Words{"id", "a 1"}, Words{"id", ""}, Words{"created", ""},
        Words{"created", "yesterday"}, Words{"created", "253402300800"},
        Words{"external_id", ""}, Words{"external_id", "a b"},
        Words{"external_id", "a\r\nX-Plan: pro"},
        Words{"external_id", "\xC3\xA9"},
        Words{"external_id", std::string(129, 'x')}, Words{"plan", "Pro"},
        Words{"plan", std::string(33, 'p')}, Words{"per_minute", "0"},
        Words{"per_minute", ""}, Words{"per_day", "1.5"},
        Words{"per_day", "1000000000001"}, Words{"per_month", "-1"},
        Words{"per_month", "many"}, Words{"disabled", ""},
        Words{"disabled", "yes"}, Words{"implicit", "0"}, Words{"implicit", ""},
        Words{"deleted", "0"}, Words{"deleted", "soon"}, Words{"epoch", "x"},
        Words{"epoch", "9007199254740993"});
    CAPTURE(wrong);
    fields.insert(fields.end(), wrong.begin(), wrong.end());
    CHECK(parse(fields).result == RecordFound::invalid);
}

TEST_CASE("what any version wrote of an account is valid", "[store]")
{
    Words fields = {"id", "a1", "created", "5"};
    const auto also = GENERATE(
        Words{"label", "a\r\n\x1b\xff"}, Words{"label", std::string(1000, 'x')},
        Words{"plan", ""}, Words{"external_id", std::string(128, '~')},
        Words{"disabled", "0"}, Words{"deleted", "1"}, Words{"colour", "red"});
    CAPTURE(also);
    fields.insert(fields.end(), also.begin(), also.end());
    CHECK(parse(fields).result == RecordFound::found);
}

TEST_CASE("a reply that is not an account's hash is invalid", "[store]")
{
    const auto reply = GENERATE(
        as<std::string>{}, "$-1\r\n", "+OK\r\n", ":1\r\n", "-WRONGTYPE x\r\n",
        "*1\r\n$2\r\nid\r\n", "*2\r\n$2\r\nid\r\n:1\r\n");
    CAPTURE(reply);
    Replies replies;
    CHECK(AccountCommands::parse(replies(reply), "a1").result
          == RecordFound::invalid);
}

TEST_CASE("an account's record is read and written by its id", "[store]")
{
    CHECK(kAccounts.name("a1") == "petstore:account:a1");
    CHECK(words(kAccounts.read("a1"))
          == Words{"HGETALL", "petstore:account:a1"});

    api::AccountRecord record;
    record.id = "a1";
    auto command = words(kAccounts.write(record, 7));
    CHECK(Words(command.begin() + 1, command.begin() + 6)
          == Words{store::scripts().write_record.sha1, "1",
                   "petstore:account:a1", "7", ""});
    // A deleted account's record ends with its usage.
    record.deleted = 5;
    command = words(kAccounts.write(record, std::nullopt));
    CHECK(Words(command.begin() + 4, command.begin() + 6)
          == Words{"", "37238400000"});
}
