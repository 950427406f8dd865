#pragma once

#include <optional>
#include <string>
#include <tuple>

#include "../api/date.h"

namespace petstore::openapi {

// The parts of the document that depend on the location.
struct Settings {
    std::string base;                     // base URL and path, as in links
    std::string deprecation;              // Deprecation of getPet
    std::optional<api::UnixTime> sunset;  // its end
    std::string successor;                // its Link
    bool window_headers = false;          // petstore_limit_headers windows
    bool ietf_headers = false;            // … ietf
    std::string cors_origin;  // an allowed origin, "*" for any, empty for none
    std::string key_header;   // that may have the API key; empty for none
    bool some_plans = false;  // petstore_allow_plans
    // That of petstore_usage, without the base path; empty for none.
    std::string usage_path;

    friend bool operator==(const Settings& a, const Settings& b)
    {
        const auto all = [](const Settings& s) {
            return std::tie(s.base, s.deprecation, s.sunset, s.successor,
                            s.window_headers, s.ietf_headers, s.cors_origin,
                            s.key_header, s.some_plans, s.usage_path);
        };
        return all(a) == all(b);
    }
};

// The OpenAPI 3.1 document of the service, as compact JSON. Throws
// std::bad_alloc.
std::string document(const Settings& settings);

// That of the admin API, which uses base, cors_origin, key_header, some_plans
// and the limit headers only.
std::string admin_document(const Settings& settings);

}  // namespace petstore::openapi
