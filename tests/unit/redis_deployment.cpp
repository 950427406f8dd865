#include <string>
#include <variant>

#include "../../src/redis/deployment.h"
#include "../catch.h"

using namespace petstore::redis;

namespace {

using Form = Deployment::Form;

Deployment parsed(const std::string& text)
{
    auto result = parse_deployment(text);
    REQUIRE(std::holds_alternative<Deployment>(result));
    return std::get<Deployment>(std::move(result));
}

}  // namespace

TEST_CASE("one URL is a standalone server", "[redis]")
{
    const auto deployment = parsed("redis://u:p@h:7000/3");
    CHECK(deployment.form == Form::standalone);
    REQUIRE(deployment.endpoints.size() == 1);
    CHECK(deployment.endpoints[0].port == 7000);
    CHECK(deployment.display() == "redis://h:7000/3");
    CHECK(parsed("unix:/run/redis.sock").endpoints[0].is_unix());
}

TEST_CASE("Sentinels have a port of their own and the primary's name",
          "[redis]")
{
    const auto deployment =
        parsed("sentinel=main-1.eu redis://:p@a/2  redis://b:1/2");
    CHECK(deployment.form == Form::sentinel);
    CHECK(deployment.primary_name == "main-1.eu");
    CHECK_FALSE(deployment.tls());
    REQUIRE(deployment.endpoints.size() == 2);
    CHECK(deployment.endpoints[0].port == 26379);
    CHECK(deployment.endpoints[1].port == 1);
    CHECK(deployment.display()
          == "sentinel=main-1.eu redis://a:26379/2 redis://b:1/2");
}

TEST_CASE("a cluster is described by some of its nodes", "[redis]")
{
    const auto deployment = parsed("cluster rediss://a rediss://[::1]:7001");
    CHECK(deployment.form == Form::cluster);
    CHECK(deployment.tls());
    REQUIRE(deployment.endpoints.size() == 2);
    CHECK(deployment.endpoints[0].port == 6379);
    CHECK(deployment.display()
          == "cluster rediss://a:6379/0 rediss://[::1]:7001/0");
}

TEST_CASE("an invalid deployment is refused without its password", "[redis]")
{
    const struct {
        const char* text;
        const char* url;
        const char* reason;
    } rows[] = {
        {"", "", "needs a URL"},
        {"cluster", "", "needs a URL"},
        {"sentinel=m", "", "needs a URL"},
        {"sentinel= redis://h", "",
         "takes the name of a primary after \"sentinel=\", made of letters, digits, \".\", \"-\" and \"_\""},
        {"redis://:s3cret word@h", "",
         "takes one URL; several need \"sentinel=NAME\" or \"cluster\" before them"},
        {"redis://h:s3cret", "redis://h:***",
         "the port must be a number from 1 to 65535"},
        {"cluster redis://h unix:/r", "unix:/r",
         "a Sentinel or cluster node needs a host and port"},
        {"cluster redis://h/1", "redis://h/1", "a cluster has no databases"},
        {"cluster redis://:a@h redis://:b@g", "redis://***@g",
         "the first URL's user and password are used for all nodes"},
        {"sentinel=m redis://h rediss://:s3cret@g", "rediss://***@g",
         "all URLs must have the same scheme"},
        {"sentinel=m redis://h redis://:s3cret@g/1", "redis://***@g/1",
         "all URLs must have the same database"},
    };
    for (const auto& row : rows) {
        CAPTURE(row.text);
        const auto result = parse_deployment(row.text);
        REQUIRE(std::holds_alternative<DeploymentProblem>(result));
        const auto& problem = std::get<DeploymentProblem>(result);
        CHECK(problem.url == row.url);
        CHECK(problem.reason == row.reason);
    }
}

TEST_CASE("deployments are equal if all of their parts are", "[redis]")
{
    const auto deployment = parsed("sentinel=m redis://:p@a redis://b");
    CHECK(deployment == parsed("sentinel=m redis://:p@a redis://b:26379"));
    for (const char* other :
         {"sentinel=n redis://:p@a redis://b",
          "sentinel=m redis://:q@a redis://b", "sentinel=m redis://:p@a",
          "cluster redis://:p@a redis://b"}) {
        CAPTURE(other);
        CHECK(deployment != parsed(other));
    }
}
