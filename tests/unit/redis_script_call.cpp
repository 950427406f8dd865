#include "catch.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "redis/script_call.h"
#include "redis_replies.h"

using namespace petstore;
using redis::NoReply;
using Words = std::vector<std::string>;

namespace {

// Records commands; the test supplies the replies.
class ScriptLink final : public redis::Link {
public:
    void send(const redis::Command& command,
              redis::ReplyHandler& handler) noexcept override
    {
        sent.push_back(words(command));
        may_follow_text = command.may_follow_text();
        if (down) {
            return handler.on_no_reply(NoReply::not_sent);
        }
        handlers_.push_back(&handler);
    }

    std::uint64_t
    connection_generation(std::string_view /*key*/) const noexcept override
    {
        return 1;
    }

    void reply(std::string_view text)
    {
        Replies replies;
        next().on_reply(replies(text));
    }
    void no_reply(NoReply cause) { next().on_no_reply(cause); }

    bool idle() const { return handlers_.empty(); }

    bool down = false;
    std::vector<Words> sent;
    bool may_follow_text = false;  // the latest

private:
    redis::ReplyHandler& next()
    {
        auto* const handler = handlers_.front();
        handlers_.pop_front();
        return *handler;
    }

    std::deque<redis::ReplyHandler*> handlers_;
};

class Call final : public redis::ScriptCall {
public:
    using ScriptCall::start;

    void on_result(const redis::Reply& reply) noexcept override
    {
        results.emplace_back(reply.text());
        if (next) {
            start(*link, *std::exchange(next, std::nullopt));
        }
    }
    void on_no_result(NoReply cause) noexcept override
    {
        causes.push_back(cause);
    }

    std::vector<std::string> results;
    std::vector<NoReply> causes;
    std::optional<redis::Command> next;  // sent by the first result's handler
    redis::Link* link = nullptr;
};

const redis::Script kScript("return KEYS[1]");
constexpr char kUnknown[] = "-NOSCRIPT No matching script.\r\n";

// A call whose key does not outlive this function.
redis::Command command()
{
    redis::Command command(kScript, 1);
    command.key("a key of " + std::to_string(16) + " bytes");
    return command;
}

const Words kDigestCall = {"EVALSHA", kScript.sha1, "1", "a key of 16 bytes"};
const Words kTextCall = {"EVAL", "return KEYS[1]", "1", "a key of 16 bytes"};

}  // namespace

TEST_CASE("a script is called by its digest", "[redis]")
{
    ScriptLink link;
    Call call;
    call.start(link, command());
    CHECK(link.sent == std::vector<Words>{kDigestCall});
    CHECK(call.results.empty());
    link.reply("+yes\r\n");
    CHECK(call.results == std::vector<std::string>{"yes"});
    CHECK(call.causes.empty());
    CHECK(link.idle());
}

TEST_CASE("a script that the server does not know is called by its text",
          "[redis]")
{
    ScriptLink link;
    Call call;
    call.start(link, command());
    link.reply(kUnknown);
    CHECK(link.sent == std::vector<Words>{kDigestCall, kTextCall});
    CHECK(call.results.empty());
    link.reply("+yes\r\n");
    CHECK(call.results == std::vector<std::string>{"yes"});
    CHECK(link.idle());
}

TEST_CASE("a script that stays unknown ends its call", "[redis]")
{
    ScriptLink link;
    Call call;
    call.start(link, command());
    link.reply(kUnknown);
    CHECK(link.may_follow_text);
    link.reply(kUnknown);  // it followed a text that was not executed
    CHECK_FALSE(link.may_follow_text);
    CHECK(link.sent == std::vector<Words>{kDigestCall, kTextCall, kTextCall});
    link.reply(kUnknown);
    CHECK(link.sent.size() == 3);
    CHECK(call.results
          == std::vector<std::string>{"NOSCRIPT No matching script."});
}

TEST_CASE("other errors of a script are results and are not retried", "[redis]")
{
    ScriptLink link;
    Call call;
    call.start(link, command());
    link.reply("-ERR no\r\n");
    CHECK(link.sent.size() == 1);
    CHECK(call.results == std::vector<std::string>{"ERR no"});
}

TEST_CASE("a lost script call is reported with its cause and not resent",
          "[redis]")
{
    ScriptLink link;
    Call call;
    call.start(link, command());
    link.no_reply(NoReply::in_doubt);
    CHECK(call.causes == std::vector<NoReply>{NoReply::in_doubt});

    call.start(link, command());
    link.reply(kUnknown);
    link.no_reply(NoReply::in_doubt);
    CHECK(call.causes
          == std::vector<NoReply>{NoReply::in_doubt, NoReply::in_doubt});
    CHECK(link.sent.size() == 3);
    CHECK(call.results.empty());
}

TEST_CASE("a script call ends before start() returns if the link is down",
          "[redis]")
{
    ScriptLink link;
    link.down = true;
    Call call;
    call.start(link, command());
    CHECK(call.causes == std::vector<NoReply>{NoReply::not_sent});
}

TEST_CASE("a script call may be started again from its result", "[redis]")
{
    ScriptLink link;
    Call call;
    call.link = &link;
    call.next = command();
    call.start(link, command());
    link.reply(kUnknown);
    link.reply("+first\r\n");
    CHECK(link.sent == std::vector<Words>{kDigestCall, kTextCall, kDigestCall});
    link.reply("+second\r\n");
    CHECK(call.results == std::vector<std::string>{"first", "second"});
    CHECK(link.idle());
}

TEST_CASE("a plain command is not retried as a script", "[redis]")
{
    ScriptLink link;
    Call call;
    call.start(link, redis::Command("PING"));
    link.reply(kUnknown);
    CHECK(link.sent == std::vector<Words>{{"PING"}});
    CHECK(call.results.size() == 1);
}
