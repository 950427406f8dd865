#include "slot_map.h"

#include <algorithm>
#include <utility>

#include "../api/text.h"

namespace petstore::redis {

namespace {

constexpr int kMaxPort = 65535;

// Fields of an entry of CLUSTER SLOTS, and of a server in it.
enum Entry : std::size_t { kFirst, kLast, kPrimary };
enum Server : std::size_t { kHost, kPort, kNodeId, kMetadata };

bool is_slot(std::int64_t number) noexcept
{
    return number >= 0 && number < kHashSlots;
}

bool is_port(std::int64_t number) noexcept
{
    return number > 0 && number <= kMaxPort;
}

// Whether the text may be an IP address or a name. It ends up in the log.
bool is_visible_host(std::string_view text) noexcept
{
    constexpr std::size_t kLongest = 255;
    return text.size() <= kLongest
           && std::all_of(text.begin(), text.end(),
                          [](char c) { return c > ' ' && c < '\x7f'; });
}

// Sent instead of the host of a server that announces no name, with
// cluster-preferred-endpoint-type hostname.
constexpr std::string_view kUnnamed = "?";

// The host that was asked stands for one that is nil or empty.
std::string host_or(std::string_view host, std::string_view otherwise)
{
    return std::string(host.empty() ? otherwise : host);
}

// Pairs of names and values, such as "ip". Empty if it is missing or unusable.
std::string_view ip_in(const Reply& metadata) noexcept
{
    for (std::size_t i = 0; i + 1 < metadata.size(); i += 2) {
        if (metadata[i].text() == "ip") {
            const std::string_view ip = metadata[i + 1].text();
            return is_visible_host(ip) && ip != kUnnamed ? ip
                                                         : std::string_view();
        }
    }
    return {};
}

std::optional<ServerAddress> parse_server(const Reply& server,
                                          std::string_view asked)
{
    if (server.size() <= kPort || !is_port(server[kPort].integer())
        || !(server[kHost].is(Type::string) || server[kHost].is(Type::nil))) {
        return std::nullopt;
    }
    std::string_view host = server[kHost].text();
    const std::string_view ip = server.size() > kMetadata
                                    ? ip_in(server[kMetadata])
                                    : std::string_view();
    if (host == kUnnamed) {
        host = ip;
        if (host.empty()) {
            return std::nullopt;
        }
    }
    if (!is_visible_host(host)) {
        return std::nullopt;
    }
    return ServerAddress{
        host_or(host, asked), static_cast<int>(server[kPort].integer()),
        server.size() > kNodeId ? node_id(server[kNodeId]) : ServerId(),
        std::string(ip)};
}

}  // namespace

Command SlotMap::request()
{
    Command command("CLUSTER");
    command.arg("SLOTS");
    return command;
}

std::optional<SlotMap> SlotMap::parse(const Reply& reply,
                                      std::string_view asked)
{
    if (!reply.is(Type::array)) {
        return std::nullopt;
    }
    SlotMap map;
    for (std::size_t i = 0; i < reply.size(); ++i) {
        map.add(reply[i], asked);
    }
    return map;
}

// Skips an entry that is not usable: its slots have no server then.
void SlotMap::add(const Reply& entry, std::string_view asked)
{
    if (entry.size() <= kPrimary || !entry[kFirst].is(Type::integer)
        || !entry[kLast].is(Type::integer)) {
        return;
    }
    const std::int64_t first = entry[kFirst].integer();
    const std::int64_t last = entry[kLast].integer();
    const auto primary = parse_server(entry[kPrimary], asked);
    if (!is_slot(first) || !is_slot(last) || last < first || !primary) {
        return;
    }
    const std::size_t known = primaries_.size();
    const auto owner = find_or_add(*primary);
    if (!owner) {
        return;
    }
    std::fill(owners_.begin() + first, owners_.begin() + last + 1, *owner);
    // The replicas are the same in all entries of a primary.
    for (std::size_t i = kPrimary + 1;
         known < primaries_.size() && i < entry.size(); ++i) {
        if (auto replica = parse_server(entry[i], asked)) {
            replicas_.push_back(std::move(*replica));
        }
    }
}

ServerId SlotMap::id_at(const ServerAddress& address) const noexcept
{
    for (const auto* servers : {&primaries_, &replicas_}) {
        const auto found = std::find(servers->begin(), servers->end(), address);
        if (found != servers->end()) {
            return found->id;
        }
    }
    return {};
}

void SlotMap::move(std::uint16_t slot, const ServerAddress& primary)
{
    if (const auto owner = find_or_add(primary)) {
        owners_[slot % kHashSlots] = *owner;
    }
}

// The value of this primary in owners_; nullopt if there are too many, or if
// the map has another server at its address: one of the two is not there.
std::optional<std::uint16_t> SlotMap::find_or_add(const ServerAddress& primary)
{
    const auto found = std::find(primaries_.begin(), primaries_.end(), primary);
    const auto index = static_cast<std::size_t>(found - primaries_.begin());
    if (found == primaries_.end()) {
        if (index == kMaxPrimaries) {
            return std::nullopt;
        }
        primaries_.push_back(primary);
    } else if (found->id.contradicts(primary.id)) {
        return std::nullopt;
    }
    return static_cast<std::uint16_t>(index + 1);
}

// MOVED 3999 127.0.0.1:6381. The address of an IPv6 host has no brackets.
std::optional<Redirect> Redirect::parse(const Reply& reply,
                                        std::string_view asked)
{
    const std::string_view code = reply.error_code();
    if (!reply.is_error() || (code != "MOVED" && code != "ASK")) {
        return std::nullopt;
    }
    std::string_view rest = reply.text().substr(code.size());
    rest.remove_prefix(std::min<std::size_t>(1, rest.size()));
    const auto space = rest.find(' ');
    const auto colon = rest.rfind(':');
    if (space == std::string_view::npos || colon == std::string_view::npos
        || colon < space) {
        return std::nullopt;
    }
    const auto slot = api::parse_int64(rest.substr(0, space));
    const auto port = api::parse_port(rest.substr(colon + 1));
    const std::string_view host = rest.substr(space + 1, colon - space - 1);
    if (!slot || !is_slot(*slot) || !port || !is_visible_host(host)
        || host == kUnnamed) {
        return std::nullopt;
    }
    return Redirect{code == "MOVED" ? Kind::moved : Kind::ask,
                    static_cast<std::uint16_t>(*slot),
                    {host_or(host, asked), *port}};
}

}  // namespace petstore::redis
