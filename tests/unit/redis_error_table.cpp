#include "catch.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "redis/error_table.h"
#include "redis_replies.h"
#include "store/failure.h"

using namespace petstore;

namespace {

using Log = redis::ErrorRow::Log;
using Resend = redis::ErrorRow::Resend;

std::string shown(api::ErrorCode code)
{
    return std::to_string(api::http_status(code)) + " `"
           + std::string(api::code_name(code)) + "`";
}

std::string shown(Log log)
{
    switch (log) {
    case Log::nothing:
        return "no";
    case Log::warning:
        return "`warn`";
    case Log::error:
        return "`error`";
    case Log::outage:
        return "outage";
    }
    return "";
}

// The row as a line of docs/operations.md.
std::string documented(const redis::ErrorRow& row)
{
    const std::string name =
        row.code.empty() ? "any other" : "`" + std::string(row.code) + "`";
    if (row.resend == Resend::script_text) {
        return "| " + name + " | resent with the script's text | the same | "
               + shown(row.log) + " |";
    }
    const auto write = row.write_error();
    return "| " + name + " | " + shown(row.read_error) + " | "
           + (write == row.read_error ? "the same" : shown(write)) + " | "
           + shown(row.log) + " |";
}

// The rows of the table below a heading of the documentation.
std::vector<std::string> table_below(const std::string& heading)
{
    std::ifstream file(DOCS "/operations.md");
    std::vector<std::string> rows;
    std::string line;
    bool inside = false;
    while (std::getline(file, line)) {
        if (line.substr(0, 2) == "##") {
            inside = line == heading;
        } else if (inside && line.substr(0, 1) == "|") {
            rows.push_back(line);
        }
    }
    rows.erase(rows.begin(), rows.begin() + std::min<long>(2, rows.size()));
    return rows;
}

}  // namespace

TEST_CASE("every row of the table of Redis errors", "[redis]")
{
    constexpr auto kUnavailable = api::ErrorCode::service_unavailable;
    constexpr auto kUnknown = api::ErrorCode::outcome_unknown;
    constexpr auto kDamaged = api::ErrorCode::internal_error;
    struct Row {
        const char* error;  // as Redis words it
        const char* code;
        api::ErrorCode answer;
        api::ErrorCode create;
        Log log;
    };
    const Row rows[] = {
        {"NOSCRIPT No matching script. Please use EVAL.", "NOSCRIPT",
         kUnavailable, kUnavailable, Log::nothing},
        {"LOADING Redis is loading the dataset in memory", "LOADING",
         kUnavailable, kUnavailable, Log::warning},
        {"BUSY Redis is busy running a script. You can only call SCRIPT KILL",
         "BUSY", kUnavailable, kUnavailable, Log::error},
        {"UNKILLABLE Sorry the script already executed write commands",
         "UNKILLABLE", kUnavailable, kUnavailable, Log::error},
        {"READONLY You can't write against a read only replica.", "READONLY",
         kUnavailable, kUnavailable, Log::outage},
        {"MASTERDOWN Link with MASTER is down", "MASTERDOWN", kUnavailable,
         kUnavailable, Log::outage},
        {"OOM command not allowed when used memory > 'maxmemory'.", "OOM",
         kUnavailable, kUnavailable, Log::error},
        {"MISCONF Redis is configured to save RDB snapshots, but", "MISCONF",
         kUnavailable, kUnavailable, Log::error},
        {"NOREPLICAS Not enough good replicas to write.", "NOREPLICAS",
         kUnavailable, kUnavailable, Log::error},
        {"NOAUTH Authentication required.", "NOAUTH", kUnavailable,
         kUnavailable, Log::error},
        {"WRONGPASS invalid username-password pair", "WRONGPASS", kUnavailable,
         kUnavailable, Log::error},
        {"NOPERM this user has no permissions", "NOPERM", kUnavailable,
         kUnknown, Log::error},
        {"DENIED Redis is running in protected mode", "DENIED", kUnavailable,
         kUnavailable, Log::error},
        {"NOPROTO unsupported protocol version", "NOPROTO", kUnavailable,
         kUnavailable, Log::error},
        {"MOVED 3999 127.0.0.1:6381", "MOVED", kUnavailable, kUnavailable,
         Log::warning},
        {"ASK 3999 127.0.0.1:6381", "ASK", kUnavailable, kUnavailable,
         Log::warning},
        {"REDIRECT 127.0.0.1:6381", "REDIRECT", kUnavailable, kUnavailable,
         Log::warning},
        {"TRYAGAIN Multiple keys request during rehashing of slot", "TRYAGAIN",
         kUnavailable, kUnavailable, Log::warning},
        {"CLUSTERDOWN The cluster is down", "CLUSTERDOWN", kUnavailable,
         kUnavailable, Log::warning},
        {"CROSSSLOT Keys in request don't hash to the same slot", "CROSSSLOT",
         kUnavailable, kUnavailable, Log::error},
        {"EXECABORT Transaction discarded because of previous errors.",
         "EXECABORT", kUnavailable, kUnavailable, Log::error},
        {"UNBLOCKED force unblock from blocking operation", "UNBLOCKED",
         kUnavailable, kUnknown, Log::warning},
        {"NOGOODSLAVE No suitable replica to promote", "NOGOODSLAVE",
         kUnavailable, kUnavailable, Log::warning},
        {"NOQUORUM 1 usable Sentinels", "NOQUORUM", kUnavailable, kUnavailable,
         Log::warning},
        {"IDONTKNOW Sorry, but I don't know", "IDONTKNOW", kUnavailable,
         kUnavailable, Log::warning},
        {"WRONGTYPE Operation against a key holding the wrong kind of value",
         "WRONGTYPE", kDamaged, kUnknown, Log::nothing},
        {"DAMAGED petstore:{petstore:pets}:bucket:0", "DAMAGED", kDamaged,
         kDamaged, Log::nothing},
        {"FULL the catalogue has 4000000000 pets, the most it can have", "FULL",
         kUnavailable, kUnavailable, Log::nothing},
        {"ERR max number of clients reached",
         "ERR max number of clients reached", kUnavailable, kUnavailable,
         Log::outage},
        {"ERR Script attempted to access a non local key in a cluster node",
         "ERR Script attempted to access a non local key", kUnavailable,
         kUnavailable, Log::warning},
        {"ERR Unable to execute command 'mget' in script because undeclared "
         "keys were accessed during rehashing of the slot",
         "ERR Unable to execute command", kUnavailable, kUnavailable,
         Log::warning},
        {"ERR unknown command", "ERR", kUnavailable, kUnknown, Log::error},
        {"NEWERROR of a later Redis", "", kUnavailable, kUnknown, Log::error},
    };
    CHECK(redis::error_rows().size == std::size(rows));
    Replies replies;
    for (const Row& expected : rows) {
        CAPTURE(expected.error);
        const auto& row = redis::error_row(expected.error);
        CHECK(row.code == expected.code);
        CHECK(row.log == expected.log);
        CHECK((row.resend == Resend::script_text) == (row.code == "NOSCRIPT"));
        const auto& reply = replies("-" + std::string(expected.error) + "\r\n");
        CHECK(store::failure_of(reply, store::Purpose::read).error.code
              == expected.answer);
        CHECK(store::failure_of(reply, store::Purpose::change).error.code
              == expected.create);
    }
}

TEST_CASE("the documentation has the same table of Redis errors", "[redis]")
{
    std::vector<std::string> expected;
    for (const auto& row : redis::error_rows()) {
        expected.push_back(documented(row));
    }
    const auto found = table_below("## Errors of Redis");
    for (std::size_t i = 0; i < std::min(expected.size(), found.size()); ++i) {
        CHECK(found[i] == expected[i]);
    }
    CHECK(found.size() == expected.size());
}

TEST_CASE("errors are found by whole words, the longest first", "[redis]")
{
    CHECK(redis::error_row("OOM").code == "OOM");
    CHECK(redis::error_row("OOMX").code.empty());
    CHECK(redis::error_row("ERR").code == "ERR");
    CHECK(redis::error_row("ERR max number").code == "ERR");
    CHECK(redis::error_row("ERR max number of clients reachedX").code == "ERR");
    CHECK(redis::error_row("").code.empty());
    CHECK(redis::error_row(" OOM").code.empty());
}

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

TEST_CASE("only READONLY and MASTERDOWN come from a replica", "[redis]")
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

TEST_CASE("an unknown error needs the operator", "[redis]")
{
    for (const char* code : {"NEWERROR", "err", ""}) {
        CAPTURE(code);
        CHECK(redis::error_row(code).code.empty());
        CHECK(redis::error_row(code).log == Log::error);
        CHECK_FALSE(redis::error_row(code).replica);
    }
}

TEST_CASE("errors of a failover or a restart need no operator", "[redis]")
{
    for (const char* code : {"LOADING", "READONLY", "MASTERDOWN", "MOVED",
                             "ASK", "TRYAGAIN", "CLUSTERDOWN", "NOSCRIPT"}) {
        CAPTURE(code);
        CHECK(redis::error_row(code).log != Log::error);
    }
    for (const char* code : {"BUSY", "OOM", "MISCONF", "NOREPLICAS", "NOAUTH",
                             "WRONGPASS", "NOPERM", "CROSSSLOT", "ERR"}) {
        CAPTURE(code);
        CHECK(redis::error_row(code).code == code);
        CHECK(redis::error_row(code).log == Log::error);
    }
}

TEST_CASE("damaged data change nothing and are logged with the key", "[redis]")
{
    CHECK(redis::error_row("DAMAGED").code == "DAMAGED");
    CHECK_FALSE(redis::error_row("DAMAGED").executed);
    CHECK(redis::error_row("DAMAGED").log == Log::nothing);
    CHECK(redis::error_row("WRONGTYPE").log == Log::nothing);
    CHECK_FALSE(redis::error_row("FULL").executed);
}
