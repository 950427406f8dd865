#include "catch.h"

#include <string>

#include "store/damage.h"
#include "store/failure.h"
#include "store_replies.h"

using namespace petstore;
using api::ErrorCode;
using store::Purpose;

TEST_CASE("a write whose outcome is unknown is reported as such", "[store]")
{
    Replies replies;
    CHECK(store::failure_of(replies("-OOM secret\r\n"), Purpose::change)
              .error.code
          == ErrorCode::service_unavailable);
    CHECK(store::failure_of(replies("-ERR secret\r\n"), Purpose::change)
              .error.code
          == ErrorCode::outcome_unknown);
    CHECK(
        store::failure_of(replies("-ERR secret\r\n"), Purpose::read).error.code
        == ErrorCode::service_unavailable);
    CHECK(
        store::failure_of(redis::NoReply::not_sent, Purpose::change).error.code
        == ErrorCode::service_unavailable);
    CHECK(
        store::failure_of(redis::NoReply::in_doubt, Purpose::change).error.code
        == ErrorCode::outcome_unknown);
    CHECK(store::failure_of(redis::NoReply::in_doubt, Purpose::read).error.code
          == ErrorCode::service_unavailable);

    CHECK_FALSE(store::failure_of(replies("-OOM secret\r\n"), Purpose::change)
                    .in_doubt);
    CHECK(store::failure_of(replies("-ERR secret\r\n"), Purpose::change)
              .in_doubt);
    CHECK_FALSE(
        store::failure_of(redis::NoReply::not_sent, Purpose::change).in_doubt);
    CHECK(
        store::failure_of(redis::NoReply::in_doubt, Purpose::change).in_doubt);
    CHECK(store::failure_of(redis::NoReply::in_doubt, Purpose::read).in_doubt);
}

TEST_CASE("damaged data are an internal error", "[store]")
{
    Replies replies;
    const char* const damaged = "-DAMAGED p:{p:pets}:bucket:0\r\n";
    for (const auto purpose : {Purpose::read, Purpose::change}) {
        CHECK(store::failure_of(replies(damaged), purpose).error.code
              == ErrorCode::internal_error);
    }
    CHECK(
        store::failure_of(replies("-WRONGTYPE x\r\n"), Purpose::read).error.code
        == ErrorCode::internal_error);
    CHECK(store::failure_of(replies("-WRONGTYPE x\r\n"), Purpose::change)
              .error.code
          == ErrorCode::outcome_unknown);
}

TEST_CASE("a full catalogue is unavailable for creates", "[store]")
{
    Replies replies;
    const auto& full = replies("-FULL the catalogue has too many pets\r\n");
    CHECK(store::is_full(full));
    CHECK(store::failure_of(full, Purpose::change).error.code
          == ErrorCode::service_unavailable);
    CHECK(store::failure_of(full, Purpose::change).error.message.text()
          == "The catalogue is full: no more pets can be created.");
    CHECK_FALSE(store::is_full(replies("-FULLY x\r\n")));
    CHECK_FALSE(store::is_full(replies(bulk("FULL x"))));
}

TEST_CASE("a script names the key that it has found damaged", "[store]")
{
    Replies replies;
    const auto key = [&](const std::string& reply) {
        return std::string(store::damaged_key(replies(reply)));
    };
    CHECK(key("-DAMAGED p-1_a.b:{p:pets}:bucket:0\r\n")
          == "p-1_a.b:{p:pets}:bucket:0");
    CHECK(key("-DAMAGED p:x \x1B[2J\r\n") == "p:x");
    CHECK(key("-DAMAGED\r\n").empty());
    CHECK(key("-DAMAGEDp:x\r\n").empty());
    CHECK(key("-WRONGTYPE p:x\r\n").empty());
    CHECK(key("+DAMAGED p:x\r\n").empty());
    CHECK(key(bulk("DAMAGED p:x")).empty());
}

TEST_CASE("damage is of the command's key, or of the one that a script names",
          "[store]")
{
    Replies replies;
    const auto message = [&](const char* reply) {
        const auto damage = store::damage_of(replies(reply), "p:own");
        return damage.key.empty() ? "" : damage.message();
    };
    CHECK(
        message("-WRONGTYPE x\r\n")
        == "the Redis key p:own is damaged: it holds another type; repair it first");
    CHECK(message("-DAMAGED p:x\r\n") == "the Redis key p:x is damaged");
    CHECK(message("-DAMAGED\r\n").empty());
    CHECK(message("-ERR x\r\n").empty());
    CHECK(message("+WRONGTYPE x\r\n").empty());
    CHECK(store::damage_of(replies("-WRONGTYPE x\r\n"), "").key.empty());
}

TEST_CASE("a client never sees an error text of Redis", "[store]")
{
    Replies replies;
    for (const char* reply :
         {"-ERR secret 10.0.0.1\r\n", "-DAMAGED secret\r\n"}) {
        for (const auto purpose : {Purpose::read, Purpose::change}) {
            const auto error = store::failure_of(replies(reply), purpose).error;
            CHECK_FALSE(error.message.text().empty());
            CHECK(error.message.text().find("secret") == std::string::npos);
            CHECK(error.message.text().find("Redis") == std::string::npos);
        }
    }
}
