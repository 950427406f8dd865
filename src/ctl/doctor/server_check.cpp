#include "checks.h"

#include <chrono>
#include <cstdio>
#include <iterator>
#include <optional>
#include <utility>

#include "../../api/text.h"
#include "../../redis/reply_fields.h"
#include "../redis/redis_error.h"
#include "durability.h"

namespace petstore::ctl {

namespace {

constexpr std::int64_t kOldestVersion = 7;

// Whether this error is the reply to every command, so that it says nothing of
// any command's rights.
bool refuses_all(std::string_view code)
{
    return code == "NOAUTH" || code == "LOADING" || code == "BUSY"
           || code == "MASTERDOWN";
}

// "1.5 MB"
std::string bytes_text(std::int64_t bytes)
{
    constexpr double kStep = 1024;
    const char* const units[] = {"bytes", "KB", "MB", "GB", "TB"};
    auto number = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (number >= kStep && unit + 1 < std::size(units)) {
        number /= kStep;
        ++unit;
    }
    char text[32];
    std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", number,
                  units[unit]);
    return text;
}

class ServerCheck {
public:
    ServerCheck(RedisSession& redis, std::string which, const ClusterNode* node)
        : redis_(redis), which_(std::move(which)), node_(node)
    {}

    std::vector<Finding> run()
    {
        check_reachable();
        read_info();
        check_version();
        check_role();
        check_persistence();
        check_durability();
        check_eviction();
        check_memory();
        check_min_replicas();
        if (node_ == nullptr) {
            check_cluster();
        } else {
            check_replication();
        }
        return std::move(findings_);
    }

private:
    void add(Verdict verdict, const std::string& check, std::string found,
             std::string advice = {}, InJson in_json = InJson::always)
    {
        findings_.push_back({verdict, which_ + check, std::move(found),
                             verdict == Verdict::ok ? "" : std::move(advice),
                             in_json});
    }

    // The reply, or nullptr if Redis refuses the command. Valid until the next
    // command.
    const redis::Reply* ask(const redis::Command& command)
    {
        redis_.send(command);
        const redis::Reply& reply = redis_.receive_any();
        return reply.is_error() ? nullptr : &reply;
    }

    void read_info()
    {
        if (const auto* reply = ask(redis::Command("INFO"))) {
            info_ = reply->text();
        } else {
            read_hello();
        }
    }

    // HELLO is rarely forbidden and contains the most important fields of INFO,
    // under other names.
    void read_hello()
    {
        const auto* reply = ask(redis::Command("HELLO").arg("2"));
        std::string server;
        for (std::size_t i = 0; reply && i + 1 < reply->size(); i += 2) {
            const std::string_view name = (*reply)[i].text();
            const std::string value((*reply)[i + 1].text());
            if (name == "server") {
                server = value;
            } else if (name == "version") {
                add_info("redis_version", value);
                add_info("valkey_version", server == "valkey" ? value : "");
            } else if (name == "role") {
                add_info("role", value);
            } else if (name == "mode") {
                add_info("cluster_enabled", value == "cluster" ? "1" : "0");
            }
        }
    }

    void add_info(const char* name, const std::string& value)
    {
        info_.append(name).append(":").append(value).append("\n");
    }

    // Empty if unknown.
    std::string info(std::string_view name) const
    {
        return std::string(redis::info_field(info_, name));
    }

    std::optional<std::string> config(std::string_view name)
    {
        const auto* reply = ask(redis::Command("CONFIG").arg("GET").arg(name));
        if (reply == nullptr || reply->size() != 2) {
            return std::nullopt;
        }
        return std::string((*reply)[1].text());
    }

    void add_unknown(const std::string& check)
    {
        add(Verdict::unknown, check, "", kAskProvider);
    }

    void check_reachable()
    {
        using Milliseconds = std::chrono::duration<double, std::milli>;
        const auto sent = std::chrono::steady_clock::now();
        redis_.send(redis::Command("PING"));
        const redis::Reply& reply = redis_.receive_any();
        if (refuses_all(reply.error_code())) {
            redis_.check(reply);
        }
        const Milliseconds taken = std::chrono::steady_clock::now() - sent;
        char text[32];
        std::snprintf(text, sizeof text, "answers in %.1f ms", taken.count());
        add(Verdict::ok, kReachable, text, "", InJson::if_problem);
    }

    void check_version()
    {
        // Valkey also reports the version of Redis that it is compatible with.
        const std::string version = info("redis_version");
        const std::string valkey = info("valkey_version");
        if (version.empty()) {
            add_unknown("version");
            return;
        }
        const auto major =
            api::parse_int64(version.substr(0, version.find('.')));
        add(major && *major >= kOldestVersion ? Verdict::ok : Verdict::wrong,
            "version", valkey.empty() ? version : "Valkey " + valkey,
            "install Redis 7.0 or Valkey 7.2 or later");
    }

    void check_role()
    {
        const std::string role = info("role");
        if (role.empty()) {
            add_unknown("role");
            return;
        }
        if (node_ != nullptr) {
            const bool agrees = (role == "master") == node_->is_primary;
            add(agrees ? Verdict::ok : Verdict::warning, "role", role,
                "the servers of the cluster disagree about it: a failover may be in progress");
            return;
        }
        add(role == "master" ? Verdict::ok : Verdict::wrong, "role", role,
            "a replica accepts no writes: use its primary");
    }

    void check_persistence()
    {
        if (info("aof_enabled").empty()) {
            add_unknown("persistence");
        } else if (info("aof_enabled") == "1") {
            add(Verdict::ok, "persistence",
                "append-only file, appendfsync "
                    + config("appendfsync").value_or("unknown"));
        } else {
            const auto snapshots = config("save");
            add(snapshots == "" ? Verdict::wrong : Verdict::warning,
                "persistence",
                !snapshots           ? "no append-only file, snapshots unknown"
                : snapshots->empty() ? "none"
                                     : "snapshots only",
                "Redis loses recent data, or all of it, when it stops: CONFIG SET appendonly yes, and set it in redis.conf");
        }
        for (const char* status :
             {"rdb_last_bgsave_status", "aof_last_write_status"}) {
            if (!info(status).empty() && info(status) != "ok") {
                add(Verdict::wrong, status, info(status),
                    "Redis cannot write to its disk: see its log");
            }
        }
    }

    std::optional<std::int64_t> online_replicas() const
    {
        const auto connected = api::parse_int64(info("connected_slaves"));
        if (!connected) {
            return std::nullopt;
        }
        std::int64_t online = 0;
        for (std::int64_t i = 0; i < *connected; ++i) {
            online += info("slave" + std::to_string(i)).find("state=online")
                              != std::string::npos
                          ? 1
                          : 0;
        }
        return online;
    }

    // nginx's configuration is unknown here, so this reports what Redis can
    // guarantee.
    void check_durability()
    {
        DurabilityFacts facts;
        facts.version = info("redis_version");
        if (!info("aof_enabled").empty()) {
            facts.append_only = info("aof_enabled") == "1";
        }
        facts.fsync = config("appendfsync");
        facts.snapshots = config("save");
        facts.replicas = online_replicas();
        if (const auto least = config("min-replicas-to-write")) {
            facts.min_replicas = api::parse_int64(*least);
        }
        const std::string row = durability_row(facts);
        if (row.empty()) {
            add_unknown("durability");
            return;
        }
        // petstore_durability does not support a Cluster.
        add(Verdict::ok, "durability",
            node_ != nullptr ? row
                             : row + "; petstore_durability can add: "
                                   + reachable_durability(facts));
    }

    void check_eviction()
    {
        const std::string policy = info("maxmemory_policy");
        if (policy.empty()) {
            add_unknown("maxmemory-policy");
            return;
        }
        add(policy == "noeviction" ? Verdict::ok : Verdict::wrong,
            "maxmemory-policy", policy,
            "Redis may evict pets, keys and counters: CONFIG SET maxmemory-policy noeviction, and set it in redis.conf");
    }

    void check_cluster()
    {
        const std::string cluster = info("cluster_enabled");
        if (cluster.empty()) {
            add_unknown("cluster");
        } else if (cluster == "0") {
            add(Verdict::ok, "cluster", "off");
        } else {
            add(Verdict::wrong, "cluster", "on",
                "this is a node of a Cluster: put \"cluster\" before its URL, here and in nginx.conf");
        }
    }

    void check_memory()
    {
        const auto in_json =
            node_ == nullptr ? InJson::if_problem : InJson::always;
        const auto most = api::parse_int64(info("maxmemory"));
        const auto used = api::parse_int64(info("used_memory"));
        if (!most || !used) {
            add(Verdict::unknown, "maxmemory", "", kAskProvider, in_json);
            return;
        }
        // Redis does not count the buffers of replicas and of the append-only
        // file.
        const std::int64_t counted =
            *used
            - api::parse_int64(info("mem_not_counted_for_evict")).value_or(0);
        const bool refuses = *most > 0 && info("role") == "master"
                             && info("maxmemory_policy") == "noeviction";
        const bool full = refuses && counted >= *most;
        const bool nearly = refuses && counted / 9 >= *most / 10;
        add(full     ? Verdict::wrong
            : nearly ? Verdict::warning
                     : Verdict::ok,
            "maxmemory",
            "used " + bytes_text(counted)
                + (*most == 0 ? ", no limit" : " of " + bytes_text(*most)),
            full
                ? "Redis refuses all writes, and workers answer 503: raise maxmemory, or remove data"
                : "Redis will refuse all writes: raise maxmemory, or remove data",
            in_json);
    }

    // Below this number, Redis refuses writes.
    void check_min_replicas()
    {
        const auto least = config("min-replicas-to-write");
        const std::int64_t needed =
            least ? api::parse_int64(*least).value_or(0) : 0;
        const auto good = api::parse_int64(info("min_slaves_good_slaves"));
        if (needed == 0 || !good) {
            return;
        }
        add(*good >= needed ? Verdict::ok : Verdict::wrong,
            "min-replicas-to-write",
            std::to_string(*good) + " connected, at least "
                + std::to_string(needed) + " needed",
            "Redis refuses all writes, and workers answer 503: connect replicas, or lower min-replicas-to-write",
            InJson::if_problem);
    }

    void check_replication()
    {
        if (node_->is_primary) {
            if (node_->has_slots) {
                add(node_->replicas > 0 ? Verdict::ok : Verdict::warning,
                    "replicas", std::to_string(node_->replicas),
                    "if this server fails, its part of the data is unavailable until it is back: add a replica");
            }
            return;
        }
        const std::string link = info("master_link_status");
        if (link.empty()) {
            add_unknown("replication");
        } else {
            add(link == "up" ? Verdict::ok : Verdict::warning, "replication",
                link, "the replica has lost its primary");
        }
    }

    RedisSession& redis_;
    const std::string which_;
    const ClusterNode* const node_;
    std::string info_;  // "name:value" lines
    std::vector<Finding> findings_;
};

}  // namespace

std::string advice_for_failure(const Failure& failure, const char* unreachable)
{
    const auto* const refusal = dynamic_cast<const RedisError*>(&failure);
    if (refusal == nullptr) {
        return unreachable;
    }
    const std::string& error = refusal->error();
    if (error.starts_with("LOADING")) {
        return "wait until Redis has loaded its data";
    }
    if (error.starts_with("BUSY ")) {
        return "end the script that another client runs: SCRIPT KILL";
    }
    if (error.starts_with("MASTERDOWN")) {
        return "use the primary, or connect this replica to it";
    }
    if (error.find("max number of clients") != std::string::npos) {
        return "close connections that are not used, or raise maxclients";
    }
    if (error.starts_with("DENIED")) {
        return "Redis accepts only local connections without a password: set one (requirepass, or ACL), or connect over its unix socket";
    }
    return "check the user, the password and its access rules";
}

std::vector<Finding> check_server(RedisSession& redis, const std::string& which,
                                  const ClusterNode* node)
{
    return ServerCheck(redis, which, node).run();
}

}  // namespace petstore::ctl
