#include "catch.h"

#include <string>
#include <vector>

#include "store/pets/change_log.h"
#include "store_replies.h"

using namespace petstore;
using store::ChangeLog;

namespace {

constexpr std::int64_t kStart = 1'700'000'000'000'000;

struct Log {
    Log() { log.add_unknown(kStart); }

    // `entries` are relative to kStart.
    void add(const std::vector<std::pair<std::int64_t, std::int64_t>>& entries,
             std::int64_t now)
    {
        std::vector<std::string> items;
        for (const auto& [changes, bucket] : entries) {
            items.push_back(bulk(std::to_string(kStart + changes) + ":"
                                 + std::to_string(bucket)));
        }
        Replies replies;
        log.add(replies(array(items)), kStart + now);
    }

    bool unchanged(std::int64_t first, std::int64_t last, std::int64_t read,
                   std::int64_t now) const
    {
        return log.unchanged({first, last}, kStart + read, kStart + now);
    }

    std::int64_t known() const { return log.known() - kStart; }

    ChangeLog log{1024};
};

}  // namespace

TEST_CASE("change log: buckets beyond the last changed one are unchanged",
          "[store]")
{
    Log log;
    CHECK(log.unchanged(0, 200, 0, 0));
    log.add({{1, 7}}, 1);
    CHECK(log.unchanged(8, 200, 0, 1));
    log.add({{1, 7}, {2, 1023}}, 2);
    CHECK_FALSE(log.unchanged(1023, 1023, 1, 2));
    CHECK_FALSE(log.unchanged(7, 7, 0, 2));
    CHECK(log.unchanged(1022, 1022, 0, 2));
    // Shares a place with bucket 7.
    CHECK_FALSE(log.unchanged(1031, 1031, 0, 2));
    log.log.clear();
    CHECK(log.log.known() == 0);
}

TEST_CASE("change log: a bucket has changed since its last entry", "[store]")
{
    Log log;
    log.add({{1, 7}, {2, 8}, {3, 7}}, 3);
    CHECK(log.known() == 3);
    CHECK_FALSE(log.unchanged(7, 7, 0, 3));
    CHECK_FALSE(log.unchanged(7, 7, 2, 3));
    CHECK(log.unchanged(7, 7, 3, 3));
    CHECK_FALSE(log.unchanged(8, 8, 1, 3));
    CHECK(log.unchanged(8, 8, 2, 3));
    CHECK(log.unchanged(6, 6, 0, 3));
    CHECK(log.unchanged(9, 99, 0, 3));
    CHECK_FALSE(log.unchanged(0, 7, 2, 3));
    CHECK_FALSE(log.unchanged(7, 9, 2, 3));
    // Later changes are unknown.
    CHECK_FALSE(log.unchanged(6, 6, 0, 4));
    CHECK(log.unchanged(6, 6, 4, 4));
    // Before the start of the log.
    CHECK_FALSE(log.unchanged(6, 6, -1, 3));
    CHECK_FALSE(log.unchanged(0, -1, -1, 3));
    CHECK(log.unchanged(0, -1, 0, 3));
}

TEST_CASE("change log: old and later entries do no harm", "[store]")
{
    Log log;
    log.add({{-500, 1}, {-3, 2}, {0, 3}, {1, 4}, {2, 5}, {3, 6}}, 2);
    CHECK(log.known() == 3);
    for (const int bucket : {1, 2, 3, 7}) {
        CHECK(log.unchanged(bucket, bucket, 0, 3));
    }
    for (const int bucket : {4, 5, 6}) {
        CHECK_FALSE(log.unchanged(bucket, bucket, 0, 3));
    }
    // Later entries count up to the first gap.
    log.add({{4, 6}, {5, 6}, {7, 6}}, 4);
    CHECK(log.known() == 5);
    CHECK_FALSE(log.unchanged(9, 9, 5, 7));
    log.add({{4, 6}, {5, 6}, {7, 6}}, 7);
    CHECK(log.known() == 7);
    CHECK_FALSE(log.unchanged(9, 9, 5, 7));
}

TEST_CASE("change log: a reply that comes late does no harm", "[store]")
{
    Log log;
    log.add({{1, 4}, {2, 5}, {3, 6}}, 2);
    log.add({{1, 9}}, 1);
    CHECK(log.known() == 3);
    CHECK(log.unchanged(9, 9, 0, 3));
}

TEST_CASE("change log: a missing entry counts as a change of all buckets",
          "[store]")
{
    Log log;
    log.add({{1, 7}}, 1);
    const auto entries = GENERATE(
        std::vector<std::pair<std::int64_t, std::int64_t>>{},
        std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 7}},
        std::vector<std::pair<std::int64_t, std::int64_t>>{{3, 7}},
        std::vector<std::pair<std::int64_t, std::int64_t>>{{2, 7}},
        std::vector<std::pair<std::int64_t, std::int64_t>>{
            {1, 7}, {3, 7}, {4, 7}},
        std::vector<std::pair<std::int64_t, std::int64_t>>{{2, 7}, {4, 7}},
        std::vector<std::pair<std::int64_t, std::int64_t>>{
            {2, 7}, {2, 8}, {3, 7}},
        std::vector<std::pair<std::int64_t, std::int64_t>>{{3, 7}, {2, 7}},
        std::vector<std::pair<std::int64_t, std::int64_t>>{
            {0, 1}, {-1, 1}, {2, 7}, {3, 8}});
    log.add(entries, 3);
    CHECK(log.known() == 3);
    CHECK_FALSE(log.unchanged(20, 20, 2, 3));
    CHECK(log.unchanged(20, 20, 3, 3));
    log.add({{4, 8}}, 4);
    CHECK(log.unchanged(20, 20, 3, 4));
    CHECK_FALSE(log.unchanged(8, 8, 3, 4));
}

TEST_CASE("change log: a malformed log counts as a change of all buckets",
          "[store]")
{
    const std::string first = std::to_string(kStart + 1);
    for (const std::string& reply :
         {std::string("-NOPERM x\r\n"), kNil, integer(7), bulk(first + ":7"),
          array({integer(kStart + 1)}), array({kNil}), array({bulk("")}),
          array({bulk(first)}), array({bulk(first + ":")}),
          array({bulk(first + ":-1")}), array({bulk(first + ":7 ")}),
          array({bulk(":7")}), array({bulk("x:7")}),
          array({bulk(first + ":7:7")}), array({bulk("-1:7")}),
          array({bulk(first + ":99999999999999999999")}),
          array({bulk("junk"), bulk(first + ":7")}),
          array({bulk(first + ":7"), bulk("junk")})}) {
        INFO(reply);
        Log log;
        Replies replies;
        log.log.add(replies(reply), kStart + 1);
        CHECK(log.known() == 1);
        CHECK_FALSE(log.unchanged(20, 20, 0, 1));
    }
    Log log;
    Replies replies;
    log.log.add(replies(array({bulk(first + ":7")})), kStart + 1);
    CHECK(log.unchanged(20, 20, 0, 1));
}

TEST_CASE("change log: it reaches back as far as Redis keeps entries",
          "[store]")
{
    ChangeLog log(16);
    CHECK_FALSE(log.reaches(1));
    log.add_unknown(kStart);
    CHECK(log.reaches(kStart - 1));
    CHECK(log.reaches(kStart));
    CHECK(log.reaches(kStart + ChangeLog::kLength));
    CHECK_FALSE(log.reaches(kStart + ChangeLog::kLength + 1));
    // A few more than needed, because changes may follow before the log is
    // read.
    CHECK(log.entries_until(kStart + 1) > 1);
    CHECK(log.entries_until(kStart + 1) < 100);
    CHECK(log.entries_until(kStart + ChangeLog::kLength) == ChangeLog::kLength);
    log.clear();
    CHECK(log.known() == 0);
    CHECK_FALSE(log.reaches(kStart + 1));
}

TEST_CASE("change log: buckets that share a place change together", "[store]")
{
    ChangeLog log(GENERATE(3, 4));  // four places
    log.add_unknown(kStart);
    Replies replies;
    log.add(replies(array({bulk(std::to_string(kStart + 1) + ":6")})),
            kStart + 1);
    for (const std::int64_t bucket : {2LL, 6LL, 10LL, (1LL << 45) + 2}) {
        CHECK_FALSE(log.unchanged({bucket, bucket}, kStart, kStart + 1));
    }
    for (const std::int64_t bucket : {1LL, 3LL, 5LL, 7LL, 8LL}) {
        CHECK(log.unchanged({bucket, bucket}, kStart, kStart + 1));
    }
    CHECK(log.unchanged({3, 5}, kStart, kStart + 1));
    CHECK_FALSE(log.unchanged({3, 6}, kStart, kStart + 1));
    CHECK_FALSE(log.unchanged({100, 10'000'000}, kStart, kStart + 1));
    CHECK(log.unchanged({100, 10'000'000}, kStart + 1, kStart + 1));
    // It tracks no buckets, but never forgets a change.
    ChangeLog none(0);
    none.add_unknown(kStart);
    none.add(replies(array({bulk(std::to_string(kStart + 1) + ":6")})),
             kStart + 1);
    CHECK_FALSE(none.unchanged({1, 1}, kStart, kStart + 1));
}

TEST_CASE("change log: cleared, it knows nothing", "[store]")
{
    Log log;
    log.add({{1, 7}}, 1);
    log.log.clear();
    CHECK_FALSE(log.unchanged(20, 20, 0, 1));
    CHECK(log.unchanged(20, 20, 1, 1));
    // A different history may have lower numbers.
    log.log.add_unknown(5);
    Replies replies;
    log.log.add(replies(array({bulk("6:8")})), 6);
    CHECK(log.log.unchanged({7, 7}, 5, 6));
    CHECK_FALSE(log.log.unchanged({8, 8}, 5, 6));
}
