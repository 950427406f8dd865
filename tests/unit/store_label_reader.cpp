#include "store/accounts/label_reader.h"

#include <map>
#include <string>

#include "catch.h"
#include "fake_link.h"

using namespace petstore;

namespace {

struct Known final : store::LabelObserver {
    void on_names(std::string_view account, std::string_view external_id,
                  std::string_view label) noexcept override
    {
        labels[std::string(account)] =
            std::string(external_id) + ": " + std::string(label);
    }
    std::map<std::string, std::string> labels;
};

std::string record(const char* id, const char* label)
{
    return array({bulk("id"), bulk(id), bulk("created"), bulk("1"),
                  bulk("external_id"), bulk("cust_1"), bulk("label"),
                  bulk(label)});
}

}  // namespace

TEST_CASE("labels and external ids of accounts are read", "[store]")
{
    FakeLink link;
    const store::Schema schema("P");
    Known known;
    store::LabelReader reader(link, schema, known);
    reader.read("a1");
    reader.read("a2");
    reader.read("a3");
    reader.read("a4");
    reader.read("a5");
    REQUIRE(link.commands.size() == 5);
    CHECK(link.commands[0] == FakeLink::Words{"HGETALL", "P:account:a1"});
    link.reply(record("a1", "Acme Ltd"));
    link.reply(array({}));             // no such account
    link.reply(record("other", "x"));  // damaged
    link.lose(redis::NoReply::in_doubt);
    link.reply("-NOPERM no\r\n");
    CHECK(known.labels
          == std::map<std::string, std::string>{{"a1", "cust_1: Acme Ltd"}});

    // A Redis that does not answer is not asked for ever more.
    for (int i = 0; i < 100; ++i) {
        reader.read("a1");
    }
    CHECK(link.commands.size() == 64);
    // A link that is down fails at once.
    FakeLink down;
    down.full = true;
    store::LabelReader other(down, schema, known);
    for (int i = 0; i < 100; ++i) {
        other.read("a1");
    }
    CHECK(down.sent.empty());
}
