// Origins as browsers write them.
#include "origin.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "text.h"

namespace petstore::api {
namespace {

constexpr char kForm[] =
    "it must be \"scheme://host[:port]\", such as \"https://app.example.com\"";
constexpr char kPort[] = "the port must be a number from 1 to 65535";
constexpr char kAddress[] =
    "browsers write this IP address differently, so it would never match";

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kDigits = "0123456789";

bool consists_of(std::string_view text, std::string_view letters,
                 std::string_view more) noexcept
{
    return std::all_of(text.begin(), text.end(), [&](char c) {
        return letters.find(c) != std::string_view::npos
               || more.find(c) != std::string_view::npos;
    });
}

// Whether `text` is how browsers write this address. Browsers and inet_ntop()
// agree, except on an IPv6 address that embeds an IPv4 address: browsers do not
// write that part with dots. For those, only the dots are checked.
bool is_canonical(int family, std::string_view text) noexcept
{
    char copy[INET6_ADDRSTRLEN] = {};
    char printed[INET6_ADDRSTRLEN] = {};
    unsigned char address[sizeof(in6_addr)];
    if (text.size() >= sizeof(copy)
        || text.find('\0') != std::string_view::npos) {
        return false;  // inet_pton() stops at a NUL
    }
    std::memcpy(copy, text.data(), text.size());
    if (inet_pton(family, copy, address) != 1
        || inet_ntop(family, address, printed, sizeof(printed)) == nullptr) {
        return false;
    }
    if (family == AF_INET6 && std::strchr(printed, '.') != nullptr) {
        return text.find('.') == std::string_view::npos;
    }
    return text == printed;
}

// Browsers parse a host whose last label is a number as an IPv4 address.
bool ends_in_number(std::string_view host) noexcept
{
    if (host.back() == '.') {
        host.remove_suffix(1);
    }
    auto label = host.substr(host.rfind('.') + 1);
    if (label.substr(0, 2) == "0x") {
        return consists_of(label.substr(2), kDigits, "abcdef");
    }
    return consists_of(label, kDigits, {});
}

const char* host_problem(std::string_view host) noexcept
{
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
        return is_canonical(AF_INET6, host.substr(1, host.size() - 2))
                   ? nullptr
                   : kAddress;
    }
    if (host.empty() || host.front() == '.'
        || host.find("..") != std::string_view::npos) {
        return kForm;
    }
    for (const char c : host) {
        if (static_cast<unsigned char>(c) >= 0x80) {
            return "browsers send such a host as \"xn--…\", so it would never match";
        }
    }
    if (host.find('*') != std::string_view::npos) {
        return "patterns are not supported: list each origin, or use \"*\" alone";
    }
    if (!consists_of(host, kLetters, "0123456789.-_")) {
        return kForm;
    }
    return ends_in_number(host) && !is_canonical(AF_INET, host) ? kAddress
                                                                : nullptr;
}

const char* port_problem(std::string_view scheme,
                         std::string_view port) noexcept
{
    const auto number = parse_port(port);
    if (!number) {
        return kPort;
    }
    if ((scheme == "https" && *number == 443)
        || (scheme == "http" && *number == 80)) {
        return "browsers leave out the default port, so it would never match";
    }
    return nullptr;
}

}  // namespace

const char* origin_problem(std::string_view text) noexcept
{
    if (text == "null") {
        return "every sandboxed page and local file has this origin, whoever wrote it";
    }
    if (std::any_of(text.begin(), text.end(),
                    [](char c) { return c >= 'A' && c <= 'Z'; })) {
        return "browsers send origins in lower case, so it would never match";
    }
    const auto colon = text.find("://");
    const auto scheme = text.substr(0, std::min(colon, text.size()));
    if (colon == std::string_view::npos || scheme.empty()
        || kLetters.find(scheme.front()) == std::string_view::npos
        || !consists_of(scheme, kLetters, "0123456789+.-")) {
        return kForm;
    }
    const auto authority = text.substr(colon + 3);
    if (authority.find_first_of("/?#") != std::string_view::npos) {
        return "browsers send no path and no trailing slash, so it would never match";
    }
    // A colon inside the brackets of an IPv6 address does not start a port.
    const auto bracket = authority.rfind(']');
    const auto port =
        authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
    if (const char* problem = host_problem(authority.substr(0, port))) {
        return problem;
    }
    return port == std::string_view::npos
               ? nullptr
               : port_problem(scheme, authority.substr(port + 1));
}

}  // namespace petstore::api
