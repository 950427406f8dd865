// Redis URLs, and their logged form, which never contains the password.
#include "redis/endpoint.h"
#include "fuzz.h"
#include "redis/deployment.h"

using namespace petstore;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size)
{
    const auto text = fuzz::text_of(data, size);
    redis::redact_url(text);
    redis::password_in_file(text);
    const auto parsed = redis::parse_endpoint(text);
    if (const auto* endpoint = std::get_if<redis::Endpoint>(&parsed)) {
        REQUIRE(endpoint->is_unix() || !endpoint->host.empty());
        REQUIRE(endpoint->port >= 1 && endpoint->port <= 65535);
        const std::string shown = endpoint->display();
        const auto again = redis::parse_endpoint(shown);
        REQUIRE(std::holds_alternative<redis::Endpoint>(again));
        auto bare = *endpoint;
        bare.user.clear();
        bare.password.clear();
        REQUIRE(std::get<redis::Endpoint>(again) == bare);
    }
    const auto deployment = redis::parse_deployment(text);
    if (const auto* found = std::get_if<redis::Deployment>(&deployment)) {
        REQUIRE(!found->endpoints.empty());
        found->display();
    }
    return 0;
}
