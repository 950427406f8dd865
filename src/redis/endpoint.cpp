#include "endpoint.h"

#include <algorithm>
#include <arpa/inet.h>
#include <limits>

#include "../api/text.h"

namespace petstore::redis {

namespace {

constexpr std::size_t kMaxUnixPath = 107;  // sockaddr_un, without its NUL
constexpr char kWrongPort[] = "the port must be a number from 1 to 65535";

using Parsed = std::variant<Endpoint, std::string>;

bool has_control(std::string_view text) noexcept
{
    for (const char c : text) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            return true;
        }
    }
    return false;
}

std::optional<int> number(std::string_view text) noexcept
{
    const auto value = api::parse_int64(text);
    if (!value || *value < 0 || *value > std::numeric_limits<int>::max()) {
        return std::nullopt;
    }
    return static_cast<int>(*value);
}

// Unlike in a form, a plus sign is not a space.
std::optional<std::string> percent_decode(std::string_view text)
{
    std::string escaped;
    for (const char c : text) {
        if (c == '+') {
            escaped += "%2B";
        } else {
            escaped += c;
        }
    }
    return api::form_decode(escaped);
}

Parsed parse_unix(std::string_view rest)
{
    Endpoint endpoint;
    const std::size_t mark = rest.find('?');
    const std::string_view path = rest.substr(0, mark);
    if (path.empty() || path[0] != '/') {
        return "the path of a unix socket must start with \"/\"";
    }
    // Other programs take "unix://user:password@/path"; no message may show
    // that as a path.
    if (path.substr(0, 2) == "//" && path.substr(0, 3) != "///"
        && path.find('@') != std::string_view::npos) {
        return "the URL of a unix socket has no user and no password";
    }
    if (path.size() > kMaxUnixPath) {
        return "the path of a unix socket has at most 107 bytes";
    }
    if (has_control(path)) {
        return "control characters in the path of the unix socket";
    }
    endpoint.path = path;
    if (mark != std::string_view::npos) {
        const std::string_view query = rest.substr(mark + 1);
        if (query.substr(0, 3) != "db=") {
            return "after the path of a unix socket only \"?db=N\" is known";
        }
        const auto database = number(query.substr(3));
        if (!database) {
            return "the database must be a number from 0 to 2147483647";
        }
        endpoint.database = *database;
    }
    return endpoint;
}

// Sets user and password. Returns an error message, or nullptr.
const char* parse_userinfo(std::string_view userinfo, Endpoint& endpoint)
{
    const std::size_t colon = userinfo.find(':');
    auto user = percent_decode(userinfo.substr(0, colon));
    std::optional<std::string> password = "";
    if (colon != std::string_view::npos) {
        password = percent_decode(userinfo.substr(colon + 1));
    }
    if (!user || !password) {
        return "invalid percent-encoding in user or password";
    }
    endpoint.user = std::move(*user);
    endpoint.password = std::move(*password);
    return nullptr;
}

// Whether "host:port" is rather an IPv6 address: that has hexadecimal digits,
// and seven colons or a double one.
bool is_ipv6(std::string_view host, std::string_view port) noexcept
{
    constexpr std::string_view kHex = "0123456789abcdefABCDEF:.%";
    return host.find_first_not_of(kHex) == std::string_view::npos
           && (port.front() == ':' || port.find("::") != std::string_view::npos
               || std::count(port.begin(), port.end(), ':') > 4);
}

// What follows the host: nothing, or a colon and the port.
const char* parse_port(std::string_view rest, Endpoint& endpoint)
{
    if (rest.empty()) {
        return nullptr;
    }
    const auto port =
        rest[0] == ':' ? api::parse_port(rest.substr(1)) : std::nullopt;
    if (!port) {
        return kWrongPort;
    }
    endpoint.port = *port;
    return nullptr;
}

const char* parse_bracketed_host(std::string_view text, Endpoint& endpoint)
{
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) {
        return "\"]\" is missing after the IPv6 address";
    }
    const std::string_view address = text.substr(1, end - 1);
    if (address.find(':') == std::string_view::npos
        || !api::is_alphanumeric_or(address, ":.%")) {
        return "invalid IPv6 address";
    }
    endpoint.host = address;
    return parse_port(text.substr(end + 1), endpoint);
}

const char* parse_plain_host(std::string_view text, Endpoint& endpoint)
{
    const std::size_t colon = std::min(text.find(':'), text.size());
    const std::string_view host = text.substr(0, colon);
    const std::string_view rest = text.substr(colon);
    const std::size_t second = rest.find(':', 1);
    if (second != std::string_view::npos) {
        if (host.empty() || is_ipv6(host, rest.substr(1))) {
            return "an IPv6 address must be in brackets";
        }
        return number(rest.substr(second + 1))
                   ? "the database must follow a slash, as in \"redis://host:6379/0\""
                   : kWrongPort;
    }
    if (host.empty()) {
        return "the host is missing";
    }
    if (!api::is_alphanumeric_or(host, ".-_")) {
        return "invalid host name";
    }
    endpoint.host = host;
    return parse_port(rest, endpoint);
}

const char* parse_host(std::string_view text, Endpoint& endpoint)
{
    return !text.empty() && text[0] == '['
               ? parse_bracketed_host(text, endpoint)
               : parse_plain_host(text, endpoint);
}

Parsed parse_tcp(std::string_view rest, bool tls, int default_port)
{
    Endpoint endpoint;
    endpoint.port = default_port;
    endpoint.tls = tls;

    const std::size_t slash = rest.find('/');
    if (slash != std::string_view::npos && slash + 1 < rest.size()) {
        const auto database = number(rest.substr(slash + 1));
        if (!database) {
            return "the database must be a number from 0 to 2147483647";
        }
        endpoint.database = *database;
    }

    std::string_view authority = rest.substr(0, slash);
    const std::size_t at = authority.rfind('@');
    if (at != std::string_view::npos) {
        const char* wrong = parse_userinfo(authority.substr(0, at), endpoint);
        if (wrong) {
            return wrong;
        }
        authority = authority.substr(at + 1);
    }
    const char* wrong = parse_host(authority, endpoint);
    if (wrong) {
        return wrong;
    }
    return endpoint;
}

}  // namespace

void Endpoint::complete(std::string_view other_user,
                        std::string_view other_password)
{
    if (!password.empty()) {
        return;
    }
    if (user.empty()) {
        user = other_user;
    }
    password = other_password;
}

std::string Endpoint::display() const
{
    if (is_unix()) {
        return "unix:" + path
               + (database ? "?db=" + std::to_string(database) : "");
    }
    const bool ipv6 = host.find(':') != std::string::npos;
    return (tls ? "rediss://" : "redis://") + (ipv6 ? "[" + host + "]" : host)
           + ":" + std::to_string(port) + "/" + std::to_string(database);
}

bool Endpoint::operator==(const Endpoint& other) const noexcept
{
    return host == other.host && port == other.port && path == other.path
           && tls == other.tls && user == other.user
           && password == other.password && database == other.database;
}

Parsed parse_endpoint(std::string_view url, int default_port)
{
    const std::size_t colon = url.find(':');
    const std::string_view scheme = url.substr(0, colon);
    const std::string_view rest =
        colon == std::string_view::npos ? "" : url.substr(colon + 1);
    if (api::equals_ignoring_case(scheme, "unix")) {
        return parse_unix(rest);
    }
    const bool tls = api::equals_ignoring_case(scheme, "rediss");
    if ((!tls && !api::equals_ignoring_case(scheme, "redis"))
        || rest.substr(0, 2) != "//") {
        return "a Redis URL starts with \"redis://\", \"rediss://\" or \"unix:/\"";
    }
    return parse_tcp(rest.substr(2), tls, default_port);
}

bool is_ip_address(const char* host) noexcept
{
    in6_addr address;
    return inet_pton(AF_INET, host, &address) == 1
           || inet_pton(AF_INET6, host, &address) == 1;
}

std::optional<std::string_view>
password_in_file(std::string_view content) noexcept
{
    std::string_view line = content.substr(0, content.find('\n'));
    if (!line.empty() && line.back() == '\r') {
        line.remove_suffix(1);
    }
    if (line.empty() || line.size() > kMaxPassword) {
        return std::nullopt;
    }
    return line;
}

// Keeps the path of a unix socket, or else host, port and database. Anything
// else may be part of a password.
std::string redact_url(std::string_view url)
{
    constexpr std::string_view kDigits = "0123456789";
    const std::size_t slashes = url.find("://");
    const bool is_unix =
        slashes == std::string_view::npos
        && api::equals_ignoring_case(url.substr(0, 5), "unix:");
    const std::size_t begin =
        is_unix ? 5 : (slashes == std::string_view::npos ? 0 : slashes + 3);

    std::string text(url.substr(0, begin));
    std::string_view rest = url.substr(begin);
    const std::size_t at = rest.rfind('@');
    if (at != std::string_view::npos) {
        text += "***@";
        rest = rest.substr(at + 1);
    }

    std::size_t shown = 0;
    const auto show = [&](std::string_view mark, std::string_view allowed) {
        if (rest.substr(shown, mark.size()) == mark) {
            const auto end =
                rest.find_first_not_of(allowed, shown + mark.size());
            shown = std::min(end, rest.size());
        }
    };
    if (is_unix) {
        shown = std::min(rest.find('?'), rest.size());
        show("?db=", kDigits);
    } else {
        while (shown < rest.size()
               && api::is_alphanumeric_or(rest.substr(shown, 1),
                                          rest[0] == '[' ? ".-_[]:%" : ".-_")) {
            ++shown;
        }
        show(":", kDigits);
        show("/", kDigits);
    }
    text += rest.substr(0, shown);
    return shown == rest.size() ? text : text + "***";
}

}  // namespace petstore::redis
