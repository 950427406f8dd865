#include "catch.h"

#include <string>
#include <vector>

#include "store/keys/key_commands.h"
#include "store_replies.h"

using namespace petstore;
using store::KeyCommands;
using store::RecordFound;

namespace {

const store::Schema kSchema("petstore");

struct FoundKey {
    RecordFound result;
    api::KeyRecord record;
};

FoundKey parse_reply(const redis::Reply& reply)
{
    store::StoredKey key;
    const auto result = KeyCommands::parse(reply, key);
    return {result, key.record};
}

FoundKey parse(const std::vector<std::string>& fields)
{
    Replies replies;
    std::vector<std::string> items;
    for (const auto& field : fields) {
        items.push_back(bulk(field));
    }
    return parse_reply(replies(array(items)));
}

// The record written by write_record.lua, as the reply to HGETALL.
FoundKey round_trip(const api::KeyRecord& record)
{
    store::StoredKey key;
    key.record = record;
    const auto command = words(KeyCommands(kSchema).write(key, std::nullopt));
    std::vector<std::string> fields;
    for (std::size_t i = 6; i < command.size(); i += 2) {
        if (!command[i + 1].empty()) {
            fields.insert(fields.end(), {command[i], command[i + 1]});
        }
    }
    return parse(fields);
}

}  // namespace

TEST_CASE("a key record round-trips", "[store]")
{
    api::KeyRecord record;
    record.id = "k1";
    record.account = "a1";
    record.plan = "enterprise";
    record.per_minute = 5;
    record.per_day = 1000000000000;
    record.label = "Zoë & Co: 10%";
    record.per_month = 7;
    record.scopes = api::kScopeRead;
    record.further_scopes = "admin,reports:daily";
    record.created = 1700000000;
    record.expires = 1800000000;
    record.disabled = true;
    record.last4 = "wxyz";
    record.replaced_by = "k2";

    const auto found = round_trip(record);
    REQUIRE(found.result == RecordFound::found);
    CHECK(found.record.id == record.id);
    CHECK(found.record.account == record.account);
    CHECK(found.record.plan == record.plan);
    CHECK(found.record.per_minute == record.per_minute);
    CHECK(found.record.per_day == record.per_day);
    CHECK(found.record.per_month == record.per_month);
    CHECK(found.record.label == record.label);
    CHECK(found.record.scopes == record.scopes);
    CHECK(found.record.further_scopes == record.further_scopes);
    CHECK(found.record.created == record.created);
    CHECK(found.record.expires == record.expires);
    CHECK(found.record.disabled == record.disabled);
    CHECK(found.record.last4 == record.last4);
    CHECK(found.record.replaced_by == record.replaced_by);
}

TEST_CASE("fields that a record lacks stay unset", "[store]")
{
    api::KeyRecord record;
    record.id = "k1";
    record.account = "a1";
    const auto found = round_trip(record);
    REQUIRE(found.result == RecordFound::found);
    CHECK_FALSE(found.record.per_minute);
    CHECK_FALSE(found.record.per_day);
    CHECK_FALSE(found.record.expires);
    CHECK_FALSE(found.record.disabled);
    CHECK_FALSE(found.record.per_month);
    CHECK(found.record.plan.empty());
    CHECK(found.record.scopes == api::kScopeAll);
    CHECK(found.record.epoch == 0);
}

TEST_CASE("a record needs no more than id and account", "[store]")
{
    const auto found = parse({"account", "a1", "id", "k1"});
    REQUIRE(found.result == RecordFound::found);
    CHECK(found.record.plan.empty());
    CHECK(parse({"account", "a1", "id", "k1", "plan", ""}).record.plan.empty());
    CHECK(parse({"account", "a1", "id", "k1", "colour", "red"}).result
          == RecordFound::found);
}

TEST_CASE("an empty reply is a missing record", "[store]")
{
    CHECK(parse({}).result == RecordFound::absent);
}

TEST_CASE("a damaged record is invalid", "[store]")
{
    std::vector<std::string> fields = {"id", "k1", "account", "a1"};
    const auto wrong =
        GENERATE(std::vector<std::string>{"per_minute", "0"},
                 std::vector<std::string>{"per_minute", "-1"},
                 std::vector<std::string>{"per_minute", "1.5"},
                 std::vector<std::string>{"per_day", "1000000000001"},
                 std::vector<std::string>{"per_day", ""},
                 std::vector<std::string>{"created", "yesterday"},
                 std::vector<std::string>{"expires", "soon"},
                 std::vector<std::string>{"expires", ""},
                 std::vector<std::string>{"disabled", "maybe"},
                 std::vector<std::string>{"per_month", "0"},
                 std::vector<std::string>{"scopes", "Root"},
                 std::vector<std::string>{"scopes", ""},
                 std::vector<std::string>{"epoch", "x"},
                 std::vector<std::string>{"epoch", ""},
                 std::vector<std::string>{"epoch", "9007199254740993"},
                 std::vector<std::string>{"created", "253402300800"},
                 std::vector<std::string>{"expires", "-62167219201"},
                 std::vector<std::string>{"id", ""},
                 std::vector<std::string>{"id", "k 1"},
                 std::vector<std::string>{"id", std::string(65, 'k')},
                 std::vector<std::string>{"account", ""},
                 std::vector<std::string>{"account", "a\r\nX-Plan: pro"},
                 std::vector<std::string>{"account", "a}:state"},
                 std::vector<std::string>{"plan", "Pro"},
                 std::vector<std::string>{"plan", "pro\n"},
                 std::vector<std::string>{"last4", "12345"},
                 std::vector<std::string>{"last4", "\x1b[0m"},
                 std::vector<std::string>{"replaced_by", "{}"},
                 std::vector<std::string>{"unfinished", "0"},
                 std::vector<std::string>{"successors", ""},
                 std::vector<std::string>{"successors", "k2:ab"},
                 std::vector<std::string>{
                     "successors", "k2:" + std::string(64, '0') + " k 3"});
    CAPTURE(wrong);
    fields.insert(fields.end(), wrong.begin(), wrong.end());
    CHECK(parse(fields).result == RecordFound::invalid);
}

TEST_CASE("a damaged record still names its account", "[store]")
{
    const auto found = parse(
        {"created", "yesterday", "account", "a1", "id", "k1", "epoch", "7"});
    CHECK(found.result == RecordFound::invalid);
    CHECK(found.record.account == "a1");
    CHECK(found.record.epoch == 7);
    CHECK(parse({"id", "k1", "account", "a\r\n"}).record.account.empty());
}

TEST_CASE("what any version wrote is valid", "[store]")
{
    std::vector<std::string> fields = {"id", "k1", "account", "a1"};
    const std::string digest(64, 'a');
    const auto also =
        GENERATE_COPY(std::vector<std::string>{"label", ""},
                      std::vector<std::string>{"label", "a\r\n\x1b\xff"},
                      std::vector<std::string>{"label", std::string(1000, 'x')},
                      std::vector<std::string>{"last4", ""},
                      std::vector<std::string>{"scopes", "write,read"},
                      std::vector<std::string>{"scopes", "admin"},
                      std::vector<std::string>{"created", "-62167219200"},
                      std::vector<std::string>{"expires", "253402300799"},
                      std::vector<std::string>{"unfinished", "1"},
                      std::vector<std::string>{"successors", "k2:" + digest},
                      std::vector<std::string>{
                          "successors", "k2:" + digest + " k-_3:" + digest});
    CAPTURE(also);
    fields.insert(fields.end(), also.begin(), also.end());
    CHECK(parse(fields).result == RecordFound::found);
}

TEST_CASE("a reply that is not a hash is invalid", "[store]")
{
    const auto reply = GENERATE(
        as<std::string>{}, "$-1\r\n", "+OK\r\n", ":1\r\n", "-ERR x\r\n",
        "*1\r\n$2\r\nid\r\n", "*2\r\n$2\r\nid\r\n:1\r\n",
        "*2\r\n$2\r\nid\r\n$-1\r\n", "*2\r\n$7\r\naccount\r\n$1\r\na\r\n");
    CAPTURE(reply);
    Replies replies;
    CHECK(parse_reply(replies(reply)).result == RecordFound::invalid);
}

TEST_CASE("a record is read by the digest of its key", "[store]")
{
    const auto command = words(KeyCommands(kSchema).read(api::Digest{}));
    CHECK(command
          == std::vector<std::string>{"HGETALL",
                                      "petstore:key:" + std::string(64, '0')});
}
