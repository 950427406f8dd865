#include "doctor.h"

#include <map>
#include <string>
#include <vector>

#include "../api/text.h"
#include "exit.h"
#include "output.h"

namespace petstore::ctl {

namespace {

constexpr std::int64_t kOldestVersion = 7;

enum class Verdict { ok, warning, wrong };

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
    }
    return "";
}

class Doctor {
public:
    explicit Doctor(RedisSession& redis) : redis_(redis) {}

    std::vector<Finding> examine()
    {
        read_info();
        check_version();
        check_role();
        check_persistence();
        check_eviction();
        check_cluster();
        return std::move(findings_);
    }

private:
    void add(Verdict verdict, std::string check, std::string found,
             std::string advice = {})
    {
        findings_.push_back({verdict, std::move(check), std::move(found),
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

    void read_info()
    {
        read_lines(redis_.call(redis::Command("INFO")).text());
        if (info("cluster_enabled") == "1") {
            read_lines(
                redis_.call(redis::Command("CLUSTER").arg("INFO")).text());
        }
    }

    std::string info(const std::string& name) const
    {
        const auto found = info_.find(name);
        return found == info_.end() ? "" : found->second;
    }

    // Empty if CONFIG is forbidden, as in managed services.
    std::string config(std::string_view name)
    {
        redis_.send(redis::Command("CONFIG").arg("GET").arg(name));
        const redis::Reply& reply = redis_.receive_any();
        return reply.size() == 2 ? std::string(reply[1].text()) : "";
    }

    void check_version()
    {
        // Valkey reports the version of Redis that it is compatible with.
        const std::string version = info("redis_version");
        const auto major =
            api::parse_int64(version.substr(0, version.find('.')));
        add(major && *major >= kOldestVersion ? Verdict::ok : Verdict::wrong,
            "version", version, "install Redis 7.0 or Valkey 7.2 or later");
    }

    void check_role()
    {
        const std::string role = info("role");
        add(role == "master" ? Verdict::ok : Verdict::wrong, "role", role,
            "a replica accepts no writes: use its primary");
    }

    void check_persistence()
    {
        const bool snapshots = !config("save").empty();
        if (info("aof_enabled") == "1") {
            add(Verdict::ok, "persistence",
                "append-only file, appendfsync " + config("appendfsync"));
        } else {
            add(snapshots ? Verdict::warning : Verdict::wrong, "persistence",
                snapshots ? "snapshots only" : "none",
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

    void check_eviction()
    {
        const std::string policy = info("maxmemory_policy");
        add(policy == "noeviction" ? Verdict::ok : Verdict::wrong,
            "maxmemory-policy", policy,
            "Redis may evict pets, keys and counters: CONFIG SET "
            "maxmemory-policy noeviction, and set it in redis.conf");
    }

    void check_cluster()
    {
        if (info("cluster_enabled") != "1") {
            add(Verdict::ok, "cluster", "off");
            return;
        }
        add(Verdict::wrong, "cluster", "on",
            "this version does not support Redis Cluster: use a standalone "
            "Redis");
    }

    RedisSession& redis_;
    std::map<std::string, std::string> info_;
    std::vector<Finding> findings_;
};

void print(const Context& context, const std::vector<Finding>& findings)
{
    if (context.json()) {
        Json array = Json::array();
        for (const Finding& finding : findings) {
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
    print_table(rows);
}

void run(Context& context)
{
    const auto findings = Doctor(context.redis()).examine();
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
