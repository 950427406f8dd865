#include "catch.h"

#include <string>

#include "store/damage.h"
#include "store/failure.h"
#include "store_replies.h"

using namespace petstore;
using api::ErrorCode;

TEST_CASE("only NOSCRIPT is answered with the script's text", "[store]")
{
    CHECK(store::redis_error("NOSCRIPT").retry_with_eval);
    CHECK_FALSE(store::redis_error("NOSCRIPT").executed);
    for (const char* code :
         {"ERR", "LOADING", "READONLY", "BUSY", "DAMAGED", "X", ""}) {
        CHECK_FALSE(store::redis_error(code).retry_with_eval);
    }
}

TEST_CASE("errors that come before a command runs have no effect", "[store]")
{
    for (const char* code :
         {"LOADING", "READONLY", "MASTERDOWN", "OOM", "MISCONF", "NOREPLICAS",
          "NOAUTH", "WRONGPASS", "MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN",
          "CROSSSLOT", "BUSY"}) {
        CAPTURE(code);
        CHECK(store::redis_error(code).code == code);
        CHECK_FALSE(store::redis_error(code).executed);
    }
}

TEST_CASE("only a replica refuses as a replica", "[store]")
{
    CHECK(store::redis_error("READONLY").replica);
    CHECK(store::redis_error("MASTERDOWN").replica);
    for (const char* code : {"ERR", "LOADING", "NOREPLICAS", "BUSY", "X", ""}) {
        CAPTURE(code);
        CHECK_FALSE(store::redis_error(code).replica);
    }
}

TEST_CASE("an unknown error may have come after an effect", "[store]")
{
    for (const char* code : {"ERR", "WRONGTYPE", "NEWERROR", "err", ""}) {
        CAPTURE(code);
        CHECK(store::redis_error(code).executed);
    }
}

TEST_CASE("a client is told whether a create may have happened", "[store]")
{
    Replies replies;
    CHECK(store::failure_of(replies("-OOM secret\r\n"), true).code
          == ErrorCode::service_unavailable);
    CHECK(store::failure_of(replies("-ERR secret\r\n"), true).code
          == ErrorCode::outcome_unknown);
    CHECK(store::failure_of(replies("-ERR secret\r\n"), false).code
          == ErrorCode::service_unavailable);
    CHECK(store::failure_of(store::Loss::not_sent, true).code
          == ErrorCode::service_unavailable);
    CHECK(store::failure_of(store::Loss::unknown, true).code
          == ErrorCode::outcome_unknown);
    CHECK(store::failure_of(store::Loss::unknown, false).code
          == ErrorCode::service_unavailable);
}

TEST_CASE("damage of the data is an error of the service", "[store]")
{
    Replies replies;
    const char* const damaged = "-DAMAGED p:{p:pets}:bucket:0\r\n";
    for (const bool write : {false, true}) {
        CHECK(store::failure_of(replies(damaged), write).code
              == ErrorCode::internal_error);
    }
    CHECK(store::failure_of(replies("-WRONGTYPE x\r\n"), false).code
          == ErrorCode::internal_error);
    CHECK(store::failure_of(replies("-WRONGTYPE x\r\n"), true).code
          == ErrorCode::outcome_unknown);
    CHECK_FALSE(store::redis_error("DAMAGED").executed);
    // It is logged with the key.
    CHECK_FALSE(store::redis_error("DAMAGED").operator_fault);
    CHECK_FALSE(store::redis_error("WRONGTYPE").operator_fault);
}

TEST_CASE("a script names the key that it found damaged", "[store]")
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

TEST_CASE("a client is not told what Redis said", "[store]")
{
    Replies replies;
    for (const char* said :
         {"-ERR secret 10.0.0.1\r\n", "-DAMAGED secret\r\n"}) {
        for (const bool write : {false, true}) {
            const auto error = store::failure_of(replies(said), write);
            CHECK_FALSE(error.message.text().empty());
            CHECK(error.message.text().find("secret") == std::string::npos);
            CHECK(error.message.text().find("Redis") == std::string::npos);
        }
    }
}
