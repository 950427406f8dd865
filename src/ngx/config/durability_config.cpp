// The directive petstore_durability.
#include "durability_config.h"

#include "arguments.h"
#include "find_or_add.h"

namespace petstore::ngx {

namespace {

constexpr std::int64_t kMostReplicas = 100;

}  // namespace

void merge_durability(const LocConf& prev, LocConf& conf)
{
    if (!conf.durability) {
        conf.durability = prev.durability;
    }
}

bool choose_durable(ngx_conf_t* cf, MainConf& main, LocConf& conf)
{
    if (!conf.serves || !conf.durability || !conf.durability->any()) {
        return true;
    }
    const std::size_t node = main.storages[conf.storage].node;
    if (main.nodes[node].cluster) {
        const ReportAt at(cf, conf.redis_position);
        refuse(
            cf,
            "\"petstore_durability\" does not support the Cluster of \"petstore_redis\": use \"off\", or one Redis or Sentinels for \"petstore_redis\"");
        return false;
    }
    conf.durable =
        find_or_add(main.durables, DurableSettings{node, *conf.durability});
    return true;
}

char* set_durability(ngx_conf_t* cf, ngx_command_t*, void* conf) noexcept
{
    return conf_guarded(cf, [&]() -> char* {
        auto& loc = *static_cast<LocConf*>(conf);
        if (loc.durability) {
            return kDuplicate;
        }
        if (cf->args->nelts == 2 && ngx_base::view(arguments(cf)[1]) == "off") {
            loc.durability.emplace();
            return kConfOk;
        }
        Parameters::Value replicas;
        bool fsync = false;
        if (!Parameters(cf).each(
                1, "\"off\" alone, \"replicas=N\" or \"fsync\"",
                [&](Parameters& parameters) {
                    parameters.number("replicas", kMostReplicas, replicas);
                    parameters.flag("fsync", fsync);
                })) {
            return kConfError;
        }
        loc.durability = {replicas.value_or(0), fsync};
        return kConfOk;
    });
}

}  // namespace petstore::ngx
