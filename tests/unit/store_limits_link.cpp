#include "catch.h"

#include <string>
#include <vector>

#include "fake_link.h"
#include "store/accounts/limits_link.h"

using namespace petstore;
using redis::NoReply;
using Words = FakeLink::Words;

namespace {

struct SetClock final : store::Clock {
    store::Monotonic monotonic() const noexcept override { return now; }
    api::Millis host_time() const noexcept override { return 0; }

    store::Monotonic now = 1'000'000;
};

struct Reports final : store::EventLog {
    void report(store::Event event) noexcept override
    {
        lines.emplace_back(event == store::Event::foreign_limits ? "foreign"
                           : event == store::Event::own_limits   ? "own"
                           : event == store::Event::limits_not_compared
                               ? "not compared"
                               : "other");
    }

    std::vector<std::string> lines;
};

struct Outcome final : redis::ReplyHandler {
    void on_reply(const redis::Reply& reply) noexcept override
    {
        ++calls;
        text = reply.text();
    }
    void on_no_reply(NoReply cause) noexcept override
    {
        ++calls;
        text = cause == NoReply::not_sent ? "not sent" : "in doubt";
    }

    int calls = 0;
    std::string text;
};

const Words kGet = {"GET", "p:limits-place"};

struct Fixture {
    void send(const std::string& word, Outcome& outcome)
    {
        link.send(redis::Command("SET").key("k").own(word), outcome);
    }
    static std::string marker(const std::string& text)
    {
        return text.empty() ? std::string("$-1\r\n") : bulk(text);
    }
    // Both sides reply to the first command.
    void connect(const std::string& of_main, const std::string& of_limits)
    {
        Outcome first;
        send("first", first);
        REQUIRE(main.commands == std::deque<Words>{kGet});
        REQUIRE(limits.commands == std::deque<Words>{kGet});
        main.reply(marker(of_main));
        limits.reply(marker(of_limits));
        if (limits.commands.empty()) {
            REQUIRE(first.text == "not sent");
        } else {
            limits.reply("+OK\r\n");
            REQUIRE(first.text == "OK");
        }
    }

    FakeLink limits;
    FakeLink main;
    SetClock clock;
    Reports log;
    store::LimitsLink link{{main, limits}, "p:limits-place", clock, log};
};

}  // namespace

TEST_CASE("commands wait until it is known whose limits they would change",
          "[store]")
{
    Fixture f;
    Outcome one;
    Outcome two;
    f.send("one", one);
    f.send("two", two);
    CHECK(f.limits.commands == std::deque<Words>{kGet});
    CHECK(f.main.commands == std::deque<Words>{kGet});
    f.limits.reply(bulk("here abc"));
    CHECK(f.limits.commands.empty());
    f.main.reply(bulk("elsewhere abc"));
    CHECK(f.limits.commands
          == std::deque<Words>{{"SET", "k", "one"}, {"SET", "k", "two"}});
    f.limits.reply("+1\r\n");
    f.limits.reply("+2\r\n");
    CHECK(one.text == "1");
    CHECK(two.text == "2");

    // Nothing more is asked over the same connections.
    f.clock.now += 3'600'000;
    f.send("three", one);
    CHECK(f.limits.commands == std::deque<Words>{{"SET", "k", "three"}});
    CHECK(f.main.commands.empty());
    CHECK(f.log.lines.empty());
}

TEST_CASE("limits of another store are refused until they are no more",
          "[store]")
{
    Fixture f;
    f.connect("elsewhere abc", "here xyz");
    CHECK(f.log.lines == Words{"foreign"});
    Outcome outcome;
    f.send("x", outcome);
    CHECK(outcome.text == "not sent");
    CHECK(f.limits.commands.empty());

    f.clock.now += store::LimitsLink::kInterval;
    f.send("y", outcome);
    CHECK(outcome.calls == 1);
    f.limits.reply(bulk("here xyz"));
    f.main.reply(bulk("elsewhere abc"));
    CHECK(outcome.calls == 2);
    CHECK(outcome.text == "not sent");
    CHECK(f.log.lines == Words{"foreign"});

    f.clock.now += store::LimitsLink::kInterval;
    f.send("z", outcome);
    f.main.reply(bulk("elsewhere xyz"));
    CHECK(f.limits.commands == std::deque<Words>{kGet});
    f.limits.reply(bulk("here xyz"));
    CHECK(f.limits.commands == std::deque<Words>{{"SET", "k", "z"}});
    CHECK(f.log.lines == Words{"foreign", "own"});
}

TEST_CASE("without an id on one side there is nothing to compare", "[store]")
{
    const auto [main, limits] = GENERATE(
        table<std::string, std::string>({{"", ""},
                                         {"", "here abc"},
                                         {"elsewhere abc", ""},
                                         {"elsewhere", "here abc"},
                                         {"elsewhere abc", "here "},
                                         {"elsewhere-format-2", "here abc"},
                                         {"elsewhere abc", "elsewhere abc"}}));
    Fixture f;
    f.connect(main, limits);
    CHECK(f.log.lines.empty());
    Outcome outcome;
    f.send("x", outcome);
    CHECK(f.limits.commands == std::deque<Words>{{"SET", "k", "x"}});
}

TEST_CASE("a new connection to the limit Redis is checked first", "[store]")
{
    Fixture f;
    f.connect("elsewhere abc", "here abc");
    ++f.limits.generation;
    Outcome outcome;
    f.send("x", outcome);
    CHECK(f.limits.commands == std::deque<Words>{kGet});
    CHECK(f.main.commands.empty());
    SECTION("it is the same store's")
    {
        f.limits.reply(bulk("here abc"));
        CHECK(f.limits.commands == std::deque<Words>{{"SET", "k", "x"}});
    }
    SECTION("it is not")
    {
        f.limits.reply(bulk("here xyz"));
        CHECK(outcome.text == "not sent");
        CHECK(f.log.lines == Words{"foreign"});
    }
    SECTION("it has another one in the meantime")
    {
        ++f.limits.generation;
        f.limits.reply(bulk("here abc"));
        CHECK(f.limits.commands == std::deque<Words>{kGet});
        f.limits.reply(bulk("here xyz"));
        CHECK(outcome.text == "not sent");
    }
    SECTION("it is lost")
    {
        f.limits.lose(NoReply::in_doubt);
        CHECK(outcome.text == "not sent");
        f.send("y", outcome);
        CHECK(f.limits.commands == std::deque<Words>{kGet});
    }
    SECTION("it has an error for everybody")
    {
        f.limits.reply("-LOADING x\r\n");
        CHECK(outcome.text == "LOADING x");
        f.send("y", outcome);
        CHECK(f.limits.commands == std::deque<Words>{kGet});
    }
}

TEST_CASE("a new connection to the main Redis delays no command", "[store]")
{
    Fixture f;
    f.connect("elsewhere abc", "here abc");
    ++f.main.generation;
    Outcome outcome;
    f.send("x", outcome);
    CHECK(f.limits.commands == std::deque<Words>{{"SET", "k", "x"}});
    CHECK(f.main.commands == std::deque<Words>{kGet});
    SECTION("it is away")
    {
        f.main.lose(NoReply::not_sent);
        f.send("y", outcome);
        CHECK(f.main.commands.empty());  // asked a moment ago
        f.clock.now += store::LimitsLink::kInterval;
        f.main.full = true;
        f.send("y", outcome);
        CHECK(f.limits.commands.size() == 3);
        CHECK(f.log.lines.empty());
    }
    SECTION("it is another store's")
    {
        f.main.reply(bulk("elsewhere xyz"));
        CHECK(f.log.lines == Words{"foreign"});
        f.send("y", outcome);
        CHECK(outcome.text == "not sent");
    }
}

TEST_CASE("without the main Redis the limits are used", "[store]")
{
    Fixture f;
    f.main.full = true;
    Outcome outcome;
    f.send("x", outcome);
    f.limits.reply(bulk("here abc"));
    CHECK(f.limits.commands == std::deque<Words>{{"SET", "k", "x"}});
}

TEST_CASE("a marker that may not be read is not compared", "[store]")
{
    Fixture f;
    Outcome outcome;
    f.send("x", outcome);
    const std::string forbidden = "-NOPERM no permissions\r\n";
    f.main.reply(forbidden);
    f.limits.reply(forbidden);
    CHECK(f.limits.commands == std::deque<Words>{{"SET", "k", "x"}});
    ++f.limits.generation;
    ++f.main.generation;
    f.send("y", outcome);
    f.main.reply(forbidden);
    CHECK(f.log.lines == Words{"not compared"});
}

TEST_CASE("in a Cluster only the first command waits for the marker", "[store]")
{
    Fixture f;
    f.limits.cluster = true;
    Outcome outcome;
    f.send("w", outcome);
    CHECK(f.limits.commands == std::deque<Words>{kGet});
    SECTION("its server is away")
    {
        f.limits.lose(NoReply::not_sent);
        CHECK(outcome.text == "not sent");
    }
    SECTION("it was read")
    {
        f.main.reply(bulk("elsewhere abc"));
        f.limits.reply(bulk("here abc"));
        CHECK(f.limits.commands == std::deque<Words>{{"SET", "k", "w"}});
    }
}

TEST_CASE("the last id counts while a Cluster's marker cannot be read",
          "[store]")
{
    Fixture f;
    f.limits.cluster = true;
    f.connect("elsewhere abc", "here abc");
    ++f.limits.generation;
    Outcome outcome;
    f.send("x", outcome);
    CHECK(f.limits.commands == std::deque<Words>{kGet, {"SET", "k", "x"}});
    CHECK(f.main.commands.empty());
    SECTION("it is the same")
    {
        f.limits.reply(bulk("here abc"));
        f.clock.now += store::LimitsLink::kInterval;
        f.send("y", outcome);
        CHECK(f.limits.commands
              == std::deque<Words>{{"SET", "k", "x"}, {"SET", "k", "y"}});
        CHECK(f.log.lines.empty());
    }
    SECTION("its server is away")
    {
        SECTION("and not asked")
        {
            f.limits.lose(NoReply::not_sent);
        }
        SECTION("and does not answer")
        {
            f.limits.lose(NoReply::in_doubt);
        }
        SECTION("and has an error")
        {
            f.limits.reply("-LOADING x\r\n");
        }
        CHECK(outcome.calls == 0);
        f.send("y", outcome);
        CHECK(f.limits.commands
              == std::deque<Words>{{"SET", "k", "x"}, {"SET", "k", "y"}});
        f.limits.reply("+OK\r\n");
        f.limits.reply("+OK\r\n");
        CHECK(outcome.calls == 2);

        // As soon as it is back, another store's limits are noticed.
        f.clock.now += store::LimitsLink::kInterval;
        f.send("z", outcome);
        CHECK(f.limits.commands == std::deque<Words>{kGet, {"SET", "k", "z"}});
        f.limits.reply(bulk("here xyz"));
        CHECK(f.log.lines == Words{"foreign"});
        Outcome refused;
        f.send("a", refused);
        CHECK(refused.text == "not sent");
    }
    SECTION("the main Redis has the id of another store meanwhile")
    {
        ++f.main.generation;
        f.send("y", outcome);
        CHECK(f.main.commands == std::deque<Words>{kGet});
        f.main.reply(bulk("elsewhere xyz"));
        CHECK(f.log.lines == Words{"foreign"});
        Outcome held;
        f.send("z", held);
        CHECK(held.calls == 0);
        f.limits.lose(NoReply::in_doubt);
        CHECK(held.text == "not sent");
    }
}

TEST_CASE("commands held for the main Redis outlive a Cluster's marker",
          "[store]")
{
    Fixture f;
    f.limits.cluster = true;
    Outcome outcome;
    f.send("x", outcome);
    f.limits.reply(bulk("here abc"));
    ++f.limits.generation;
    f.send("y", outcome);
    CHECK(f.limits.commands == std::deque<Words>{kGet});
    f.limits.lose(NoReply::not_sent);
    CHECK(outcome.calls == 0);
    f.main.reply(bulk("elsewhere abc"));
    CHECK(f.limits.commands
          == std::deque<Words>{{"SET", "k", "x"}, {"SET", "k", "y"}});
}
