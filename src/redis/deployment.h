#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "endpoint.h"

namespace petstore::redis {

// How to find the servers of one Redis, as petstore_redis and petstorectl
// --redis describe it:
//   URL                     one server
//   sentinel=NAME URL …     the primary that these Sentinels monitor as NAME
//   cluster URL …           the cluster that these nodes belong to
struct Deployment {
    enum class Form { standalone, sentinel, cluster };

    Form form = Form::standalone;
    std::string primary_name;  // for the Sentinels

    // The server, the Sentinels or some of the nodes: at least one. Those of
    // one deployment agree on TLS, and Sentinels on the servers' database. The
    // first one's credentials are those of all nodes of a cluster.
    std::vector<Endpoint> endpoints;

    bool tls() const noexcept { return endpoints.front().tls; }

    // For logs and messages: without users and passwords.
    std::string display() const;

    bool operator==(const Deployment& other) const noexcept;
    bool operator!=(const Deployment& other) const noexcept
    {
        return !(*this == other);
    }
};

struct DeploymentProblem {
    std::string url;  // the invalid one, as redact_url() returns it; or empty
    // Follows "invalid URL …:", or without a URL the name of the directive.
    std::string reason;
};

using ParsedDeployment = std::variant<Deployment, DeploymentProblem>;

ParsedDeployment
parse_deployment(const std::vector<std::string_view>& arguments);

// Splits `text` at spaces.
ParsedDeployment parse_deployment(std::string_view text);

}  // namespace petstore::redis
