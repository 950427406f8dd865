#include "catch.h"

#include <stdexcept>
#include <string>

#include "fake_link.h"
#include "key_world.h"
#include "store/scripts.h"
#include "store/steps.h"

using namespace petstore;
using redis::NoReply;
using store::Refusal;

namespace {

// Reads, runs a script that names a key, and reads again.
class Three final : public store::Operation<store::Steps, std::string> {
public:
    Three(store::Waiter<std::string>& waiter, redis::Link& link)
        : Operation(waiter), link_(link)
    {}

private:
    void start() override
    {
        ask(link_, redis::Command("GET").key("one"),
            [this](const redis::Reply& reply) {
                text_ = reply.text();
                second();
            });
    }

    void second()
    {
        change(
            link_,
            redis::Command(store::scripts::unban(), 1).key("two").arg(text_),
            [this](const redis::Reply& reply) {
                if (reply.integer() < 0) {
                    throw std::runtime_error("a step fails");
                }
                if (reply.integer() == 0) {
                    return refuse(Refusal::overtaken,
                                  api::ErrorCode::bad_request, "too late");
                }
                third();
            },
            NotInEffectAfter::lost_reply);
    }

    void third()
    {
        ask(
            link_, redis::Command("GET").key("three"),
            [this](const redis::Reply& reply) {
                finish(text_ + std::string(reply.text()));
            },
            NotInEffectAfter::any_failure);
    }

    redis::Link& link_;
    std::string text_;
};

struct Running {
    Running() { store::run<Three>(all, result, link); }

    FakeLink link;
    store::Steps::All all;
    Result<std::string> result;
};

}  // namespace

TEST_CASE("an operation sends a command per step", "[store]")
{
    Running r;
    REQUIRE(r.link.commands.size() == 1);
    CHECK(r.link.commands[0] == FakeLink::Words{"GET", "one"});
    r.link.reply(bulk("a"));
    REQUIRE(r.link.commands.size() == 1);
    CHECK(r.link.commands[0]
          == FakeLink::Words{"EVALSHA", store::scripts::unban().sha1, "1",
                             "two", "a"});
    // A server that does not know the script gets its text.
    r.link.reply("-NOSCRIPT no\r\n");
    REQUIRE(r.link.commands.size() == 1);
    CHECK(r.link.commands[0][0] == "EVAL");
    r.link.reply(integer(1));
    r.link.reply(bulk("b"));
    CHECK(r.result.calls == 1);
    CHECK(r.result.value() == "ab");
    CHECK(r.all.empty());
}

TEST_CASE("a step's failure ends the operation", "[store]")
{
    Running r;
    SECTION("an error of Redis")
    {
        r.link.reply("-NOPERM no\r\n");
        CHECK(r.result.failure().error.code
              == api::ErrorCode::service_unavailable);
        CHECK_FALSE(r.result.failure().not_in_effect);
        CHECK(r.result.refusal() == Refusal::none);
    }
    SECTION("another type")
    {
        r.link.reply(bulk("a"));
        r.link.reply("-WRONGTYPE no\r\n");
        CHECK(r.result.refusal() == Refusal::damaged);
        CHECK(r.result.failure().error.code == api::ErrorCode::internal_error);
        CHECK(
            r.result.message()
            == "the Redis key two is damaged: it holds another type; repair it first");
    }
    SECTION("an exception")
    {
        r.link.reply(bulk("a"));
        r.link.reply(integer(-1));
        CHECK(r.result.failed());
    }
    SECTION("a refusal")
    {
        r.link.reply(bulk("a"));
        r.link.reply(integer(0));
        CHECK(r.result.refusal() == Refusal::overtaken);
        CHECK(r.result.message() == "too late");
        CHECK_FALSE(r.result.failure().not_in_effect);
    }
    CHECK(r.result.calls == 1);
    CHECK(r.all.empty());
}

TEST_CASE("a failure says whether a change may not be in effect", "[store]")
{
    Running r;
    SECTION("a read that is lost before")
    {
        r.link.lose(NoReply::in_doubt);
        CHECK_FALSE(r.result.failure().not_in_effect);
        CHECK(r.result.failure().in_doubt);
    }
    SECTION("a change that is lost")
    {
        r.link.reply(bulk("a"));
        r.link.lose(NoReply::in_doubt);
        CHECK(r.result.failure().not_in_effect);
        CHECK(r.result.failure().in_doubt);
        CHECK(r.result.failure().error.code == api::ErrorCode::outcome_unknown);
    }
    SECTION("a change that is refused")
    {
        r.link.reply(bulk("a"));
        r.link.reply("-OOM no\r\n");
        CHECK_FALSE(r.result.failure().not_in_effect);
    }
    SECTION("any failure of what puts it into effect")
    {
        r.link.reply(bulk("a"));
        r.link.reply(integer(1));
        r.link.reply("-NOPERM no\r\n");
        CHECK(r.result.failure().not_in_effect);
    }
    CHECK(r.result.calls == 1);
}

TEST_CASE("a link that is down fails an operation at once", "[store]")
{
    FakeLink link;
    link.full = true;
    store::Steps::All all;
    Result<std::string> result;
    store::run<Three>(all, result, link);
    CHECK(result.calls == 1);
    CHECK(result.failed());
    CHECK(all.empty());
}
