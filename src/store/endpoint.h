#pragma once

#include <string>
#include <string_view>
#include <variant>

namespace petstore::store {

// Where a Redis is and as whom we talk to it, from a URL of the SPEC's forms:
//   redis://[user[:password]@]host[:port][/db]
//   rediss://…                                   (TLS)
//   unix:/path[?db=N]
// A userinfo without colon is a user name; ":password@" has no user. Userinfo
// may be percent-encoded. An IPv6 address stands in brackets.
struct Endpoint {
    std::string host;  // empty for a unix socket
    int port = 6379;
    std::string path;  // of the unix socket
    bool tls = false;
    std::string user;
    std::string password;
    int database = 0;

    bool is_unix() const noexcept { return !path.empty(); }

    // For logs and messages: without user and password.
    std::string display() const;

    bool operator==(const Endpoint& other) const noexcept;
};

// The string is what is wrong with the URL; it never repeats the password.
std::variant<Endpoint, std::string> parse_endpoint(std::string_view url);

// The text of a URL, which may be malformed, as a message may quote it: with
// "***" where a user or a password is, or may have been meant.
std::string redact_url(std::string_view url);

}  // namespace petstore::store
