#include "doctor.h"

#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "../api/text.h"
#include "durability.h"
#include "exit.h"
#include "output.h"

namespace petstore::ctl {

namespace {

constexpr std::int64_t kOldestVersion = 7;
constexpr char kReachable[] = "reachable";

// unknown: Redis forbids the question, as managed services do.
enum class Verdict { ok, warning, wrong, unknown };

struct Finding {
    Verdict verdict;
    std::string check;
    std::string found;
    std::string advice;
};

const char* to_text(Verdict verdict)
{
    switch (verdict) {
    case Verdict::ok:
        return "ok";
    case Verdict::warning:
        return "warning";
    case Verdict::wrong:
        return "wrong";
    case Verdict::unknown:
        return "unknown";
    }
    return "";
}

class Doctor {
public:
    // `which` precedes the names of checks.
    Doctor(RedisSession& redis, std::string which)
        : redis_(redis), which_(std::move(which))
    {}

    std::vector<Finding> examine()
    {
        check_reachable();
        read_info();
        check_version();
        check_role();
        check_persistence();
        check_durability();
        check_eviction();
        check_cluster();
        return std::move(findings_);
    }

private:
    void add(Verdict verdict, const std::string& check, std::string found,
             std::string advice = {})
    {
        findings_.push_back({verdict, which_ + check, std::move(found),
                             verdict == Verdict::ok ? "" : std::move(advice)});
    }

    // Parses "name:value" lines of INFO and CLUSTER INFO.
    void read_lines(std::string_view text)
    {
        while (!text.empty()) {
            const std::string_view line = text.substr(0, text.find("\r\n"));
            text.remove_prefix(std::min(text.size(), line.size() + 2));
            const std::size_t colon = line.find(':');
            if (colon != std::string_view::npos) {
                info_.insert_or_assign(std::string(line.substr(0, colon)),
                                       std::string(line.substr(colon + 1)));
            }
        }
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
            read_lines(reply->text());
        } else {
            read_hello();
        }
        if (info("cluster_enabled") == "1") {
            const auto command = redis::Command("CLUSTER").arg("INFO");
            if (const auto* reply = ask(command)) {
                read_lines(reply->text());
            }
        }
    }

    // HELLO is rarely forbidden, and contains the most important of INFO's
    // fields, with other names.
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
                info_["redis_version"] = value;
                info_["valkey_version"] = server == "valkey" ? value : "";
            } else if (name == "role") {
                info_["role"] = value;
            } else if (name == "mode") {
                info_["cluster_enabled"] = value == "cluster" ? "1" : "0";
            }
        }
    }

    // Empty if unknown.
    std::string info(const std::string& name) const
    {
        const auto found = info_.find(name);
        return found == info_.end() ? "" : found->second;
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
        add(Verdict::unknown, check, "",
            "this user may not ask Redis: see its documentation, or the "
            "provider's");
    }

    void check_reachable()
    {
        using Milliseconds = std::chrono::duration<double, std::milli>;
        const auto sent = std::chrono::steady_clock::now();
        ask(redis::Command("PING"));
        const Milliseconds taken = std::chrono::steady_clock::now() - sent;
        char text[32];
        std::snprintf(text, sizeof text, "answers in %.1f ms", taken.count());
        add(Verdict::ok, kReachable, text);
    }

    void check_version()
    {
        // Valkey reports the version of Redis that it is compatible with, too.
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
                "Redis loses recent data, or all of it, when it stops: CONFIG "
                "SET appendonly yes, and set it in redis.conf");
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

    // nginx's configuration is out of sight: this names what it can rely on.
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
        add(Verdict::ok, "durability",
            row + "; petstore_durability can add: "
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
            "Redis may evict pets, keys and counters: CONFIG SET "
            "maxmemory-policy noeviction, and set it in redis.conf");
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
                "this version does not support Redis Cluster: use a standalone "
                "Redis");
        }
    }

    RedisSession& redis_;
    const std::string which_;
    std::map<std::string, std::string> info_;
    std::vector<Finding> findings_;
};

void print(const Context& context, const std::vector<Finding>& findings)
{
    if (context.json()) {
        Json array = Json::array();
        for (const Finding& finding : findings) {
            // A Redis that answers has other findings. Programs that read this
            // output know the list without this one.
            if (finding.verdict == Verdict::ok
                && finding.check.find(kReachable) != std::string::npos) {
                continue;
            }
            array.push_back({{"check", finding.check},
                             {"verdict", to_text(finding.verdict)},
                             {"found", finding.found},
                             {"advice", finding.advice}});
        }
        print_json(array);
        return;
    }
    std::vector<std::vector<std::string>> rows = {
        {"VERDICT", "CHECK", "FOUND", "ADVICE"}};
    for (const Finding& finding : findings) {
        rows.push_back({to_text(finding.verdict), finding.check, finding.found,
                        finding.advice});
    }
    print_table(rows, "VERDICT");
}

// Whether the options name the Redis with the limits. A store that has never
// had a second Redis needs no line.
void check_limits(Context& context, std::vector<Finding>& findings)
{
    try {
        context.limits_place().check(Access::read);
        if (context.limits() != nullptr) {
            findings.push_back(
                {Verdict::ok, "limits", "on the Redis of --limit-redis", ""});
        }
    } catch (const LostConnection&) {
        throw;
    } catch (const Failure& failure) {
        findings.push_back(
            {Verdict::wrong, "limits", "elsewhere", failure.what()});
    }
}

// Adds the findings of a Redis. Prints those so far if it cannot be reached.
template <class Connect>
void examine(const Context& context, Connect connect, const std::string& which,
             std::vector<Finding>& findings)
{
    try {
        if (RedisSession* const redis = connect()) {
            for (Finding& finding : Doctor(*redis, which).examine()) {
                findings.push_back(std::move(finding));
            }
        }
    } catch (const Failure& failure) {
        findings.push_back({Verdict::wrong, which + kReachable, failure.what(),
                            "start Redis, or check the URL, the password and "
                            "the network"});
        print(context, findings);
        flush_output();
        throw;
    }
}

void run(Context& context)
{
    std::vector<Finding> findings;
    examine(
        context, [&] { return &context.redis(); }, "", findings);
    examine(
        context, [&] { return context.limits(); }, "limit-redis ", findings);
    check_limits(context, findings);
    print(context, findings);
    for (const Finding& finding : findings) {
        if (finding.verdict == Verdict::wrong) {
            flush_output();
            throw Failure("this Redis needs configuration changes (see above)");
        }
    }
}

}  // namespace

void add_doctor_command(CLI::App& app, Action& action)
{
    app.add_subcommand("doctor", "Check Redis and report what to change")
        ->callback([&action] { action = run; });
}

}  // namespace petstore::ctl
