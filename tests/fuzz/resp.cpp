// The byte stream from Redis. The result must not depend on how it is split.
#include "redis/error_table.h"
#include "redis/replication.h"
#include "replies.h"

using namespace petstore;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size)
{
    const auto stream = fuzz::text_of(data, size);
    std::string whole;
    const bool intact =
        fuzz::for_each_reply(stream, stream.size(), [&](const auto& reply) {
            fuzz::describe(reply, whole);
            redis::parse_replication(reply);
            if (reply.is_error()) {
                redis::error_row(reply.text());
            }
        });
    std::string in_pieces;
    const bool also = fuzz::for_each_reply(stream, 1, [&](const auto& reply) {
        fuzz::describe(reply, in_pieces);
    });
    REQUIRE(intact == also);
    REQUIRE(whole == in_pieces);
    return 0;
}
