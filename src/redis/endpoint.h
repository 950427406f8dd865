#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace petstore::redis {

// Address and credentials of a Redis, parsed from a URL:
//   redis://[user[:password]@]host[:port][/db]
//   rediss://…                                   (TLS)
//   unix:/path[?db=N]
// A userinfo without a colon is a user name; ":password@" has no user. Userinfo
// may be percent-encoded. IPv6 addresses are in brackets.
struct Endpoint {
    std::string host;  // empty for a unix socket
    int port = 6379;
    std::string path;  // of the unix socket
    bool tls = false;
    std::string user;
    std::string password;
    int database = 0;

    bool is_unix() const noexcept { return !path.empty(); }

    // Adds the credentials that the URL lacks. A password without a user is
    // that of the user "default", so it gets no other one.
    void complete(std::string_view other_user, std::string_view other_password);

    // For logs and messages: without user and password.
    std::string display() const;

    bool operator==(const Endpoint& other) const noexcept;
};

// Not a name. Without brackets.
bool is_ip_address(const char* host) noexcept;

// The string is an error message, which never contains the password.
std::variant<Endpoint, std::string> parse_endpoint(std::string_view url,
                                                   int default_port = 6379);

// The password in a password file with this content: the first line, of 1 to
// kMaxPassword bytes. nullopt if the line is empty or too long.
constexpr std::size_t kMaxPassword = 4096;
std::optional<std::string_view>
password_in_file(std::string_view content) noexcept;

// A URL, which may be malformed, in a form that is safe to log: "***" replaces
// whatever is, or may have been meant as, a user or a password.
std::string redact_url(std::string_view url);

}  // namespace petstore::redis
