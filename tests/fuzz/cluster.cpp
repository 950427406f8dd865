// Replies of Cluster servers: slot maps and redirects. Each address that they
// name can be connected to and logged, and a redirect says what it was read as.
#include <algorithm>
#include <string>

#include "redis/slot_map.h"
#include "replies.h"

using namespace petstore;

namespace {

constexpr char kAsked[] = "10.0.0.1";

// Whether the text may be an IP address or a name: never "?", which stands for
// a missing name, and nothing that could forge a line of the log.
bool is_host(const std::string& text)
{
    return !text.empty() && text.size() <= 255 && text != "?"
           && std::all_of(text.begin(), text.end(),
                          [](char c) { return c > ' ' && c < '\x7f'; });
}

void check_address(const redis::ServerAddress& address)
{
    REQUIRE(is_host(address.host));
    REQUIRE(address.port >= 1 && address.port <= 65535);
    REQUIRE(address.ip.empty() || is_host(address.ip));
}

std::string redirect_text(const redis::Redirect& redirect,
                          const std::string& host)
{
    return (redirect.kind == redis::Redirect::Kind::moved ? "MOVED " : "ASK ")
           + std::to_string(redirect.slot) + ' ' + host + ':'
           + std::to_string(redirect.address.port);
}

void check_redirect(const redis::Reply& reply)
{
    const auto redirect = redis::Redirect::parse(reply, kAsked);
    if (!redirect) {
        return;
    }
    REQUIRE(redirect->slot < redis::kHashSlots);
    check_address(redirect->address);
    const std::string& host = redirect->address.host;
    REQUIRE(
        reply.text() == redirect_text(*redirect, host)
        || (host == kAsked && reply.text() == redirect_text(*redirect, "")));
}

// Each server can redirect to each address of the map.
void check_redirect_to(const redis::ServerAddress& address)
{
    const redis::Redirect expected{redis::Redirect::Kind::ask, 16383, address};
    const std::string reply =
        '-' + redirect_text(expected, address.host) + "\r\n";
    std::size_t replies = 0;
    fuzz::for_each_reply(reply, reply.size(), [&](const redis::Reply& ask) {
        const auto redirect = redis::Redirect::parse(ask, kAsked);
        REQUIRE(redirect && redirect->kind == expected.kind);
        REQUIRE(redirect->slot == expected.slot);
        REQUIRE(redirect->address == address);
        ++replies;
    });
    REQUIRE(replies == 1);
}

void check_map(redis::SlotMap& map)
{
    for (std::uint32_t slot = 0; slot < redis::kHashSlots; ++slot) {
        const auto owner = map.primary_of(static_cast<std::uint16_t>(slot));
        REQUIRE(!owner || *owner < map.primaries().size());
    }
    for (const auto* servers : {&map.primaries(), &map.replicas()}) {
        for (const auto& server : *servers) {
            check_address(server);
            check_redirect_to(server);
        }
    }
    const redis::ServerAddress other{"10.0.0.2", 7000};
    map.move(1, other);
    REQUIRE(map.primaries()[*map.primary_of(1)] == other);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size)
{
    const auto stream = fuzz::text_of(data, size);
    fuzz::for_each_reply(stream, size, [](const redis::Reply& reply) {
        if (auto map = redis::SlotMap::parse(reply, kAsked)) {
            check_map(*map);
        }
        check_redirect(reply);
    });
    return 0;
}
