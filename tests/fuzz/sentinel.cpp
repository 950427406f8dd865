// Replies of Sentinels.
#include "redis/sentinel.h"
#include "replies.h"

using namespace petstore;

namespace {

void check(const redis::ServerAddress& address)
{
    REQUIRE(!address.host.empty());
    REQUIRE(address.port >= 1 && address.port <= 65535);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size)
{
    const auto stream = fuzz::text_of(data, size);
    fuzz::for_each_reply(stream, size, [](const redis::Reply& reply) {
        const auto primary = redis::parse_primary_address(reply);
        if (primary.result == redis::PrimaryAddress::Result::found) {
            check(primary.address);
        }
        if (const auto record = redis::parse_primary_record(reply)) {
            check(*record);
        }
        const auto message = redis::parse_sentinel_message(reply, "mymaster");
        if (message.kind == redis::SentinelMessage::Kind::switched) {
            check(message.address);
        }
    });
    return 0;
}
