#pragma once

#include <string>

namespace petstore::openapi {

// What the document says about one location.
struct Settings {
    std::string base;             // base URL and path, as in links
    std::string deprecation;      // the headers of getPet: Deprecation,
    std::string sunset;           // Sunset, empty if it has no end,
    std::string successor;        // and Link
    bool window_headers = false;  // petstore_limit_headers windows
    bool ietf_headers = false;    // … ietf
    bool cors = false;            // petstore_cors is set
};

// The OpenAPI 3.1 document of the service, as compact JSON. Throws
// std::bad_alloc.
std::string document(const Settings& settings);

}  // namespace petstore::openapi
