#pragma once

#include <string>

#include "store.h"

namespace petstore::e2e {

// The location of an admin API, with further directives.
inline NginxOptions with_admin(NginxOptions options = {},
                               const std::string& directives = "")
{
    options.server +=
        " location /admin/v1/ { petstore_admin; " + directives + " }";
    return options;
}

// A store with an admin API, a key for it, and a client with that key.
struct AdminStore : Store {
    explicit AdminStore(NginxOptions options = {},
                        const std::string& directives = "")
        : Store(with_admin(std::move(options), directives))
    {
        admin.use_key(admin_key.secret);
    }

    Response send(const std::string& method, const std::string& path,
                  const std::string& body = "", Headers headers = {})
    {
        return send_to(admin, method, path, body, std::move(headers));
    }

    static Response send_to(Http& http, const std::string& method,
                            const std::string& path,
                            const std::string& body = "", Headers headers = {})
    {
        Http::Request request{method, "/admin/v1" + path};
        if (!body.empty()) {
            headers.emplace_back("Content-Type", "application/json");
            request.body = body;
        }
        request.headers = std::move(headers);
        return http.send(request);
    }

    // The object that an operation answers with; its secret is remembered.
    nlohmann::json made(const std::string& path, const std::string& body,
                        Headers headers = {})
    {
        const auto response = send("POST", path, body, std::move(headers));
        INFO(response.body);
        REQUIRE(response.status == 201);
        auto object = response.json();
        if (object.contains("key")) {
            remember_secret(object["key"]);
        }
        return object;
    }

    nlohmann::json get(const std::string& path)
    {
        const auto response = send("GET", path);
        INFO(response.body);
        REQUIRE(response.status == 200);
        return response.json();
    }

    Key admin_key = create_key(redis, {"--scopes", "admin"});
    Http admin{nginx.url()};
};

}  // namespace petstore::e2e
