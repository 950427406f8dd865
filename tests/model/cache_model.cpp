// clear_caches.lua in a real Redis.
#include "as_text.h"
#include "catch.h"
#include "e2e/support/redis_server.h"
#include "redis_connection.h"
#include "store/pets/pet_commands.h"

using namespace petstore;
using e2e::RedisServer;

namespace {

const std::string kChanges = "petstore:{petstore:pets}:changes";
const std::string kLastId = "petstore:{petstore:pets}:count";

struct Fixture {
    RedisServer redis;
    const store::Schema schema{"petstore"};
    const store::PetCommands catalogue{schema};

    long long micros() const
    {
        const auto time = redis.command({"TIME"});
        return std::stoll(time.items.at(0).text) * 1'000'000
               + std::stoll(time.items.at(1).text);
    }

    // The reply, or -1 for an error.
    long long clear() const
    {
        RedisConnection connection(redis.socket());
        connection.append(as_text(catalogue.clear_caches()));
        const auto& reply = connection.get();
        return reply.is(redis::Type::integer) ? reply.integer() : -1;
    }

    long long changes() const
    {
        return std::stoll(redis.command({"GET", kChanges}).text);
    }
};

}  // namespace

TEST_CASE("clear caches: the number of changes becomes the time")
{
    Fixture f;
    f.redis.command({"SET", kLastId, "3"});
    SECTION("from an older time")
    {
        f.redis.command({"SET", kChanges, "1700000000000000"});
    }
    SECTION("from a small number")
    {
        f.redis.command({"SET", kChanges, "7"});
    }
    SECTION("from nothing") {}
    SECTION("from no number")
    {
        f.redis.command({"SET", kChanges, "seven"});
    }
    const auto before = f.micros();
    CHECK(f.clear() == 1);
    const auto first = f.changes();
    CHECK(first >= before);
    CHECK(first <= f.micros());
    CHECK(f.clear() == 1);
    CHECK(f.changes() > first);
    CHECK(f.redis.command({"PTTL", kChanges}).integer == -1);
    CHECK(f.redis.command({"GET", kLastId}).text == "3");
}

TEST_CASE(
    "clear caches: the number of changes grows even if it is ahead of the clock")
{
    Fixture f;
    f.redis.command({"SET", kLastId, "3"});
    for (const long long number :
         {f.micros() + 3'600'000'000, 9'007'199'254'740'993LL,
          9'223'372'036'854'775'000LL}) {
        f.redis.command({"SET", kChanges, std::to_string(number)});
        CHECK(f.clear() == 1);
        CHECK(f.changes() == number + 1);
    }
}

TEST_CASE("clear caches: without a catalogue nothing is written")
{
    Fixture f;
    CHECK(f.clear() == 0);
    CHECK(f.redis.command({"DBSIZE"}).integer == 0);
}

TEST_CASE("clear caches: a damaged number is an error and is kept")
{
    Fixture f;
    f.redis.command({"RPUSH", kChanges, "7"});
    CHECK(f.clear() == -1);
    CHECK(f.redis.command({"LLEN", kChanges}).integer == 1);
}
