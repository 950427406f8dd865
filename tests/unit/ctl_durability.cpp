#include "catch.h"

#include <fstream>
#include <iterator>
#include <string>

#include "ctl/doctor/durability.h"

using petstore::ctl::durability_row;
using petstore::ctl::DurabilityFacts;
using petstore::ctl::reachable_durability;

TEST_CASE("doctor finds its row in the table of durability", "[ctl]")
{
    DurabilityFacts facts;
    CHECK(durability_row(facts).empty());
    facts.append_only = false;
    CHECK(durability_row(facts).empty());
    facts.snapshots = "";
    CHECK(durability_row(facts) == "nothing on disk");
    facts.snapshots = "3600 1";
    CHECK(durability_row(facts) == "snapshots");
    facts.append_only = true;
    CHECK(durability_row(facts).empty());
    facts.fsync = "everysec";
    CHECK(durability_row(facts) == "AOF, fsync everysec");
}

TEST_CASE("the documentation has all rows that doctor finds", "[ctl]")
{
    std::ifstream file(DOCS "/operations.md");
    std::string text(std::istreambuf_iterator<char>(file), {});
    text.erase(0, text.find("\n## Durability"));
    text.erase(text.find("\n## ", 1));
    for (const char* row : {"nothing on disk", "snapshots", "AOF, fsync no",
                            "AOF, fsync everysec", "AOF, fsync always"}) {
        INFO(row);
        CHECK(text.find("\n| " + std::string(row) + " |") != std::string::npos);
    }
}

TEST_CASE("doctor names what petstore_durability can add", "[ctl]")
{
    DurabilityFacts facts;
    CHECK(reachable_durability(facts) == "replicas=N unknown, fsync unknown");
    facts.version = "7.0.15";
    facts.append_only = true;
    facts.fsync = "always";
    facts.replicas = 0;
    CHECK(
        reachable_durability(facts)
        == "no replicas=N (none is connected), no fsync (it needs Redis 7.2)");
    facts.replicas = 1;
    facts.version = "7.2.0";
    CHECK(reachable_durability(facts) == "replicas=1, fsync");
    facts.replicas = 2;
    facts.min_replicas = 1;
    facts.version = "8.0.2";
    CHECK(reachable_durability(facts)
          == "replicas=1 to 2 (min-replicas-to-write is 1), fsync");
    facts.fsync = "everysec";
    CHECK(
        reachable_durability(facts)
        == "replicas=1 to 2 (min-replicas-to-write is 1), fsync (with a petstore_redis_timeout of 3s or more)");
    facts.fsync = "no";
    CHECK(
        reachable_durability(facts)
        == "replicas=1 to 2 (min-replicas-to-write is 1), no fsync (it needs appendfsync always or everysec)");
    facts.append_only = false;
    CHECK(
        reachable_durability(facts)
        == "replicas=1 to 2 (min-replicas-to-write is 1), no fsync (it needs appendonly yes)");
    facts.version = "10.0.0-beta";
    CHECK(
        reachable_durability(facts)
        == "replicas=1 to 2 (min-replicas-to-write is 1), no fsync (it needs appendonly yes)");
}
