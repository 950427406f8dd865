// The directive petstore_durability.
#include "durability_config.h"

#include "arguments.h"

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

void choose_durable(MainConf& main, LocConf& conf)
{
    if (!conf.serves || !conf.durability || !conf.durability->any()) {
        return;
    }
    const std::size_t node = main.storages[conf.storage].node;
    conf.durable = 0;
    for (const auto& known : main.durables) {
        if (known.node == node && known.durability == *conf.durability) {
            return;
        }
        ++*conf.durable;
    }
    main.durables.push_back({node, *conf.durability});
}

char* set_durability(ngx_conf_t* cf, ngx_command_t*, void* conf) noexcept
{
    return conf_guarded(cf, [&]() -> char* {
        auto& loc = *static_cast<LocConf*>(conf);
        if (loc.durability) {
            return kDuplicate;
        }
        if (cf->args->nelts == 2 && view(arguments(cf)[1]) == "off") {
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
