#include "catch.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "redis/pipeline.h"
#include "redis_replies.h"

using namespace petstore;
using redis::NoReply;
using redis::Pipeline;

namespace {

struct Handler final : redis::ReplyHandler {
    void on_reply(const redis::Reply&) noexcept override {}
    void on_no_reply(NoReply cause) noexcept override
    {
        causes.push_back(cause);
        if (then) {
            std::exchange(then, nullptr)();
        }
    }
    std::vector<NoReply> causes;
    std::function<void()> then;  // called once
};

const std::string kPing = "*1\r\n$4\r\nPING\r\n";

// What is sent after NOSCRIPT, in reply to as many commands.
struct ScriptCalls {
    ScriptCalls() = default;

    static redis::Command call(const redis::Script& script, int unknown = 1)
    {
        redis::Command command(script, 0);
        Replies replies;
        for (int i = 0; i < unknown; ++i) {
            REQUIRE(command.fall_back_to_text(replies("-NOSCRIPT x\r\n")));
        }
        return command;
    }

    static std::string text_of(const redis::Script& script)
    {
        return array({bulk("EVAL"), bulk(script.text), bulk("0")});
    }
    static std::string digest_of(const redis::Script& script)
    {
        return array({bulk("EVALSHA"), bulk(script.sha1), bulk("0")});
    }

    void add(const redis::Script& script, int unknown = 1)
    {
        REQUIRE(pipeline.add(call(script, unknown), &handler, 0));
    }

    // Also writes it.
    std::string added()
    {
        const std::string bytes(pipeline.unsent());
        pipeline.sent(bytes.size());
        return bytes;
    }

    const redis::Script one{"return 1"};
    const redis::Script two{"return 2"};
    Pipeline pipeline;
    Handler handler;
};

}  // namespace

TEST_CASE("a script that many calls need is sent once", "[redis]")
{
    ScriptCalls f;
    for (int i = 0; i < 3; ++i) {
        f.add(f.one);
        f.add(f.two);
    }
    const std::string digests = f.digest_of(f.one) + f.digest_of(f.two);
    CHECK(f.added() == f.text_of(f.one) + f.text_of(f.two) + digests + digests);

    // While the text has no reply.
    f.add(f.one);
    CHECK(f.added() == f.digest_of(f.one));
    CHECK(f.pipeline.pop() == &f.handler);
    f.add(f.one);
    f.add(f.one);
    f.add(f.two);
    CHECK(f.added()
          == f.text_of(f.one) + f.digest_of(f.one) + f.digest_of(f.two));
}

TEST_CASE("a call that the server did not know behind the text sends it itself",
          "[redis]")
{
    ScriptCalls f;
    f.add(f.one);
    f.add(f.one, 2);
    f.add(f.one);
    CHECK(f.added()
          == f.text_of(f.one) + f.text_of(f.one) + f.digest_of(f.one));
    // The latest text counts.
    f.pipeline.pop();
    f.add(f.one);
    CHECK(f.added() == f.digest_of(f.one));
}

TEST_CASE("the next connection gets the text of a script again", "[redis]")
{
    ScriptCalls f;
    f.add(f.one);
    SECTION("of a written one")
    {
        f.added();
        f.add(f.one);
        f.pipeline.fail_written();
        CHECK(f.pipeline.unsent() == f.digest_of(f.one));
        f.add(f.one);
        CHECK(f.added() == f.digest_of(f.one) + f.text_of(f.one));
    }
    SECTION("of one that was not written")
    {
        f.pipeline.fail();
        f.add(f.one);
        CHECK(f.added() == f.text_of(f.one));
    }
    SECTION("unless it waits for that connection")
    {
        f.pipeline.fail_written();
        f.add(f.one);
        CHECK(f.added() == f.text_of(f.one) + f.digest_of(f.one));
    }
    SECTION("while the commands of the last one fail")
    {
        f.added();
        f.add(f.one);
        f.handler.then = [&] { f.add(f.one); };
        f.pipeline.fail();
        CHECK(f.added() == f.text_of(f.one));
    }
}

TEST_CASE("bytes of a pipeline are unsent until they are written", "[redis]")
{
    Pipeline pipeline;
    Handler handler;
    CHECK(pipeline.empty());
    CHECK(pipeline.unsent().empty());
    REQUIRE(pipeline.add(redis::Command("PING"), &handler, 5));
    REQUIRE(pipeline.add(redis::Command("PING"), nullptr, 7));
    CHECK(pipeline.unsent() == kPing + kPing);
    CHECK(pipeline.deadline() == 5);

    for (std::size_t i = 1; i <= 2 * kPing.size(); ++i) {
        pipeline.sent(1);
        CHECK(pipeline.unsent() == (kPing + kPing).substr(i));
    }
    REQUIRE(pipeline.add(redis::Command("PING"), &handler, 8));
    CHECK(pipeline.unsent() == kPing);
}

TEST_CASE("a pipeline expects replies to written commands only", "[redis]")
{
    Pipeline pipeline;
    Handler handler;
    CHECK_FALSE(pipeline.expects_reply());
    pipeline.add(redis::Command("PING"), &handler, 5);
    pipeline.add(redis::Command("PING"), nullptr, 7);
    CHECK_FALSE(pipeline.expects_reply());
    pipeline.sent(kPing.size());
    CHECK(pipeline.expects_reply());
    CHECK(pipeline.pop() == &handler);
    CHECK_FALSE(pipeline.expects_reply());
    CHECK_FALSE(pipeline.empty());
    CHECK(pipeline.deadline() == 7);
    pipeline.sent(1);
    CHECK(pipeline.expects_reply());
    CHECK(pipeline.pop() == nullptr);
    CHECK(pipeline.empty());
}

TEST_CASE("a pipeline keeps its order over thousands of commands", "[redis]")
{
    Pipeline pipeline;
    std::vector<Handler> handlers(5000);
    std::size_t added = 0;
    std::size_t popped = 0;
    const auto pop = [&] {
        REQUIRE(pipeline.expects_reply());
        REQUIRE(pipeline.pop() == &handlers[popped++]);
    };
    while (added < handlers.size()) {
        for (int i = 0; i < 7 && added < handlers.size(); ++i, ++added) {
            REQUIRE(
                pipeline.add(redis::Command("PING"), &handlers[added], added));
        }
        pipeline.sent(pipeline.unsent().size() - 3);  // leaves bytes unsent
        pop();
        pop();
    }
    pipeline.sent(pipeline.unsent().size());
    while (popped < added) {
        pop();
    }
    CHECK(pipeline.empty());
}

TEST_CASE("a pipeline is full at its bounds", "[redis]")
{
    Pipeline pipeline;
    SECTION("commands")
    {
        for (std::size_t i = 0; i < Pipeline::kMaxPending; ++i) {
            CHECK_FALSE(pipeline.full());
            pipeline.add(redis::Command("PING"), nullptr, 0);
        }
        CHECK(pipeline.full());
        pipeline.sent(pipeline.unsent().size());
        CHECK(pipeline.full());
        pipeline.pop();
        CHECK_FALSE(pipeline.full());
    }
    SECTION("bytes")
    {
        const std::string big(Pipeline::kMaxUnsentBytes, 'x');
        pipeline.add(redis::Command("SET").arg(big), nullptr, 0);
        CHECK(pipeline.full());
        pipeline.sent(100);
        CHECK_FALSE(pipeline.full());
    }
}

TEST_CASE("a lost connection fails each command by whether it was written",
          "[redis]")
{
    Pipeline pipeline;
    Handler written;
    Handler in_part;
    Handler waiting;
    pipeline.add(redis::Command("PING"), &written, 0);
    pipeline.add(redis::Command("PING"), nullptr, 0);
    pipeline.add(redis::Command("PING"), &in_part, 0);
    pipeline.add(redis::Command("PING"), &waiting, 0);
    pipeline.sent(2 * kPing.size() + 1);
    waiting.then = [&] { pipeline.add(redis::Command("AGAIN"), &waiting, 9); };
    pipeline.fail();
    CHECK(written.causes == std::vector<NoReply>{NoReply::in_doubt});
    CHECK(in_part.causes == std::vector<NoReply>{NoReply::in_doubt});
    CHECK(waiting.causes == std::vector<NoReply>{NoReply::not_sent});
    // Only the command added meanwhile is left.
    CHECK(pipeline.unsent() == "*1\r\n$5\r\nAGAIN\r\n");
    CHECK(pipeline.deadline() == 9);
    CHECK_FALSE(pipeline.expects_reply());
    CHECK(pipeline.pop() == &waiting);
    CHECK(pipeline.empty());
}

TEST_CASE("commands added while a connection fails count for the next one",
          "[redis]")
{
    Pipeline pipeline;
    Handler handler;
    for (std::size_t i = 0; i < Pipeline::kMaxPending; ++i) {
        pipeline.add(redis::Command("PING"), &handler, 1);
    }
    pipeline.sent(kPing.size());
    handler.then = [&] {
        CHECK(pipeline.empty());
        CHECK_FALSE(pipeline.full());
        CHECK_FALSE(pipeline.expects_reply());
        CHECK(pipeline.add(redis::Command("PING"), &handler, 9));
        CHECK_FALSE(pipeline.empty());
        CHECK_FALSE(pipeline.expects_reply());
        CHECK(pipeline.deadline() == 9);
        CHECK(pipeline.unsent() == kPing);
    };
    pipeline.fail();
    CHECK(handler.causes.size() == Pipeline::kMaxPending);
    CHECK(handler.causes[0] == NoReply::in_doubt);
    CHECK(handler.causes[1] == NoReply::not_sent);

    CHECK(pipeline.unsent() == kPing);
    CHECK_FALSE(pipeline.expects_reply());
    pipeline.sent(1);
    CHECK(pipeline.expects_reply());
    pipeline.sent(kPing.size() - 1);
    CHECK(pipeline.pop() == &handler);
    CHECK(pipeline.empty());
    CHECK_FALSE(pipeline.expects_reply());
}

TEST_CASE("the next connection may fail while commands of the last one fail",
          "[redis]")
{
    Pipeline pipeline;
    Handler written;
    Handler in_part;
    Handler waiting;
    Handler added;
    pipeline.add(redis::Command("PING"), &written, 0);
    pipeline.add(redis::Command("PING"), &in_part, 0);
    pipeline.add(redis::Command("PING"), &waiting, 0);
    pipeline.sent(kPing.size() + 1);
    written.then = [&] {
        pipeline.add(redis::Command("PING"), &added, 0);
        added.then = [&] { pipeline.add(redis::Command("LAST"), &added, 7); };
        pipeline.fail();
    };
    pipeline.fail();
    CHECK(written.causes == std::vector<NoReply>{NoReply::in_doubt});
    CHECK(in_part.causes == std::vector<NoReply>{NoReply::in_doubt});
    CHECK(waiting.causes == std::vector<NoReply>{NoReply::not_sent});
    CHECK(added.causes == std::vector<NoReply>{NoReply::not_sent});

    CHECK(pipeline.unsent() == "*1\r\n$4\r\nLAST\r\n");
    CHECK(pipeline.deadline() == 7);
    CHECK_FALSE(pipeline.expects_reply());
    pipeline.sent(1);
    CHECK(pipeline.expects_reply());
    CHECK(pipeline.pop() == &added);
    CHECK(pipeline.empty());
}

TEST_CASE("a failed connection leaves no unsent bytes", "[redis]")
{
    Pipeline pipeline;
    Handler handler;
    pipeline.add(redis::Command("PING"), nullptr, 0);
    pipeline.add(redis::Command("PING"), &handler, 0);
    pipeline.sent(3);
    pipeline.fail();
    CHECK(pipeline.empty());
    CHECK(pipeline.unsent().empty());
    CHECK(handler.causes == std::vector<NoReply>{NoReply::not_sent});
    pipeline.fail();
    CHECK(handler.causes.size() == 1);
}

TEST_CASE("commands that were not written may wait for another connection",
          "[redis]")
{
    Pipeline pipeline;
    Handler written;
    Handler partly;
    Handler unsent;
    Handler added;
    pipeline.add(redis::Command("PING"), &written, 1);
    pipeline.add(redis::Command("PING"), &partly, 2);
    pipeline.add(redis::Command("ECHO").arg("a"), &unsent, 3);
    pipeline.sent(kPing.size() + 1);
    partly.then = [&] { pipeline.add(redis::Command("PING"), &added, 4); };

    pipeline.fail_written();
    CHECK(written.causes == std::vector<NoReply>{NoReply::in_doubt});
    CHECK(partly.causes == std::vector<NoReply>{NoReply::in_doubt});
    CHECK(unsent.causes.empty());
    CHECK(pipeline.deadline() == 3);
    CHECK_FALSE(pipeline.expects_reply());
    const std::string echo = "*2\r\n$4\r\nECHO\r\n$1\r\na\r\n";
    CHECK(pipeline.unsent() == echo + kPing);

    pipeline.sent(1);
    CHECK(pipeline.expects_reply());
    pipeline.sent(echo.size() - 1);
    CHECK(pipeline.pop() == &unsent);
    CHECK_FALSE(pipeline.expects_reply());
    pipeline.fail_written();
    CHECK(added.causes.empty());
    pipeline.fail();
    CHECK(added.causes == std::vector<NoReply>{NoReply::not_sent});
    CHECK(pipeline.empty());
}

TEST_CASE("if all commands were written, none waits", "[redis]")
{
    Pipeline pipeline;
    Handler handler;
    pipeline.fail_written();
    pipeline.add(redis::Command("PING"), &handler, 1);
    SECTION("in full")
    {
        pipeline.sent(kPing.size());
    }
    SECTION("in part")
    {
        pipeline.sent(3);
    }
    pipeline.fail_written();
    CHECK(handler.causes == std::vector<NoReply>{NoReply::in_doubt});
    CHECK(pipeline.empty());
    CHECK(pipeline.unsent().empty());
    pipeline.add(redis::Command("PING"), &handler, 1);
    CHECK_FALSE(pipeline.expects_reply());
    CHECK(pipeline.unsent() == kPing);
}

TEST_CASE("a connection that fails while written commands do fails the rest",
          "[redis]")
{
    Pipeline pipeline;
    Handler written;
    Handler unsent;
    pipeline.add(redis::Command("PING"), &written, 1);
    pipeline.sent(kPing.size());
    pipeline.add(redis::Command("PING"), &unsent, 2);
    written.then = [&] { pipeline.fail(); };
    pipeline.fail_written();
    CHECK(unsent.causes == std::vector<NoReply>{NoReply::not_sent});
    CHECK(pipeline.empty());
    pipeline.add(redis::Command("PING"), &unsent, 2);
    CHECK_FALSE(pipeline.expects_reply());
}

TEST_CASE("commands held back are unsent until they are released", "[redis]")
{
    Pipeline pipeline;
    Handler first;
    Handler second;
    const std::string echo = "*2\r\n$4\r\nECHO\r\n$1\r\na\r\n";
    pipeline.add(redis::Command("PING"), nullptr, 1);
    pipeline.hold();
    pipeline.add(redis::Command("ECHO").arg("a"), &first, 2);
    CHECK(pipeline.unsent() == kPing);
    pipeline.sent(3);
    pipeline.add(redis::Command("ECHO").arg("a"), &second, 3);
    CHECK(pipeline.unsent() == kPing.substr(3));
    CHECK_FALSE(pipeline.in_doubt());
    SECTION("the check is answered")
    {
        pipeline.sent(kPing.size() - 3);
        CHECK(pipeline.unsent().empty());
        CHECK(pipeline.pop() == nullptr);
        CHECK_FALSE(pipeline.expects_reply());
        pipeline.release();
        CHECK(pipeline.unsent() == echo + echo);
        pipeline.sent(1);
        CHECK(pipeline.in_doubt());
        CHECK(pipeline.expects_reply());
        pipeline.add(redis::Command("PING"), nullptr, 4);
        CHECK(pipeline.unsent() == (echo + echo + kPing).substr(1));
    }
    SECTION("the connection is lost")
    {
        // Whether the check was written makes no difference.
        if (GENERATE(true, false)) {
            pipeline.sent(kPing.size() - 3);
        }
        pipeline.fail_written();
        CHECK(pipeline.unsent() == echo + echo);
        CHECK_FALSE(pipeline.expects_reply());
        CHECK(pipeline.deadline() == 2);
        pipeline.add(redis::Command("PING"), nullptr, 4);
        pipeline.sent(2 * echo.size() + kPing.size());
        CHECK(pipeline.pop() == &first);
        CHECK(pipeline.pop() == &second);
        CHECK_FALSE(pipeline.in_doubt());
        CHECK(pipeline.pop() == nullptr);
    }
    SECTION("no connection is left")
    {
        pipeline.fail();
        CHECK(first.causes == std::vector<NoReply>{NoReply::not_sent});
        CHECK(second.causes == std::vector<NoReply>{NoReply::not_sent});
        pipeline.add(redis::Command("PING"), nullptr, 4);
        CHECK(pipeline.unsent() == kPing);
    }
}

TEST_CASE("a check that was not written does not wait for a connection",
          "[redis]")
{
    Pipeline pipeline;
    Handler handler;
    pipeline.add(redis::Command("PING"), nullptr, 1);
    pipeline.hold();
    pipeline.add(redis::Command("ECHO").arg("a"), &handler, 2);
    pipeline.fail_written();
    CHECK(pipeline.unsent() == "*2\r\n$4\r\nECHO\r\n$1\r\na\r\n");
    CHECK(handler.causes.empty());
}

TEST_CASE("commands held back count for the bounds", "[redis]")
{
    Pipeline pipeline;
    Handler handler;
    pipeline.hold();
    const redis::Command large(
        redis::Command("ECHO").own(std::string(512 * 1024, 'a')));
    pipeline.add(large, &handler, 1);
    CHECK_FALSE(pipeline.full());
    pipeline.add(large, &handler, 1);
    CHECK(pipeline.unsent().empty());
    CHECK(pipeline.full());
}

namespace {

redis::Command with_replication_id(const std::string& word)
{
    return std::move(redis::Command(word).replication_id());
}

std::string bytes_with(const std::string& word, char id)
{
    return "*2\r\n$" + std::to_string(word.size()) + "\r\n" + word
           + "\r\n$40\r\n" + std::string(40, id) + "\r\n";
}

}  // namespace

TEST_CASE("a command carries the replication id of the connection", "[redis]")
{
    Pipeline pipeline;
    Handler handler;
    const auto add = [&](const redis::Command& command) {
        REQUIRE(pipeline.add(command, &handler, 5));
    };
    add(with_replication_id("A"));
    CHECK(pipeline.unsent() == bytes_with("A", '?'));
    pipeline.set_replication_id(std::string(40, 'a'));
    add(redis::Command("PING"));
    add(with_replication_id("BB"));
    CHECK(pipeline.unsent()
          == bytes_with("A", 'a') + kPing + bytes_with("BB", 'a'));

    // The server reports another id while part of A is on its way.
    pipeline.sent(30);
    pipeline.set_replication_id(std::string(40, 'b'));
    CHECK(pipeline.unsent()
          == bytes_with("A", 'a').substr(30) + kPing + bytes_with("BB", 'b'));

    // The connection is lost; BB waits for the next one, which is to another
    // server.
    pipeline.fail_written();
    CHECK(handler.causes == std::vector{NoReply::in_doubt});
    CHECK(pipeline.unsent() == kPing + bytes_with("BB", 'b'));
    pipeline.set_replication_id(std::string(40, 'c'));
    CHECK(pipeline.unsent() == kPing + bytes_with("BB", 'c'));
}

TEST_CASE("commands that are held back carry the latest replication id",
          "[redis]")
{
    Pipeline pipeline;
    Handler handler;
    pipeline.set_replication_id(std::string(40, 'a'));
    pipeline.hold();
    pipeline.add(with_replication_id("A"), &handler, 5);
    CHECK(pipeline.unsent().empty());
    pipeline.set_replication_id(std::string(40, 'b'));
    pipeline.release();
    CHECK(pipeline.unsent() == bytes_with("A", 'b'));
}
