#include "catch.h"

#include <string>

#include "store/keys/key_commands.h"
#include "store/scripts.h"
#include "store_replies.h"

using namespace petstore;
using store::KeyCommands;
using store::RecordFound;
using store::StoredKey;

namespace {

const store::Schema kSchema("petstore");
const KeyCommands kCommands(kSchema);

StoredKey some_key()
{
    StoredKey key;
    key.digest.fill(0xab);
    key.record.id = "k1";
    key.record.account = "a1";
    key.record.epoch = 17;
    return key;
}

std::string record_name()
{
    std::string digest;
    for (int i = 0; i < 32; ++i) {
        digest += "ab";
    }
    return "petstore:key:" + digest;
}

// The value that write() sets the field to.
std::string written(const StoredKey& key, const std::string& field)
{
    const auto command = words(kCommands.write(key, 1));
    for (std::size_t i = 6; i + 1 < command.size(); i += 2) {
        if (command[i] == field) {
            return command[i + 1];
        }
    }
    return "no such field";
}

}  // namespace

TEST_CASE("a key is written only if unchanged since it was read", "[store]")
{
    auto key = some_key();
    auto command = words(kCommands.write(key, key.record.epoch));
    REQUIRE(command.size() > 6);
    CHECK(command[1] == store::scripts().write_record.sha1);
    CHECK(command[2] == "1");
    CHECK(command[3] == record_name());
    CHECK(command[4] == "17");
    CHECK(command[5].empty());
    // The script sets the epoch.
    CHECK(written(key, "epoch") == "no such field");

    // A new key that is unfinished expires.
    key.unfinished = true;
    command = words(kCommands.write(key, std::nullopt));
    CHECK(command[0] == "EVALSHA");
    CHECK(command[4].empty());
    CHECK(command[5] == "86400000");
    CHECK(written(key, "unfinished") == "1");

    CHECK(words(kCommands.remove(key))
          == std::vector<std::string>{"EVALSHA",
                                      store::scripts().delete_record.sha1, "1",
                                      record_name(), "17"});
}

TEST_CASE("fields without a value are removed from the record", "[store]")
{
    auto key = some_key();
    for (const char* field :
         {"per_minute", "per_day", "label", "expires", "last4", "replaced_by",
          "unfinished", "successors"}) {
        CAPTURE(field);
        CHECK(written(key, field).empty());
    }
    key.record.per_minute = 5;
    key.record.expires = 1800000000;
    key.successors = "k2:00 k3:11";
    CHECK(written(key, "per_minute") == "5");
    CHECK(written(key, "expires") == "1800000000");
    CHECK(written(key, "successors") == "k2:00 k3:11");
    CHECK(written(key, "disabled") == "0");
}

TEST_CASE("fields that only administration uses are parsed", "[store]")
{
    Replies replies;
    StoredKey key;
    key.unfinished = true;
    key.successors = "x";
    CHECK(KeyCommands::parse(replies(array({bulk("id"), bulk("k1"),
                                            bulk("account"), bulk("a1")})),
                             key)
          == RecordFound::found);
    CHECK(key.record.id == "k1");
    CHECK_FALSE(key.unfinished);
    CHECK(key.successors.empty());

    CHECK(
        KeyCommands::parse(
            replies(array({bulk("id"), bulk("k1"), bulk("account"), bulk("a1"),
                           bulk("unfinished"), bulk("1"), bulk("successors"),
                           bulk("k2:" + std::string(64, '0'))})),
            key)
        == RecordFound::found);
    CHECK(key.unfinished);
    CHECK(key.successors == "k2:" + std::string(64, '0'));
    CHECK(KeyCommands::parse(replies(array({})), key) == RecordFound::absent);
    CHECK(KeyCommands::parse(replies(array({bulk("id"), bulk("k1")})), key)
          == RecordFound::invalid);
}
