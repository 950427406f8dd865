// Replies to the limiter's scripts. No reply admits more than was requested,
// and both forms of a reply mean the same.
#include "replies.h"
#include "store/accounts/account_state.h"
#include "store/accounts/limit_commands.h"

using namespace petstore;

namespace {

using Results = std::vector<store::LimitResult>;

constexpr std::size_t kWindows = store::AccountState::kWindowsSize;

void check(const store::LimitResult& result, const store::LimitRequest& request)
{
    if (result.kind != store::LimitResult::Kind::decided) {
        return;
    }
    REQUIRE(result.admitted >= 0 && result.admitted <= request.requests);
    for (const std::int64_t number :
         {result.epoch, result.now, result.ban_until, result.minute.used,
          result.minute.reset, result.day.used, result.day.reset,
          result.month.used, result.month.reset}) {
        REQUIRE(number >= 0 && number <= store::AccountState::kLargest);
    }
    REQUIRE(result.version);
}

std::string bulk(std::string_view text)
{
    return std::string("$")
        .append(std::to_string(text.size()))
        .append("\r\n")
        .append(text)
        .append("\r\n");
}

// The array form of a reply in the short form.
std::string as_array(std::string_view reply, std::size_t accounts)
{
    std::string array = "*" + std::to_string(accounts + 1) + "\r\n";
    for (std::size_t i = 0; i < accounts; ++i) {
        array += bulk(reply.substr(i * kWindows, kWindows));
    }
    return array + bulk(reply.substr(accounts * kWindows));
}

std::string described(const Results& results)
{
    std::string text;
    for (const auto& result : results) {
        const store::Version version =
            result.version.value_or(store::Version{});
        for (const std::int64_t number :
             {static_cast<std::int64_t>(result.kind), result.epoch, result.now,
              result.admitted, result.minute.used, result.minute.reset,
              result.day.used, result.day.reset, result.month.used,
              result.month.reset, version.count, version.changes}) {
            text.append(std::to_string(number)).push_back(' ');
        }
    }
    return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size)
{
    static const store::Schema schema("petstore");
    static const store::LimitCommands limiter(schema);
    const auto stream = fuzz::text_of(data, size);
    fuzz::for_each_reply(stream, size, [&](const redis::Reply& reply) {
        const auto status =
            store::LimitCommands::parse_status(reply, {60, 1000, 5000}, 2);
        REQUIRE(status.strikes >= 0);
        REQUIRE(status.decision.ban_until >= 0);
        for (std::size_t accounts = 1; accounts <= 3; ++accounts) {
            std::vector<store::LimitRequest> requests(accounts);
            requests.back().requests = 7;
            requests.back().limits.month = 5000;
            const Results results = limiter.parse_decisions(reply, requests);
            REQUIRE(results.size() == accounts);
            for (std::size_t i = 0; i < accounts; ++i) {
                check(results[i], requests[i]);
            }
            if (!reply.is(redis::Type::string)
                || reply.text().size() <= accounts * kWindows) {
                continue;
            }
            fuzz::for_each_reply(
                as_array(reply.text(), accounts), size + 100,
                [&](const redis::Reply& array) {
                    REQUIRE(described(limiter.parse_decisions(array, requests))
                            == described(results));
                });
        }
    });
    return 0;
}
