#include "catch.h"

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "fake_link.h"
#include "key_world.h"
#include "store/scripts.h"
#include "store/task.h"

using namespace petstore;
using redis::NoReply;
using store::Refusal;

namespace {

// Reads, runs a script that names a key, and reads again.
store::Task<std::string> read_key(redis::Link& link, const char* key)
{
    const redis::Reply& reply =
        co_await store::ask(link, redis::Command("GET").key(key));
    co_return std::string(reply.text());
}

store::Task<std::string> three(redis::Link& link)
{
    const std::string text = co_await read_key(link, "one");
    redis::Command command(store::scripts().unban, 1);
    command.key("two").arg(text);
    const redis::Reply& reply =
        co_await store::stage_change(link, std::move(command));
    if (reply.integer() < 0) {
        throw std::runtime_error("a step fails");
    }
    if (reply.integer() == 0) {
        throw store::refused(Refusal::overtaken, api::ErrorCode::bad_request,
                             "too late");
    }
    std::string last;
    try {
        last = co_await read_key(link, "three");
    } catch (...) {
        store::rethrow_not_in_effect();
    }
    co_return text + last;
}

struct Running {
    Running() { store::run(all, three(link), result); }

    FakeLink link;
    store::Operations all;
    Result<std::string> result;
};

}  // namespace

TEST_CASE("an operation sends one command after another", "[store]")
{
    Running r;
    REQUIRE(r.link.commands.size() == 1);
    CHECK(r.link.commands[0] == FakeLink::Words{"GET", "one"});
    r.link.reply(bulk("a"));
    REQUIRE(r.link.commands.size() == 1);
    CHECK(r.link.commands[0]
          == FakeLink::Words{"EVALSHA", store::scripts().unban.sha1, "1", "two",
                             "a"});
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

TEST_CASE("a failure ends the operation", "[store]")
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
    store::Operations all;
    Result<std::string> result;
    store::run(all, three(link), result);
    CHECK(result.calls == 1);
    CHECK(result.failed());
    CHECK(all.empty());
}

namespace {

store::Task<> add_key(redis::Link& link, int number, int& sum)
{
    const std::string key = std::to_string(number);
    const std::string text = co_await read_key(link, key.c_str());
    sum += std::stoi(text);
}

store::Task<int> add_all(redis::Link& link, std::vector<int> numbers)
{
    int sum = 0;
    const auto add = [&](int number) { return add_key(link, number, sum); };
    co_await store::ForEach(numbers, 2, add);
    co_return sum;
}

}  // namespace

TEST_CASE("some tasks of many run at once", "[store]")
{
    FakeLink link;
    store::Operations all;
    Result<int> result;
    SECTION("none")
    {
        store::run(all, add_all(link, {}), result);
        CHECK(result.value() == 0);
    }
    SECTION("as many as may run")
    {
        store::run(all, add_all(link, {1, 2, 3}), result);
        CHECK(link.commands.size() == 2);
        link.reply(bulk("20"), 1);  // the second one ends first
        REQUIRE(link.commands.size() == 2);
        CHECK(link.commands[1] == FakeLink::Words{"GET", "3"});
        link.reply(bulk("10"));
        CHECK(result.calls == 0);
        link.reply(bulk("30"));
        CHECK(result.value() == 60);
    }
    SECTION("until one fails and the others have ended")
    {
        store::run(all, add_all(link, {1, 2, 3}), result);
        link.reply("-NOPERM no\r\n");
        CHECK(result.calls == 0);
        link.reply(bulk("20"));
        CHECK(result.failure().error.code
              == api::ErrorCode::service_unavailable);
        CHECK(link.sent.size() == 2);
    }
    SECTION("not if the link is down")
    {
        link.full = true;
        store::run(all, add_all(link, {1, 2, 3}), result);
        CHECK(result.failed());
    }
    CHECK(result.calls == 1);
    CHECK(all.empty());
}

namespace {

store::Task<> change_key(redis::Link& link, const char* key)
{
    redis::Command command("DEL");
    command.key(key);
    co_await store::change(link, std::move(command));
}

store::Task<> change_and_read(redis::Link& link, bool changes)
{
    if (changes) {
        co_await change_key(link, "two");
    }
    const std::string text = co_await read_key(link, "three");
    if (text == "x") {
        throw std::runtime_error("a step fails");
    }
}

// Whether the second operation may have changed something.
store::Task<bool> two_operations(redis::Link& link, bool changes)
{
    co_await change_key(link, "one");
    try {
        co_await store::Nested(change_and_read(link, changes));
    } catch (const store::Failed& failed) {
        co_return failed.failure.after_change;
    }
    throw std::runtime_error("no failure");
}

// The second operation changes nothing.
store::Task<> change_then_read(redis::Link& link)
{
    co_await change_key(link, "one");
    co_await store::Nested(change_and_read(link, false));
    co_await read_key(link, "four");
}

store::Task<std::string> damaged_in_second(redis::Link& link)
{
    try {
        co_await store::Nested(change_and_read(link, false));
    } catch (const store::Failed& failed) {
        co_return failed.redis_key;
    }
    co_return "";
}

}  // namespace

TEST_CASE("an operation within another has changes of its own", "[store]")
{
    FakeLink link;
    store::Operations all;
    Result<bool> changed;
    const bool changes = GENERATE(true, false);
    store::run(all, two_operations(link, changes), changed);
    link.reply(integer(1));
    if (changes) {
        link.reply(integer(1));
    }
    REQUIRE(link.commands.at(0) == FakeLink::Words{"GET", "three"});
    SECTION("Redis fails")
    {
        link.lose(NoReply::not_sent);
    }
    SECTION("an exception")
    {
        link.reply(bulk("x"));
    }
    CHECK(changed.value() == changes);
}

TEST_CASE("an operation keeps its own changes after one within it", "[store]")
{
    FakeLink link;
    store::Operations all;
    Result<store::Done> result;
    store::run(all, change_then_read(link), result);
    link.reply(integer(1));
    link.reply(bulk("a"));
    link.lose(NoReply::not_sent);
    CHECK(result.failure().after_change);
}

TEST_CASE("a failure of an operation within another names the damaged key",
          "[store]")
{
    FakeLink link;
    store::Operations all;
    Result<std::string> key;
    store::run(all, damaged_in_second(link), key);
    link.reply("-WRONGTYPE no\r\n");
    CHECK(key.value() == "three");
}

TEST_CASE("operations that still run end with their owner", "[store]")
{
    FakeLink link;  // never replies
    Result<std::string> result;
    Result<int> sum;
    {
        store::Operations all;
        store::run(all, three(link), result);
        store::run(all, add_all(link, {1, 2, 3}), sum);
        CHECK(all.size() == 2);
    }
    CHECK(result.calls == 0);
    CHECK(sum.calls == 0);
}
