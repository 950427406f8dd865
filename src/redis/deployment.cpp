#include "deployment.h"

#include <utility>

#include "../api/text.h"

namespace petstore::redis {

namespace {

using Problem = DeploymentProblem;

constexpr std::string_view kSentinel = "sentinel=";
constexpr std::string_view kCluster = "cluster";
constexpr int kRedisPort = 6379;
constexpr int kSentinelPort = 26379;

// Redis restricts the names of monitored primaries to these.
bool is_primary_name(std::string_view text) noexcept
{
    return api::is_alphanumeric_or(text, ".-_");
}

}  // namespace

std::string Deployment::display() const
{
    std::string text;
    if (form == Form::sentinel) {
        text.append(kSentinel).append(primary_name);
    } else if (form == Form::cluster) {
        text.append(kCluster);
    }
    for (const Endpoint& endpoint : endpoints) {
        text.append(text.empty() ? "" : " ").append(endpoint.display());
    }
    return text;
}

bool Deployment::operator==(const Deployment& other) const noexcept
{
    return form == other.form && primary_name == other.primary_name
           && endpoints == other.endpoints;
}

ParsedDeployment
parse_deployment(const std::vector<std::string_view>& arguments)
{
    Deployment deployment;
    auto argument = arguments.begin();
    if (argument != arguments.end() && *argument == kCluster) {
        deployment.form = Deployment::Form::cluster;
        ++argument;
    } else if (argument != arguments.end()
               && api::starts_with(*argument, kSentinel)) {
        deployment.form = Deployment::Form::sentinel;
        const auto name = argument->substr(kSentinel.size());
        if (!is_primary_name(name)) {
            return Problem{
                "",
                "takes the name of a primary after \"sentinel=\", made of letters, digits, \".\", \"-\" and \"_\""};
        }
        deployment.primary_name = name;
        ++argument;
    }
    if (argument == arguments.end()) {
        return Problem{"", "needs a URL"};
    }
    const bool standalone = deployment.form == Deployment::Form::standalone;
    // Not quoted, because it may be part of a password that contains a space.
    if (standalone && arguments.size() > 1) {
        return Problem{
            "",
            "takes one URL; several need \"sentinel=NAME\" or \"cluster\" before them"};
    }
    const int default_port = deployment.form == Deployment::Form::sentinel
                                 ? kSentinelPort
                                 : kRedisPort;

    for (; argument != arguments.end(); ++argument) {
        auto parsed = parse_endpoint(*argument, default_port);
        if (auto* reason = std::get_if<std::string>(&parsed)) {
            return Problem{redact_url(*argument), std::move(*reason)};
        }
        deployment.endpoints.push_back(std::get<Endpoint>(std::move(parsed)));
        const Endpoint& endpoint = deployment.endpoints.back();
        const Endpoint& first = deployment.endpoints.front();
        const char* reason = nullptr;
        if (!standalone && endpoint.is_unix()) {
            reason = "a Sentinel or cluster node needs a host and port";
        } else if (deployment.form == Deployment::Form::cluster
                   && endpoint.database != 0) {
            reason = "a cluster has no databases";
        } else if (deployment.form == Deployment::Form::cluster
                   && (!endpoint.user.empty() || !endpoint.password.empty())
                   && (endpoint.user != first.user
                       || endpoint.password != first.password)) {
            reason = "the first URL's user and password are used for all nodes";
        } else if (endpoint.tls != first.tls) {
            reason = "all URLs must have the same scheme";
        } else if (endpoint.database != first.database) {
            reason = "all URLs must have the same database";
        }
        if (reason != nullptr) {
            return Problem{redact_url(*argument), reason};
        }
    }
    return deployment;
}

ParsedDeployment parse_deployment(std::string_view text)
{
    std::vector<std::string_view> arguments;
    while (!text.empty()) {
        const std::string_view argument = api::take_word(text);
        if (!argument.empty()) {
            arguments.push_back(argument);
        }
    }
    return parse_deployment(arguments);
}

}  // namespace petstore::redis
