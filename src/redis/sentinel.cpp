#include "sentinel.h"

#include <array>

#include "../api/text.h"

namespace petstore::redis {

namespace {

using Kind = SentinelMessage::Kind;
using Result = PrimaryAddress::Result;

// All Sentinels announce the end of a failover. The leading Sentinel does so
// last, after reconfiguring the other replicas, but announces the promotion
// earlier.
constexpr std::string_view kSwitchChannel = "+switch-master";
constexpr std::string_view kPromotionChannel = "+promoted-slave";
constexpr std::size_t kMaxHost = 255;

// Whether the text may be a host name or an IP address. It is logged and
// resolved.
bool is_host(std::string_view text) noexcept
{
    return api::is_alphanumeric_or(text, ".-_:") && text.size() <= kMaxHost;
}

std::optional<ServerAddress> server_address(std::string_view host,
                                            std::string_view port)
{
    const auto number = api::parse_port(port);
    if (!is_host(host) || !number) {
        return std::nullopt;
    }
    return ServerAddress{std::string(host), *number};
}

// The number of words in a message, and the positions of the primary's name and
// new address.
struct Layout {
    std::size_t words;
    std::size_t name;
    std::size_t host;  // followed by the port
};

// "NAME OLD-HOST OLD-PORT NEW-HOST NEW-PORT".
constexpr Layout kSwitch = {5, 0, 3};
// "slave HOST:PORT HOST PORT @ NAME OLD-HOST OLD-PORT".
constexpr Layout kPromotion = {8, 5, 2};

SentinelMessage parse_switch(std::string_view text, const Layout& layout,
                             std::string_view name)
{
    std::array<std::string_view, 8> words;
    for (std::size_t i = 0; i < layout.words; ++i) {
        words[i] = api::take_word(text);
    }
    if (words[layout.name] != name) {
        return {Kind::other, {}};
    }
    auto address = server_address(words[layout.host], words[layout.host + 1]);
    if (!address || !text.empty()) {
        return {};
    }
    return {Kind::switched, std::move(*address)};
}

}  // namespace

Command primary_address_request(std::string_view name)
{
    Command command("SENTINEL");
    command.arg("GET-MASTER-ADDR-BY-NAME").arg(name);
    return command;
}

Command primary_record_request(std::string_view name)
{
    Command command("SENTINEL");
    command.arg("MASTER").arg(name);
    return command;
}

PrimaryAddress parse_primary_address(const Reply& reply)
{
    if (reply.is_error()) {
        return {Result::refused, {}};
    }
    if (reply.is(Type::nil)) {
        return {Result::unknown_name, {}};
    }
    if (reply.size() != 2) {
        return {};
    }
    auto address = server_address(reply[0].text(), reply[1].text());
    if (!address) {
        return {};
    }
    return {Result::found, std::move(*address)};
}

// The reply has names and values in turn.
std::optional<ServerAddress> parse_primary_record(const Reply& reply)
{
    std::string_view host;
    std::string_view port;
    ServerId id;
    for (std::size_t i = 0; i + 1 < reply.size(); i += 2) {
        const std::string_view name = reply[i].text();
        const std::string_view value = reply[i + 1].text();
        if (name == "ip") {
            host = value;
        } else if (name == "port") {
            port = value;
        } else if (name == "runid") {
            id = ServerId(value);
        }
    }
    auto primary = server_address(host, port);
    if (primary) {
        primary->id = id;
    }
    return primary;
}

Command switch_subscription()
{
    Command command("SUBSCRIBE");
    command.arg(kSwitchChannel).arg(kPromotionChannel);
    return command;
}

SentinelMessage parse_sentinel_message(const Reply& reply,
                                       std::string_view name)
{
    if (reply.is_error()) {
        return {Kind::refused, {}};
    }
    if (reply.size() == 0) {
        return {};
    }
    const std::string_view kind = reply[0].text();
    if (kind == "pong") {
        return {Kind::pong, {}};
    }
    const std::string_view channel = reply.size() == 3 ? reply[1].text() : "";
    const bool promotion = channel == kPromotionChannel;
    if (channel != kSwitchChannel && !promotion) {
        return {};
    }
    if (kind == "subscribe") {  // in the order of switch_subscription()
        return {promotion ? Kind::other : Kind::subscribed, {}};
    }
    if (kind == "message") {
        return parse_switch(reply[2].text(), promotion ? kPromotion : kSwitch,
                            name);
    }
    return {};
}

bool KnownPrimary::is_news(const ServerAddress& primary) const noexcept
{
    return answers_ == 0 || primary != address_
           || primary.id.contradicts(address_.id);
}

void KnownPrimary::take(ServerAddress&& primary) noexcept
{
    changed_ = changed_ || (answers_ > 0 && primary != address_);
    address_ = std::move(primary);
    ++answers_;
}

bool KnownPrimary::take_switch(ServerAddress&& primary,
                               std::uint64_t now) noexcept
{
    if (primary == address_) {
        return true;  // already announced by the promotion
    }
    if (switched_at_ && now - *switched_at_ < kBetweenSwitches) {
        return false;
    }
    switched_at_ = now;
    take(std::move(primary));
    return true;
}

}  // namespace petstore::redis
