#include "catch.h"

#include <string>

#include "redis/replication.h"
#include "redis_replies.h"

using namespace petstore;
using redis::Replication;
using redis::RoleWatch;
using Role = Replication::Role;
using Finding = RoleWatch::Finding;

namespace {

const std::string kId = "8c3ff8f0cf5b6d0d9b6ba0c6bd0e5bfd5c2a1d77";
const std::string kUnknownId(40, '?');
const std::string kOtherId = "0000000000000000000000000000000000000001";

std::string info(const std::string& role, const std::string& id)
{
    return bulk(
        "# Replication\r\nrole:" + role
        + "\r\nconnected_slaves:0\r\nmaster_failover_state:no-failover\r\nmaster_replid:"
        + id + "\r\nmaster_replid2:" + std::string(40, '0')
        + "\r\nmaster_repl_offset:0\r\n");
}

Role role_of(const std::string& reply)
{
    Replies replies;
    return redis::parse_replication(replies(reply)).role;
}

}  // namespace

TEST_CASE("INFO reports the role and the replication ID", "[redis]")
{
    Replies replies;
    const auto primary = redis::parse_replication(replies(info("master", kId)));
    CHECK(primary.role == Role::primary);
    CHECK(primary.id == kId);
    CHECK(role_of(info("slave", kId)) == Role::replica);
    CHECK(role_of(info("replica", kId)) == Role::replica);
    CHECK(role_of(bulk("role:slave")) == Role::replica);
    CHECK(role_of(bulk("role:master\nmaster_replid:" + kId)) == Role::primary);
}

TEST_CASE("a reply to INFO without the fields leaves the role unknown",
          "[redis]")
{
    for (const auto& reply :
         {bulk(""), bulk("role"), bulk("role:"), bulk("role:master"),
          bulk("Xrole:slave"), bulk("master_replid:" + kId),
          info("sentinel", kId), info("master", kId.substr(1)),
          info("master", kId + "0"), info("master", ""), kNil, integer(1),
          array({bulk("role:slave")}), std::string("+OK\r\n"),
          std::string("-NOPERM no\r\n"), std::string("-ERR unknown\r\n"),
          std::string("-WHATEVER\r\n"), std::string("-\r\n")}) {
        CAPTURE(reply);
        CHECK(role_of(reply) == Role::unknown);
    }
}

TEST_CASE("a temporary error leaves the role unanswered", "[redis]")
{
    for (const char* reply : {"-BUSY x\r\n", "-LOADING x\r\n", "-NOAUTH x\r\n",
                              "-MASTERDOWN x\r\n"}) {
        CAPTURE(reply);
        CHECK(role_of(reply) == Role::unanswered);
    }
}

TEST_CASE("the role is due a second after the last request for it", "[redis]")
{
    Replies replies;
    RoleWatch watch;
    CHECK_FALSE(watch.due(1'000'000));  // no connection
    watch.begin(5000);
    watch.take(replies(info("master", kId)), 5010);
    CHECK_FALSE(watch.due(5999));
    CHECK(watch.due(6000));
    watch.asked(7500);
    CHECK_FALSE(watch.due(8499));  // also while the reply is on its way
    watch.take(replies(info("master", kId)), 7600);
    CHECK_FALSE(watch.due(8499));
    CHECK(watch.due(8500));
}

TEST_CASE("a role left unanswered is due again at once", "[redis]")
{
    Replies replies;
    RoleWatch watch;
    watch.begin(5000);
    watch.take(replies(info("master", kId)), 5000);
    watch.asked(6000);
    CHECK(watch.take(replies("-BUSY x\r\n"), 6100) == Finding::unanswered);
    CHECK(watch.due(6100));
}

TEST_CASE(
    "a server that does not report its role is not asked again until the next connection",
    "[redis]")
{
    Replies replies;
    RoleWatch watch;
    watch.begin(5000);
    CHECK(watch.take(replies("-NOPERM x\r\n"), 5000) == Finding::unknown);
    CHECK_FALSE(watch.due(1'000'000));
    watch.begin(1'000'000);
    CHECK(watch.due(1'001'000));
}

TEST_CASE("a changed replication ID is reported once", "[redis]")
{
    Replies replies;
    RoleWatch watch;
    watch.begin(0);
    CHECK(watch.take(replies(info("master", kId)), 0)
          == Finding::other_history);
    CHECK(watch.take(replies(info("master", kId)), 1) == Finding::primary);
    CHECK(watch.take(replies(info("master", kOtherId)), 2)
          == Finding::other_history);
    CHECK(watch.take(replies(info("master", kOtherId)), 3) == Finding::primary);
    CHECK(watch.take(replies(info("slave", kOtherId)), 4) == Finding::replica);
}

TEST_CASE("the id of a server is known only while it reports it as a primary",
          "[redis]")
{
    Replies replies;
    RoleWatch watch;
    const auto take = [&](const std::string& reply) {
        watch.take(replies(reply), 5000);
        const std::string id(watch.id(5000));
        watch.asked(5000);
        return id;
    };
    watch.begin(5000);
    CHECK(take(info("master", kId)) == kId);
    CHECK(take("-BUSY x\r\n") == kUnknownId);
    // It may become a primary again, with other data.
    CHECK(take(info("slave", kId)) == kUnknownId);
    CHECK(take(info("master", kId)) == kId);
    CHECK(take("-NOPERM no\r\n") == std::string(40, '-'));
    CHECK(watch.id(9000) == std::string(40, '-'));  // not asked again
    watch.begin(5000);
    CHECK(take(info("master", kOtherId)) == kOtherId);
}

TEST_CASE("the id of a server is known for a second after the request for it",
          "[redis]")
{
    Replies replies;
    RoleWatch watch;
    const auto take = [&](std::uint64_t now) {
        watch.take(replies(info("master", kId)), now);
    };
    watch.begin(5000);
    CHECK(watch.id(5000) == kUnknownId);
    take(5300);
    CHECK(watch.id(5999) == kId);
    CHECK(watch.id(6000) == kUnknownId);
    watch.asked(8000);
    CHECK(watch.id(8000) == kUnknownId);  // until the reply
    watch.asked(9000);
    take(9100);  // to the first of the two
    CHECK(watch.id(9100) == kUnknownId);
    take(9200);
    CHECK(watch.id(9999) == kId);
    CHECK(watch.id(10000) == kUnknownId);
}
