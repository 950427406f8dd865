#include "catch.h"

#include <string>

#include "redis/server_id.h"
#include "redis_replies.h"

using namespace petstore;
using redis::ServerId;

TEST_CASE("a server's id is 1 to 64 visible characters", "[redis]")
{
    CHECK(ServerId("0123abcdef").text() == "0123abcdef");
    CHECK(ServerId(std::string(64, 'x')).text().size() == 64);
    for (const std::string& text :
         {std::string(), std::string(65, 'x'), std::string("a b"),
          std::string("a\n"), std::string("a\0", 2), std::string("\x7f"),
          std::string("\xc3\xa4")}) {
        CHECK(ServerId(text).empty());
    }
}

TEST_CASE("an unknown id contradicts none", "[redis]")
{
    const ServerId one("one");
    CHECK(one.contradicts(ServerId("other")));
    CHECK_FALSE(one.contradicts(ServerId("one")));
    CHECK_FALSE(one.contradicts(ServerId()));
    CHECK_FALSE(ServerId().contradicts(one));
    CHECK_FALSE(ServerId().contradicts(ServerId()));
}

TEST_CASE("servers say who they are", "[redis]")
{
    using Words = std::vector<std::string>;
    CHECK(words(redis::node_id_request()) == Words{"CLUSTER", "MYID"});
    CHECK(words(redis::run_id_request()) == Words{"INFO", "server"});
    Replies replies;
    CHECK(redis::node_id(replies(bulk("abc"))).text() == "abc");
    CHECK(redis::node_id(replies("-NOPERM x\r\n")).empty());
    CHECK(redis::node_id(replies(integer(7))).empty());
    CHECK(redis::run_id(replies(bulk("# Server\r\nredis_version:7.0.15\r\n"
                                     "run_id:0123\r\ntcp_port:6379\r\n")))
              .text()
          == "0123");
    CHECK(redis::run_id(replies(bulk("# Server\r\n"))).empty());
    CHECK(redis::run_id(replies("-NOPERM run_id:x\r\n")).empty());
}
