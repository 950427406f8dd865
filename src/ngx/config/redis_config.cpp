// The directives that name a Redis, petstore_durability, and the nodes and
// storages made from them.
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "../../ngx_base/str.h"
#include "../module.h"
#include "../request/entered_location.h"
#include "arguments.h"
#include "merge.h"
#include "redis_parts.h"

namespace petstore::ngx {

namespace {

using Form = redis::Deployment::Form;

constexpr std::int64_t kMostReplicas = 100;

// The Redis that the directive's arguments describe; nullptr if they are
// invalid, which is logged.
std::shared_ptr<const redis::Deployment> parse_arguments(ngx_conf_t* cf)
{
    std::vector<std::string_view> urls;
    for (ngx_uint_t i = 1; i < cf->args->nelts; ++i) {
        urls.push_back(ngx_base::view(arguments(cf)[i]));
    }
    auto parsed = redis::parse_deployment(urls);
    if (const auto* problem = std::get_if<redis::DeploymentProblem>(&parsed)) {
        if (problem->url.empty()) {
            refuse(cf, "\"%V\" directive %s", arguments(cf),
                   problem->reason.c_str());
        } else {
            refuse(cf, "invalid URL \"%s\" in \"%V\" directive: %s",
                   problem->url.c_str(), arguments(cf),
                   problem->reason.c_str());
        }
        return nullptr;
    }
    auto& deployment = std::get<redis::Deployment>(parsed);
    if (deployment.tls() && !tls_available()) {
        refuse(
            cf,
            "\"%s\" in \"%V\" directive needs an nginx that is built with SSL support",
            deployment.display().c_str(), arguments(cf));
        return nullptr;
    }
    return std::make_shared<const redis::Deployment>(std::move(deployment));
}

// Returns the index of these Sentinels, adding them if necessary. nullopt if
// that is impossible, which is logged.
std::optional<std::size_t> find_sentinels(ngx_conf_t* cf, MainConf& main,
                                          const LocConf& conf,
                                          const redis::Deployment& deployment)
{
    const auto& core = core_loc_conf(cf);
    ngx_redis::SentinelSettings wanted;
    wanted.name = deployment.display();
    wanted.primary_name = deployment.primary_name;
    wanted.connect_timeout = conf.redis_connect_timeout;
    wanted.timeout = conf.redis_timeout;
    wanted.resolver = resolver_of(core);
    wanted.resolver_timeout = core.resolver_timeout;
    for (const auto& endpoint : deployment.endpoints) {
        wanted.sentinels.push_back({endpoint, host_settings(cf, endpoint)});
        wanted.sentinels.back().login.database = 0;
    }
    if (deployment.tls()) {
        wanted.tls = tls_settings(conf, "");
    }
    const std::size_t index = index_of(main.sentinels, wanted);
    if (index < main.sentinels.size()) {
        return index;
    }
    for (auto& sentinel : wanted.sentinels) {
        if (!resolve_fixed(cf, sentinel.login, sentinel.host)) {
            return std::nullopt;
        }
    }
    if (deployment.tls() && !create_tls_context(cf, conf, wanted.tls)) {
        return std::nullopt;
    }
    main.sentinels.push_back(std::move(wanted));
    return index;
}

// Without fixed addresses: see resolve_seeds().
ngx_redis::ClusterSettings cluster_settings(ngx_conf_t* cf,
                                            const redis::Deployment& deployment)
{
    const auto& core = core_loc_conf(cf);
    ngx_redis::ClusterSettings cluster;
    for (const auto& endpoint : deployment.endpoints) {
        cluster.seeds.push_back(host_settings(cf, endpoint));
    }
    cluster.resolver = resolver_of(core);
    cluster.resolver_timeout = core.resolver_timeout;
    return cluster;
}

bool resolve_seeds(ngx_conf_t* cf, const redis::Deployment& deployment,
                   ngx_redis::ClusterSettings& cluster)
{
    for (std::size_t i = 0; i < cluster.seeds.size(); ++i) {
        if (!resolve_fixed(cf, deployment.endpoints[i], cluster.seeds[i])) {
            return false;
        }
    }
    return true;
}

// The settings that the servers of a deployment share. The address is omitted
// for a Cluster or Sentinels, and the credentials for Sentinels, whose URLs
// hold the credentials of the Sentinels themselves.
redis::Endpoint server_endpoint(const redis::Deployment& deployment)
{
    redis::Endpoint endpoint = deployment.endpoints.front();
    if (deployment.form != Form::standalone) {
        endpoint.host.clear();
        endpoint.port = redis::Endpoint().port;
    }
    if (deployment.form == Form::sentinel) {
        endpoint.user.clear();
        endpoint.password.clear();
    }
    return endpoint;
}

// Returns the index of the node with these settings, creating it if necessary.
std::optional<std::size_t> find_node(ngx_conf_t* cf, MainConf& main,
                                     const LocConf& conf,
                                     const redis::Deployment& deployment,
                                     ngx_redis::NodeSettings wanted)
{
    if (deployment.form == Form::sentinel) {
        wanted.sentinels = find_sentinels(cf, main, conf, deployment);
        if (!wanted.sentinels) {
            return std::nullopt;
        }
    } else if (deployment.form == Form::cluster) {
        wanted.cluster = cluster_settings(cf, deployment);
    } else {
        wanted.host = host_settings(cf, wanted.endpoint);
    }
    const std::size_t index = index_of(main.nodes, wanted);
    if (index < main.nodes.size()) {
        return index;
    }
    const bool resolved =
        wanted.sentinels
        || (wanted.cluster ? resolve_seeds(cf, deployment, *wanted.cluster)
                           : resolve_fixed(cf, wanted.endpoint, wanted.host));
    if (!resolved
        || (wanted.endpoint.tls && !create_tls_context(cf, conf, wanted.tls))) {
        return std::nullopt;
    }
    main.nodes.push_back(std::move(wanted));
    return index;
}

// Chooses the node of a location's Redis, which the directive at `position`
// names. nullopt if that is impossible, which is logged.
std::optional<std::size_t> choose_node(ngx_conf_t* cf, MainConf& main,
                                       const LocConf& conf,
                                       const redis::Deployment& deployment,
                                       const SourcePosition& position,
                                       Rights rights)
{
    ngx_redis::NodeSettings node;
    node.name = deployment.display();
    if (rights == Rights::admin) {
        node.name += " (admin)";  // has connections of its own
    }
    node.endpoint = server_endpoint(deployment);
    node.timeout = conf.redis_timeout;
    node.connect_timeout = conf.redis_connect_timeout;
    if (!choose_login(cf, conf, rights, node.endpoint)) {
        return std::nullopt;
    }
    if (node.endpoint.tls) {
        node.tls = tls_settings(conf, node.endpoint.host);
    }
    const SourcePosition& otherwise =
        conf.serves || admits_itself(conf.own_handler) ? conf.position
                                                       : conf.guard_position;
    const ReportAt at(cf, position.known() ? position : otherwise);
    return find_node(cf, main, conf, deployment, std::move(node));
}

// Sets the nodes of petstore_redis and petstore_limit_redis in `settings`, the
// same one if they name the same Redis. False if one is impossible, which is
// logged.
template <typename Settings>
bool choose_nodes(ngx_conf_t* cf, MainConf& main, const LocConf& conf,
                  Rights rights, Settings& settings)
{
    const auto node =
        choose_node(cf, main, conf, *conf.redis, conf.redis_position, rights);
    const auto limit_node = node && conf.limit_redis
                                ? choose_node(cf, main, conf, *conf.limit_redis,
                                              conf.limit_redis_position, rights)
                                : node;
    if (limit_node) {
        settings.node = *node;
        settings.limit_node = *limit_node;
    }
    return limit_node.has_value();
}

bool choose_storage(ngx_conf_t* cf, MainConf& main, LocConf& conf)
{
    StorageSettings wanted{0, 0, std::string(ngx_base::view(conf.prefix))};
    if (!choose_nodes(cf, main, conf, Rights::worker, wanted)) {
        return false;
    }
    conf.storage = find_or_add(main.storages, std::move(wanted));
    return true;
}

// Call this and choose_admin() after choose_storage().
bool choose_durable(ngx_conf_t* cf, MainConf& main, LocConf& conf)
{
    if (!conf.serves || !conf.durability || !conf.durability->any()) {
        return true;
    }
    const std::size_t node = main.storages[*conf.storage].node;
    if (main.nodes[node].cluster) {
        const ReportAt at(cf, conf.durability_position);
        refuse(
            cf,
            "\"petstore_durability\" does not support the Cluster of \"petstore_redis\": use \"off\", or one Redis or Sentinels for \"petstore_redis\"");
        return false;
    }
    conf.durable =
        find_or_add(main.durables, DurableSettings{node, *conf.durability});
    return true;
}

bool choose_admin(ngx_conf_t* cf, MainConf& main, LocConf& conf)
{
    const StorageSettings& storage = main.storages[*conf.storage];
    AdminSettings wanted{*conf.storage, storage.node, storage.limit_node};
    const bool has_rights = conf.admin_redis_user.len != 0
                            || conf.admin_redis_password_file.text.len != 0;
    if (has_rights && !choose_nodes(cf, main, conf, Rights::admin, wanted)) {
        return false;
    }
    conf.admin = find_or_add(main.admins, wanted);
    return true;
}

}  // namespace

void merge_redis(const LocConf& prev, LocConf& conf)
{
    if (!conf.redis) {
        conf.redis = prev.redis;
        conf.redis_position = prev.redis_position;
    }
    if (!conf.redis) {  // the default: redis://127.0.0.1:6379/0
        redis::Deployment deployment;
        deployment.endpoints.emplace_back().host = "127.0.0.1";
        conf.redis =
            std::make_shared<const redis::Deployment>(std::move(deployment));
    }
    if (!conf.limit_redis) {
        conf.limit_redis = prev.limit_redis;
        conf.limit_redis_position = prev.limit_redis_position;
    }
    merge(conf.redis_password_file, prev.redis_password_file);
    ngx_conf_merge_str_value(conf.redis_user, prev.redis_user, "");
    merge(conf.admin_redis_password_file, prev.admin_redis_password_file);
    ngx_conf_merge_str_value(conf.admin_redis_user, prev.admin_redis_user, "");
    ngx_conf_merge_msec_value(conf.redis_connect_timeout,
                              prev.redis_connect_timeout, 250);
    ngx_conf_merge_msec_value(conf.redis_timeout, prev.redis_timeout, 500);
    conf.service.redis_timeout = conf.redis_timeout;
    merge_tls(prev, conf);
    if (!conf.durability) {
        conf.durability = prev.durability;
        conf.durability_position = prev.durability_position;
    }
}

bool choose_redis(ngx_conf_t* cf, MainConf& main, LocConf& conf)
{
    return choose_storage(cf, main, conf) && choose_durable(cf, main, conf)
           && (conf.own_handler != admin_handler
               || choose_admin(cf, main, conf));
}

namespace {

char* set_deployment(ngx_conf_t* cf,
                     std::shared_ptr<const redis::Deployment>& deployment,
                     SourcePosition& position)
{
    if (deployment) {
        return kDuplicate;
    }
    auto parsed = parse_arguments(cf);
    if (!parsed) {
        return kConfError;
    }
    deployment = std::move(parsed);
    position = current_position(cf);
    return kConfOk;
}

}  // namespace

char* set_redis(ngx_conf_t* cf, LocConf& loc)
{
    return set_deployment(cf, loc.redis, loc.redis_position);
}

char* set_limit_redis(ngx_conf_t* cf, LocConf& loc)
{
    return set_deployment(cf, loc.limit_redis, loc.limit_redis_position);
}

char* set_durability(ngx_conf_t* cf, LocConf& loc)
{
    if (loc.durability) {
        return kDuplicate;
    }
    loc.durability_position = current_position(cf);
    if (cf->args->nelts == 2 && ngx_base::view(arguments(cf)[1]) == "off") {
        loc.durability.emplace();
        return kConfOk;
    }
    Parameters::Value replicas;
    bool fsync = false;
    const auto take = [&](Parameters& parameters) {
        parameters.number("replicas", kMostReplicas, replicas);
        parameters.flag("fsync", fsync);
    };
    if (!Parameters(cf).each(1, "\"off\" alone, \"replicas=N\" or \"fsync\"",
                             take)) {
        return kConfError;
    }
    loc.durability = {replicas.value_or(0), fsync};
    return kConfOk;
}

}  // namespace petstore::ngx
