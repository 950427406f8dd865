#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "../api/router.h"
#include "document.h"

namespace petstore::openapi {

using Json = nlohmann::ordered_json;

// What the documents of all APIs have in common.
class Builder {
public:
    // `document` has servers, security, paths and components; borrows both.
    Builder(const Settings& settings, Json& document) noexcept
        : settings_(settings), document_(document)
    {}

    // The server, and the ways to authenticate.
    void describe_access();

    // Removes the headers that the location does not send, and fills in
    // examples.
    void complete_headers();

    // Adds each operation's 304 and errors, and the headers of all its
    // responses.
    void complete_operations();

private:
    void complete(Json& operation, api::Operation id) const;
    bool has_cors() const noexcept { return !settings_.cors_origin.empty(); }
    bool has_vary() const noexcept
    {
        return has_cors() && settings_.cors_origin != "*";
    }
    bool is_possible(std::string_view code) const noexcept;
    Json headers_of(api::Operation id, int status) const;

    const Settings& settings_;
    Json& document_;
};

Json reference(std::string_view kind, std::string_view name);

}  // namespace petstore::openapi
