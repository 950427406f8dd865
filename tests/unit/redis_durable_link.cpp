#include "catch.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fake_alarm.h"
#include "fake_link.h"
#include "redis/durable_link.h"
#include "redis/pipeline.h"

using namespace petstore;
using redis::Durability;
using redis::DurableLink;
using redis::NoReply;

namespace {

constexpr std::uint64_t kTimeout = 500;

struct FakeOwner final : DurableLink::Owner {
    void unsupported(const char* command,
                     const redis::Reply& error) noexcept override
    {
        lines.push_back(std::string(command) + ": "
                        + std::string(error.text()));
    }
    void supported_again() noexcept override { lines.push_back("again"); }
    void not_reached(std::size_t commands) noexcept override
    {
        lines.push_back(std::to_string(commands) + " not reached");
    }
    void queue_full() noexcept override { lines.push_back("full"); }

    std::vector<std::string> lines;
};

struct Handler final : redis::ReplyHandler {
    void on_reply(const redis::Reply& reply) noexcept override
    {
        ++calls;
        if (reply.is_error()) {
            outcome = std::string(reply.text());
        } else {
            outcome = std::to_string(reply[0].integer());
        }
        run();
    }
    void on_no_reply(NoReply cause) noexcept override
    {
        ++calls;
        outcome = cause == NoReply::not_sent ? "not sent" : "in doubt";
        run();
    }
    void run()
    {
        if (then) {
            std::exchange(then, nullptr)();
        }
    }

    int calls = 0;
    std::string outcome;
    std::function<void()> then;
};

std::string pet(int id)
{
    return array({integer(id), integer(0)});
}

using Lines = std::vector<std::string>;

struct Fixture {
    explicit Fixture(Durability durability = {2, false})
        : durable(wire, wire, alarm, owner, durability, kTimeout)
    {}

    void send(Handler& handler, const std::string& name = "CREATE")
    {
        durable.send(redis::Command("X").own(name), handler);
    }

    // The second word of each command without a reply, oldest first, or the
    // whole WAIT.
    Lines open() const
    {
        Lines names;
        for (const auto& command : wire.commands) {
            if (command[0] == "X") {
                names.push_back(command[1]);
                continue;
            }
            std::string line;
            for (const auto& word : command) {
                line += (line.empty() ? "" : " ") + word;
            }
            names.push_back(line);
        }
        return names;
    }

    void end() { wire.end_iteration(); }

    // Confirms that the connection supports WAIT.
    void support()
    {
        durable.warm_up();
        CHECK(open() == Lines{"WAIT 0 1"});
        wire.reply(integer(0));
        end();
        CHECK(open().empty());
    }

    void pass(std::uint64_t ms) { alarm.wait(ms); }

    FakeLink wire;
    FakeAlarm alarm;
    FakeOwner owner;
    DurableLink durable;
    Handler a;
    Handler b;
    Handler c;
};

}  // namespace

TEST_CASE("replies are kept until enough replicas have the batch", "[redis]")
{
    Fixture f;
    f.support();
    f.send(f.a, "a");
    CHECK(f.open().empty());
    f.send(f.b, "b");
    f.end();
    REQUIRE(f.open() == Lines{"a", "b", "WAIT 2 500"});
    f.wire.reply(pet(1));
    f.wire.reply(pet(2));
    CHECK(f.a.calls + f.b.calls == 0);
    SECTION("just enough")
    {
        f.wire.reply(integer(2));
    }
    SECTION("more than enough")
    {
        f.wire.reply(integer(3));
    }
    CHECK(f.a.outcome == "1");
    CHECK(f.b.outcome == "2");
    CHECK(f.a.calls + f.b.calls == 2);
    CHECK_FALSE(f.alarm.alarm);
    CHECK(f.owner.lines.empty());
}

TEST_CASE("a batch on too few replicas is in doubt", "[redis]")
{
    Fixture f;
    f.support();
    f.send(f.a);
    f.send(f.b);
    f.end();
    f.wire.reply(pet(1));
    f.wire.reply(pet(2));
    SECTION("fewer")
    {
        f.wire.reply(integer(1));
    }
    SECTION("a malformed reply")
    {
        f.wire.reply(bulk("2"));
    }
    CHECK(f.a.outcome == "in doubt");
    CHECK(f.b.outcome == "in doubt");
    CHECK(f.owner.lines == Lines{"2 not reached"});
    // The connection still supports WAIT.
    f.send(f.c, "c");
    f.end();
    CHECK(f.open() == Lines{"c", "WAIT 2 500"});
}

TEST_CASE("commands wait until the last batch has ended", "[redis]")
{
    Fixture f;
    f.support();
    f.send(f.a, "a");
    f.end();
    f.pass(100);
    f.send(f.b, "b");
    f.end();
    f.pass(100);
    f.send(f.c, "c");
    f.end();
    REQUIRE(f.open() == Lines{"a", "WAIT 2 500"});
    f.wire.reply(pet(1));
    CHECK(f.open() == Lines{"WAIT 2 500"});
    f.wire.reply(integer(2));
    CHECK(f.a.outcome == "1");
    CHECK(f.open().empty());
    f.pass(100);
    f.end();
    // Until the last command's time is over.
    CHECK(f.open() == Lines{"b", "c", "WAIT 2 400"});
    CHECK(f.alarm.alarm == 10'600);
    f.wire.reply(pet(2));
    f.wire.reply(pet(3));
    f.wire.reply(integer(2));
    CHECK(f.b.outcome == "2");
    CHECK(f.c.outcome == "3");
}

TEST_CASE("a handler that sends again starts the next batch", "[redis]")
{
    Fixture f;
    f.support();
    f.a.then = [&] { f.send(f.b, "b"); };
    f.send(f.a, "a");
    f.end();
    SECTION("after its reply")
    {
        f.wire.reply(pet(1));
        f.wire.reply(integer(2));
    }
    SECTION("after an error, which needs no replicas")
    {
        f.wire.reply("-NOSCRIPT no\r\n");
        CHECK(f.a.outcome == "NOSCRIPT no");
        f.end();
        CHECK(f.open() == Lines{"WAIT 2 500"});
        f.wire.reply(integer(2));
    }
    SECTION("after it was lost")
    {
        f.wire.lose(NoReply::in_doubt);
        CHECK(f.a.outcome == "in doubt");
        f.end();
        f.wire.lose(NoReply::in_doubt);
    }
    f.end();
    CHECK(f.open() == Lines{"b", "WAIT 2 500"});
    CHECK(f.a.calls == 1);
}

TEST_CASE("a lost connection leaves written commands in doubt", "[redis]")
{
    Fixture f;
    f.support();
    f.send(f.a, "a");
    f.send(f.b, "b");
    f.end();
    f.send(f.c, "c");
    f.end();
    SECTION("before any reply")
    {
        f.wire.lose(NoReply::in_doubt);
        f.wire.lose(NoReply::not_sent);
        f.wire.lose(NoReply::not_sent);
        CHECK(f.a.outcome == "in doubt");
        CHECK(f.b.outcome == "not sent");
    }
    SECTION("after some replies")
    {
        f.wire.reply(pet(1));
        f.wire.lose(NoReply::in_doubt);
        CHECK(f.a.calls == 0);
        f.wire.lose(NoReply::in_doubt);
        CHECK(f.a.outcome == "in doubt");
        CHECK(f.b.outcome == "in doubt");
    }
    SECTION("before the WAIT")
    {
        f.wire.reply(pet(1));
        f.wire.reply(pet(2));
        f.wire.lose(NoReply::in_doubt);
        CHECK(f.a.outcome == "in doubt");
        CHECK(f.b.outcome == "in doubt");
    }
    CHECK(f.a.calls + f.b.calls == 2);
    CHECK(f.c.calls == 0);
    CHECK(f.owner.lines.empty());
    // The next connection may be to another server.
    ++f.wire.generation;
    f.end();
    REQUIRE(f.open() == Lines{"WAIT 0 1"});
    f.wire.reply(integer(0));
    f.end();
    CHECK(f.open() == Lines{"c", "WAIT 2 500"});
}

TEST_CASE("a WAIT that was not sent confirms nothing", "[redis]")
{
    Fixture f;
    f.support();
    f.send(f.a, "a");
    f.end();
    f.wire.reply(pet(1));
    f.wire.lose(NoReply::not_sent);
    CHECK(f.a.outcome == "in doubt");
}

TEST_CASE("each command of a batch has its own timeout", "[redis]")
{
    Fixture f;
    f.support();
    f.send(f.a, "a");
    f.end();
    f.pass(200);
    f.send(f.b, "b");
    f.end();
    CHECK(f.alarm.alarm == 10'500);
    f.pass(299);
    CHECK(f.a.calls == 0);
    f.pass(1);
    CHECK(f.a.outcome == "in doubt");
    CHECK(f.owner.lines == Lines{"1 not reached"});
    CHECK(f.alarm.alarm == 10'700);
    f.pass(200);
    // The command is still waiting for the first WAIT.
    CHECK(f.b.outcome == "not sent");
    CHECK_FALSE(f.alarm.alarm);

    SECTION("late replies are dropped")
    {
        f.wire.reply(pet(1));
        f.wire.reply(integer(2));
    }
    SECTION("and so is their loss")
    {
        f.wire.lose(NoReply::in_doubt);
        f.wire.lose(NoReply::in_doubt);
    }
    SECTION("and so are late errors")
    {
        f.wire.reply("-OOM no\r\n");
        f.wire.reply(integer(2));
    }
    CHECK(f.a.calls + f.b.calls == 2);
    f.send(f.c, "c");
    f.end();
    CHECK(f.open() == Lines{"c", "WAIT 2 500"});
    CHECK(f.owner.lines.size() == 1);
}

TEST_CASE("a command that expires behind a WAIT for nothing is reported",
          "[redis]")
{
    Fixture f;
    f.support();
    f.a.then = [&] { f.send(f.b, "b"); };
    f.send(f.a, "a");
    f.send(f.c, "c");
    f.end();
    f.wire.reply("-NOSCRIPT no\r\n");
    f.end();
    REQUIRE(f.open() == Lines{"c", "WAIT 2 500"});
    SECTION("if nothing was written")
    {
        f.wire.reply("-NOSCRIPT no\r\n");
        f.pass(500);
        CHECK(f.owner.lines == Lines{"1 not reached"});
    }
    SECTION("but not if Redis has yet to reply")
    {
        f.alarm.time += 500;
        f.pass(0);
        CHECK(f.c.outcome == "in doubt");
        CHECK(f.owner.lines == Lines{"1 not reached"});  // c
        f.wire.reply(pet(1));
    }
    CHECK(f.b.outcome == "not sent");
    f.wire.reply(integer(0));
    f.end();
    CHECK(f.open().empty());
    CHECK(f.owner.lines.size() == 1);

    // The WAIT has confirmed nothing, and the next batch is as usual.
    Handler d;
    f.send(d, "d");
    f.end();
    CHECK(f.open() == Lines{"d", "WAIT 2 500"});
    f.wire.reply(pet(4));
    f.wire.reply(integer(2));
    CHECK(d.outcome == "4");
}

TEST_CASE("a late command does not shorten the wait of others", "[redis]")
{
    Fixture f;
    f.support();
    f.send(f.a, "a");
    f.end();
    f.send(f.b, "b");
    f.pass(400);
    f.send(f.c, "c");
    f.wire.reply(pet(1));
    f.wire.reply(integer(2));
    f.end();
    REQUIRE(f.open() == Lines{"b", "c", "WAIT 2 500"});
    f.pass(100);
    CHECK(f.b.outcome == "in doubt");
    f.wire.reply(pet(2));
    f.wire.reply(pet(3));
    f.wire.reply(integer(2));
    CHECK(f.c.outcome == "3");
    CHECK(f.b.calls + f.c.calls == 2);
}

TEST_CASE("a WAIT never waits forever", "[redis]")
{
    Fixture f;
    f.support();
    f.send(f.a, "a");
    f.alarm.time += 500;  // a long event-loop iteration
    f.end();
    CHECK(f.open() == Lines{"a", "WAIT 2 1"});
    f.alarm.time += 500;
    f.pass(0);
    CHECK(f.a.outcome == "in doubt");
}

TEST_CASE("a batch fits into a pipeline with its WAIT", "[redis]")
{
    Fixture f;
    f.support();
    std::vector<Handler> handlers(redis::Pipeline::kMaxPending + 1);
    std::size_t batch = DurableLink::kMaxBatch;
    SECTION("many")
    {
        for (auto& handler : handlers) {
            f.send(handler);
        }
        CHECK(handlers.back().outcome == "not sent");
        CHECK(f.owner.lines == Lines{"full"});
    }
    SECTION("long")
    {
        batch = 52;
        for (int i = 0; i < 60; ++i) {
            f.send(handlers.at(static_cast<std::size_t>(i)),
                   std::string(10'000, 'x'));
        }
    }
    f.end();
    REQUIRE(f.wire.commands.size() == batch + 1);
    CHECK(f.wire.commands.back()[0] == "WAIT");
    redis::Pipeline pipeline;
    for (const auto& command : f.wire.commands) {
        CHECK_FALSE(pipeline.full());
        redis::Command copy(command[0]);
        for (std::size_t i = 1; i < command.size(); ++i) {
            copy.arg(command[i]);
        }
        CHECK(pipeline.add(copy, nullptr, 0));
    }
}

TEST_CASE("commands do not borrow from their sender", "[redis]")
{
    Fixture f;
    f.support();
    {
        std::string text = "a text that is longer than any small string";
        redis::Command command("X");
        command.arg(text);
        f.durable.send(command, f.a);
        text.assign(text.size(), '-');
    }
    f.end();
    CHECK(f.wire.commands[0][1]
          == "a text that is longer than any small string");
}

// --- support -----------------------------------------------------------------

TEST_CASE("no command is sent before the connection supports the wait",
          "[redis]")
{
    Fixture f;
    f.send(f.a, "a");
    f.end();
    REQUIRE(f.open() == Lines{"WAIT 0 1"});
    f.send(f.b, "b");
    f.durable.warm_up();
    f.end();
    CHECK(f.open() == Lines{"WAIT 0 1"});
    SECTION("it does")
    {
        f.wire.reply(integer(0));
        f.end();
        CHECK(f.open() == Lines{"a", "b", "WAIT 2 500"});
    }
    SECTION("it was lost")
    {
        f.wire.lose(NoReply::in_doubt);
        CHECK(f.a.outcome == "not sent");
        CHECK(f.b.outcome == "not sent");
        CHECK(f.owner.lines.empty());
    }
    SECTION("it refuses")
    {
        f.wire.reply("-NOPERM no\r\n");
        CHECK(f.a.outcome == "not sent");
        CHECK(f.b.outcome == "not sent");
        CHECK(f.owner.lines == Lines{"WAIT: NOPERM no"});
        CHECK_FALSE(f.alarm.alarm);

        // The next command checks again; the error is reported once.
        f.send(f.c);
        f.end();
        CHECK(f.open() == Lines{"WAIT 0 1"});
        f.wire.reply("-NOPERM no\r\n");
        CHECK(f.c.outcome == "not sent");
        CHECK(f.owner.lines.size() == 1);

        f.send(f.c, "c");
        f.end();
        f.wire.reply(integer(0));
        f.end();
        CHECK(f.open() == Lines{"c", "WAIT 2 500"});
        CHECK(f.owner.lines == Lines{"WAIT: NOPERM no", "again"});
    }
    SECTION("it cannot say now")
    {
        f.wire.reply("-LOADING no\r\n");
        CHECK(f.a.outcome == "not sent");
        CHECK(f.owner.lines.empty());
    }
    SECTION("its time is over")
    {
        f.pass(500);
        CHECK(f.a.outcome == "not sent");
        CHECK(f.b.outcome == "not sent");
        f.wire.reply(integer(0));
        f.end();
        CHECK(f.open().empty());
    }
}

TEST_CASE("a link that is down fails commands at once", "[redis]")
{
    Fixture f;
    f.wire.full = true;
    f.a.then = [&] { f.send(f.b); };
    f.send(f.a);
    f.end();
    CHECK(f.a.outcome == "not sent");
    CHECK(f.b.outcome == "not sent");
    CHECK_FALSE(f.alarm.alarm);

    f.wire.full = false;
    f.support();
    f.send(f.c);
    f.wire.full = true;
    f.end();
    CHECK(f.c.outcome == "not sent");
}

TEST_CASE("a WAIT that is refused leaves its batch in doubt", "[redis]")
{
    Fixture f;
    f.support();
    f.send(f.a);
    f.end();
    f.wire.reply(pet(1));
    SECTION("by the operator")
    {
        f.wire.reply("-NOPERM no\r\n");
        CHECK(f.owner.lines == Lines{"WAIT: NOPERM no"});
    }
    SECTION("by a failover")
    {
        f.wire.reply("-UNBLOCKED no\r\n");
        CHECK(f.owner.lines.empty());
    }
    CHECK(f.a.outcome == "in doubt");
    f.send(f.b);
    f.end();
    CHECK(f.open() == Lines{"WAIT 0 1"});
}

TEST_CASE("only errors that need an operator are reported", "[redis]")
{
    Fixture f;
    f.send(f.a);
    f.end();
    Replies replies;
    const auto& waiter = *f.wire.handlers.front();
    CHECK(waiter.reports(replies("-ERR unknown command 'WAITAOF'\r\n")));
    CHECK(waiter.reports(replies("-NOPERM no\r\n")));
    CHECK_FALSE(waiter.reports(replies("-LOADING no\r\n")));
    CHECK_FALSE(waiter.reports(replies("-READONLY no\r\n")));
    CHECK_FALSE(f.a.reports(replies("-ERR no\r\n")));
}

// --- the disk ----------------------------------------------------------------

TEST_CASE("a batch waits for the primary's disk", "[redis]")
{
    Fixture f({0, true});
    f.send(f.a, "a");
    f.end();
    REQUIRE(f.open() == Lines{"WAITAOF 1 0 1"});
    f.wire.reply(array({integer(1), integer(0)}));
    f.end();
    REQUIRE(f.open() == Lines{"a", "WAITAOF 1 0 500"});
    f.wire.reply(pet(1));
    SECTION("it has it")
    {
        f.wire.reply(array({integer(1), integer(0)}));
        CHECK(f.a.outcome == "1");
    }
    SECTION("it does not")
    {
        f.wire.reply(array({integer(0), integer(1)}));
        CHECK(f.a.outcome == "in doubt");
        CHECK(f.owner.lines == Lines{"1 not reached"});
    }
    SECTION("the reply is malformed")
    {
        f.wire.reply(integer(1));
        CHECK(f.a.outcome == "in doubt");
    }
    SECTION("the append-only file was switched off")
    {
        f.wire.reply("-ERR WAITAOF cannot be used\r\n");
        CHECK(f.a.outcome == "in doubt");
        CHECK(f.owner.lines == Lines{"WAITAOF: ERR WAITAOF cannot be used"});
    }
}

namespace {

// One request, for a replica and for the disk.
struct ForBoth : Fixture {
    ForBoth() : Fixture({1, true})
    {
        send(a, "a");
        end();
        REQUIRE(open() == Lines{"WAIT 0 1"});
        wire.reply(integer(0));
        REQUIRE(open() == Lines{"WAITAOF 1 0 1"});
    }
    void wait_for_replica()
    {
        wire.reply(array({integer(1), integer(0)}));
        end();
        REQUIRE(open() == Lines{"a", "WAIT 1 500"});
        wire.reply(pet(1));
        pass(200);
    }
};

}  // namespace

TEST_CASE("a connection may support WAIT but not WAITAOF", "[redis]")
{
    ForBoth f;
    f.wire.reply("-ERR unknown command 'WAITAOF'\r\n");
    CHECK(f.a.outcome == "not sent");
    CHECK(f.owner.lines == Lines{"WAITAOF: ERR unknown command 'WAITAOF'"});
}

TEST_CASE("a batch with too few replicas does not wait for the disk", "[redis]")
{
    ForBoth f;
    f.wait_for_replica();
    f.wire.reply(integer(0));
    CHECK(f.a.outcome == "in doubt");
    CHECK(f.open().empty());
}

TEST_CASE("a batch waits for replicas, then for the disk", "[redis]")
{
    ForBoth f;
    f.wait_for_replica();
    f.wire.reply(integer(1));
    CHECK(f.a.calls == 0);
    // With the remaining time.
    REQUIRE(f.open() == Lines{"WAITAOF 1 0 300"});
    SECTION("both")
    {
        f.wire.reply(array({integer(1), integer(0)}));
        CHECK(f.a.outcome == "1");
    }
    SECTION("not on disk")
    {
        f.wire.reply(array({integer(0), integer(0)}));
        CHECK(f.a.outcome == "in doubt");
    }
    SECTION("on the disk of another server")
    {
        ++f.wire.generation;
        f.wire.reply(array({integer(1), integer(0)}));
        CHECK(f.a.outcome == "in doubt");
        // What that server supports is asked first.
        f.send(f.b, "b");
        f.end();
        CHECK(f.open() == Lines{"WAIT 0 1"});
    }
    SECTION("lost in between")
    {
        f.wire.lose(NoReply::not_sent);
        CHECK(f.a.outcome == "in doubt");
        CHECK(f.owner.lines.empty());
    }
}

TEST_CASE("a batch may have waited for another connection", "[redis]")
{
    Fixture f({1, true});
    f.send(f.a, "a");
    f.end();
    f.wire.reply(integer(0));
    f.wire.reply(array({integer(1), integer(0)}));
    f.end();
    REQUIRE(f.open() == Lines{"a", "WAIT 1 500"});
    SECTION("before it was sent")
    {
        ++f.wire.generation;
        f.wire.reply(pet(1));
        f.wire.reply(integer(1));
        f.wire.reply(array({integer(1), integer(0)}));
        CHECK(f.a.outcome == "1");
        // That connection is now known to support the wait.
        f.send(f.b, "b");
        f.end();
        CHECK(f.open() == Lines{"b", "WAIT 1 500"});
    }
    SECTION("which does not support the wait")
    {
        ++f.wire.generation;
        f.wire.reply(pet(1));
        f.wire.reply("-NOPERM no WAIT\r\n");
        CHECK(f.a.outcome == "in doubt");
    }
    SECTION("after it was executed in part")
    {
        f.wire.reply(pet(1));
        ++f.wire.generation;
        f.wire.reply(integer(1));
        f.wire.reply(array({integer(1), integer(0)}));
        CHECK(f.a.outcome == "in doubt");
    }
}

TEST_CASE("a closed link fails all waiting commands", "[redis]")
{
    Fixture f;
    f.support();
    f.send(f.a);
    f.end();
    f.send(f.b);
    f.a.then = [&] { f.send(f.c); };
    f.wire.full = true;
    ++f.wire.generation;
    f.wire.lose(NoReply::in_doubt);
    f.wire.lose(NoReply::in_doubt);
    f.end();
    CHECK(f.a.outcome == "in doubt");
    CHECK(f.b.outcome == "not sent");
    CHECK(f.c.outcome == "not sent");
}
