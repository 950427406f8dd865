#include "catch.h"

#include <string>
#include <vector>

#include "fake_link.h"
#include "store/accounts/usage_probe.h"

using namespace petstore;

namespace {

struct Fixture : private store::EventLog {
    // Replies to whatever it sends, but otherwise to `other`, and returns how
    // much that was.
    std::size_t probe(const std::string& reply, const std::string& other = "",
                      const std::string& to_other = "")
    {
        const std::size_t before = link.sent.size();
        usage.probe_if_due();
        while (!link.commands.empty()) {
            link.reply(link.commands[0][0] == other ? to_other : reply);
        }
        return link.sent.size() - before;
    }

    void report(store::Event event) noexcept override
    {
        forbidden += event == store::Event::usage_forbidden;
    }

    FakeLink link;
    const store::Schema schema{"P"};
    store::UsageProbe usage{link, schema, *this};
    int forbidden = 0;
};

}  // namespace

TEST_CASE("writing a usage is tried once per connection", "[store]")
{
    Fixture f;
    CHECK(f.probe(":1\r\n") == 3);
    CHECK(f.link.sent[0]
          == FakeLink::Words{"HINCRBY", "P:{probe}:usage:0", "probe", "1"});
    CHECK(f.link.sent[1]
          == FakeLink::Words{"PEXPIRE", "P:{probe}:usage:0", "10000"});
    CHECK(f.link.sent[2] == FakeLink::Words{"HGETALL", "P:{probe}:usage:0"});
    CHECK(f.probe(":1\r\n") == 0);
    ++f.link.generation;
    CHECK(f.probe(":1\r\n") == 3);
    CHECK(f.forbidden == 0);
}

TEST_CASE("a missing rule for the usage is reported once", "[store]")
{
    const std::string forbidden =
        "-NOPERM this user has no permissions to run the 'hincrby' command\r\n";
    Fixture f;
    CHECK(f.probe(forbidden) == 3);
    CHECK(f.forbidden == 1);
    CHECK(f.probe(forbidden) == 0);
    ++f.link.generation;
    CHECK(f.probe(forbidden) == 3);
    CHECK(f.forbidden == 1);
    ++f.link.generation;
    f.probe(":1\r\n");
    ++f.link.generation;
    f.probe(forbidden);
    CHECK(f.forbidden == 2);
}

TEST_CASE("each rule for the usage is missed", "[store]")
{
    for (const char* command : {"HINCRBY", "PEXPIRE", "HGETALL"}) {
        CAPTURE(command);
        Fixture f;
        f.probe(":1\r\n", command,
                "-NOPERM this user has no permissions to run this command\r\n");
        CHECK(f.forbidden == 1);
    }
}

TEST_CASE("a probe of the usage that failed is repeated", "[store]")
{
    Fixture f;
    CHECK(f.probe("-LOADING Redis is loading the dataset in memory\r\n") == 3);
    f.usage.probe_if_due();
    for (int i = 0; i < 3; ++i) {
        f.link.lose(redis::NoReply::in_doubt);
    }
    CHECK(f.probe(":1\r\n") == 3);
    CHECK(f.probe(":1\r\n") == 0);
    CHECK(f.forbidden == 0);
}
