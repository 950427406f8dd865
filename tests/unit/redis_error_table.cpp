#include "catch.h"

#include "redis/error_table.h"
#include "redis_replies.h"

using namespace petstore;

TEST_CASE("only NOSCRIPT says that a script is unknown", "[redis]")
{
    Replies replies;
    CHECK(redis::is_unknown_script(replies("-NOSCRIPT No matching\r\n")));
    CHECK(redis::is_unknown_script(replies("-NOSCRIPT\r\n")));
    CHECK_FALSE(redis::error_row("NOSCRIPT").executed);
    for (const char* reply :
         {"-ERR NOSCRIPT\r\n", "-NOSCRIPTS x\r\n", "-LOADING x\r\n",
          "-READONLY x\r\n", "-BUSY x\r\n", "-DAMAGED x\r\n", "-X\r\n", "-\r\n",
          "+NOSCRIPT x\r\n", "$8\r\nNOSCRIPT\r\n"}) {
        CAPTURE(reply);
        CHECK_FALSE(redis::is_unknown_script(replies(reply)));
    }
}

TEST_CASE("only WRONGTYPE says that a key holds another type", "[redis]")
{
    Replies replies;
    CHECK(redis::is_wrong_type(replies("-WRONGTYPE Operation against\r\n")));
    CHECK_FALSE(redis::is_wrong_type(replies("-ERR WRONGTYPE\r\n")));
    CHECK_FALSE(redis::is_wrong_type(replies("+WRONGTYPE x\r\n")));
    CHECK_FALSE(redis::is_wrong_type(replies("$-1\r\n")));
}

TEST_CASE("errors that Redis returns before executing have no effect",
          "[redis]")
{
    for (const char* code :
         {"LOADING", "READONLY", "MASTERDOWN", "OOM", "MISCONF", "NOREPLICAS",
          "NOAUTH", "WRONGPASS", "MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN",
          "CROSSSLOT", "BUSY"}) {
        CAPTURE(code);
        CHECK(redis::error_row(code).code == code);
        CHECK_FALSE(redis::error_row(code).executed);
    }
}

TEST_CASE("only a replica refuses as a replica", "[redis]")
{
    CHECK(redis::error_row("READONLY").replica);
    CHECK(redis::error_row("MASTERDOWN").replica);
    for (const char* code : {"ERR", "LOADING", "NOREPLICAS", "BUSY", "X", ""}) {
        CAPTURE(code);
        CHECK_FALSE(redis::error_row(code).replica);
    }
}

TEST_CASE("an unknown error may have come after an effect", "[redis]")
{
    for (const char* code : {"ERR", "WRONGTYPE", "NEWERROR", "err", ""}) {
        CAPTURE(code);
        CHECK(redis::error_row(code).executed);
    }
}

TEST_CASE("an unknown error is the operator's", "[redis]")
{
    for (const char* code : {"NEWERROR", "err", ""}) {
        CAPTURE(code);
        CHECK(redis::error_row(code).code.empty());
        CHECK(redis::error_row(code).operator_fault);
        CHECK_FALSE(redis::error_row(code).replica);
    }
}

TEST_CASE("errors of a failover or a restart need no operator", "[redis]")
{
    for (const char* code : {"LOADING", "READONLY", "MASTERDOWN", "MOVED",
                             "ASK", "TRYAGAIN", "CLUSTERDOWN", "NOSCRIPT"}) {
        CAPTURE(code);
        CHECK_FALSE(redis::error_row(code).operator_fault);
    }
    for (const char* code : {"BUSY", "OOM", "MISCONF", "NOREPLICAS", "NOAUTH",
                             "WRONGPASS", "NOPERM", "CROSSSLOT", "ERR"}) {
        CAPTURE(code);
        CHECK(redis::error_row(code).code == code);
        CHECK(redis::error_row(code).operator_fault);
    }
}

TEST_CASE("damaged data change nothing and are logged with the key", "[redis]")
{
    CHECK(redis::error_row("DAMAGED").code == "DAMAGED");
    CHECK_FALSE(redis::error_row("DAMAGED").executed);
    CHECK_FALSE(redis::error_row("DAMAGED").operator_fault);
    CHECK_FALSE(redis::error_row("WRONGTYPE").operator_fault);
}
