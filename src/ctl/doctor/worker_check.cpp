#include "checks.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "../../redis/error_table.h"
#include "../../redis/hash_slot.h"
#include "../../store/accounts/limit_commands.h"

namespace petstore::ctl {

namespace {

constexpr char kWrites[] = "worker writes";
constexpr char kRights[] = "worker rights";
constexpr char kPlanRights[] = "worker plans";
constexpr char kCheckRights[] = "worker checks";
constexpr char kProbe[] = "x";  // neither a number nor a list
constexpr std::int64_t kProbeSeconds = 10;

// A script's error ends with its digest and line.
std::string first_part(std::string_view error)
{
    constexpr std::size_t kMost = 120;
    const std::size_t end = error.find(" script: ");
    return std::string(error.substr(0, std::min(end, kMost)));
}

const char* advice_for_error(std::string_view error)
{
    if (error.starts_with("OOM")) {
        return "workers answer 503: raise maxmemory, or remove data";
    }
    if (error.starts_with("NOREPLICAS")) {
        return "workers answer 503: connect replicas, or lower min-replicas-to-write";
    }
    if (error.starts_with("MISCONF")) {
        return "workers answer 503: Redis cannot write to its disk, see its log";
    }
    if (error.starts_with("READONLY")) {
        return "workers answer 503: use the primary";
    }
    return "workers answer 503: see \"Errors of Redis\" in docs/operations.md";
}

class WorkerCheck {
public:
    // `account`: in the names of the Redis keys that the check writes.
    WorkerCheck(RedisSession& redis, const store::Schema& schema,
                WorkerData data, std::string account, bool in_cluster)
        : redis_(redis), schema_(schema), data_(data),
          account_(std::move(account)), in_cluster_(in_cluster)
    {}

    std::vector<Finding> run(const std::string& which)
    {
        if (data_ != WorkerData::catalogue) {
            account_commands();
        }
        if (data_ != WorkerData::accounts) {
            catalogue_commands();
        }
        try_command("+ping", "", redis::Command("PING"));
        try_command("+time", "", redis::Command("TIME"));
        try_command("+eval", "",
                    redis::Command("EVAL").arg("return 0").arg("0"));
        try_command("+evalsha", "",
                    redis::Command("EVALSHA")
                        .arg("0000000000000000000000000000000000000000")
                        .arg("0"));
        if (in_cluster_) {
            try_command("+asking", "", redis::Command("ASKING"));
        }
        const bool may_all = missing_.empty();
        if (may_all && data_ != WorkerData::catalogue) {
            charge();
        }
        std::vector<Finding> findings;
        const auto warn = [&](const char* row, const char* consequence,
                              const std::string& rights) {
            if (!rights.empty()) {
                findings.push_back(
                    {Verdict::warning, which + row, "missing:" + rights,
                     std::string(consequence) + ": ACL SETUSER USER" + rights,
                     InJson::if_problem});
            }
        };
        warn(
            kPlanRights,
            "workers do not know the plans in Redis, or petstorectl those of nginx.conf",
            missing_for_plans());
        warn(
            kCheckRights,
            "workers do not notice a replica, lost data, another node or another store's limits",
            missing_for_checks());
        if (!may_all) {
            findings.push_back(
                {Verdict::wrong, which + kRights, "missing:" + missing_,
                 "workers with this user answer 503: ACL SETUSER USER"
                     + missing_,
                 InJson::if_problem});
        } else {
            findings.push_back(
                {Verdict::ok, which + kRights,
                 "this user has all that workers need; petstorectl needs more",
                 "", InJson::if_problem});
        }
        if (!refusal_.empty()) {
            findings.push_back({Verdict::wrong, which + kWrites, refusal_,
                                advice_for_error(refusal_),
                                InJson::if_problem});
        } else if (may_all) {
            findings.push_back({Verdict::ok, which + kWrites,
                                data_ == WorkerData::catalogue
                                    ? "accepted"
                                    : "accepted, and the limiter works",
                                "", InJson::if_problem});
        }
        return findings;
    }

private:
    // Returns the reply, valid until the next command. Remembers the rule that
    // is missing.
    const redis::Reply& try_command(const std::string& rule,
                                    const std::string& pattern,
                                    const redis::Command& command)
    {
        redis_.send(command);
        const redis::Reply& reply = redis_.receive_any();
        if (redis::is_forbidden(reply)) {
            const bool of_key =
                reply.text().find("key") != std::string_view::npos
                && reply.text().find(" run ") == std::string_view::npos;
            const std::string needed = ' ' + (of_key ? pattern : rule);
            if ((missing_ + ' ').find(needed + ' ') == std::string::npos) {
                missing_ += needed;
            }
        }
        return reply;
    }

    // Tries a write, and then `more`, which fail because of the value, but
    // would create a missing key.
    void try_writes(const std::string& name, const std::string& pattern,
                    const std::vector<const char*>& more)
    {
        redis::Command set("SET");
        set.key(name).arg(kProbe).arg("EX").arg(kProbeSeconds);
        const redis::Reply& reply = try_command("+set", pattern, set);
        if (reply.is_error()) {
            if (!redis::is_forbidden(reply) && refusal_.empty()) {
                refusal_ = first_part(reply.text());
            }
            return;
        }
        for (const char* command : more) {
            attempt_on(name, pattern, command,
                       std::string_view(command) == "RPUSH" ? kProbe : nullptr);
        }
    }

    static std::string rule_of(std::string_view command)
    {
        std::string rule = "+";
        for (const char c : command) {
            rule += static_cast<char>(c - 'A' + 'a');
        }
        return rule;
    }

    void account_commands()
    {
        const std::string name = schema_.account_probe(account_);
        const std::string pattern = '~' + schema_.account_pattern();
        try_writes(name, pattern, {"INCR"});
        const auto attempt = [&](const char* command, const char* one = nullptr,
                                 const char* two = nullptr) {
            attempt_on(name, pattern, command, one, two);
        };
        attempt("MGET");
        attempt("GET");
        attempt("SETRANGE", "0", "");
        attempt("INCRBY", kProbe);
        attempt("HINCRBY", kProbe, kProbe);
        attempt("HGETALL");
        attempt("PEXPIRE", "10000");
        attempt("PEXPIRETIME");
        attempt("DEL");
        attempt_on(schema_.limits_marker(), "%R~" + schema_.limits_marker(),
                   "GET");
    }

    void catalogue_commands()
    {
        const std::string name = schema_.catalogue_probe();
        const std::string pattern = '~' + schema_.catalogue() + '*';
        try_writes(name, pattern, {"INCR", "RPUSH"});
        const auto attempt = [&](const char* command, const char* one = nullptr,
                                 const char* two = nullptr) {
            attempt_on(name, pattern, command, one, two);
        };
        attempt("MGET");
        attempt("GET");
        attempt("GETRANGE", "0", "0");
        attempt("INCRBY", kProbe);
        attempt("LINDEX", "0");
        attempt("LRANGE", "0", "0");
        attempt("RPOP");
        attempt("SETBIT", "-1", "0");
        attempt("BITPOS", "1");
        attempt("DEL");
        attempt_on(schema_.key_record({}), "%R~" + schema_.prefix() + ":key:*",
                   "HGETALL");
        attempt_on(schema_.account_record("doctor"),
                   "%R~" + schema_.prefix() + ":account:*", "HGETALL");
    }

    // The rules without which workers work, but not with plans in Redis.
    std::string missing_for_plans()
    {
        if (data_ == WorkerData::accounts) {
            return {};
        }
        constexpr char kHost[] = "doctor";
        const std::string needed = std::exchange(missing_, {});
        const std::string hosts = schema_.hosts();
        attempt_on(schema_.plans(), "%R~" + schema_.plans(), "HSCAN", "0");
        attempt_on(hosts, '~' + hosts, "HSET", kHost, kProbe);
        attempt_on(hosts, '~' + hosts, "HRANDFIELD", "1");
        attempt_on(hosts, '~' + hosts, "HDEL", kHost);
        attempt_on(hosts, '~' + hosts, "PEXPIRE", "180000");
        return std::exchange(missing_, needed);
    }

    // The rules without which workers work, but ask in vain which Redis it is.
    std::string missing_for_checks()
    {
        const std::string needed = std::exchange(missing_, {});
        try_command("+info", "", redis::Command("INFO").arg("replication"));
        if (in_cluster_) {
            try_command("+cluster|myid", "",
                        redis::Command("CLUSTER").arg("MYID"));
        }
        if (data_ == WorkerData::catalogue) {
            const std::string marker = schema_.limits_marker();
            attempt_on(marker, "%R~" + marker, "GET");
        }
        return std::exchange(missing_, needed);
    }

    void attempt_on(const std::string& name, const std::string& pattern,
                    const char* command, const char* one = nullptr,
                    const char* two = nullptr)
    {
        redis::Command attempt(command);
        attempt.key(name);
        for (const char* argument : {one, two}) {
            if (argument != nullptr) {
                attempt.arg(argument);
            }
        }
        try_command(rule_of(command), pattern, attempt);
    }

    // Calls the limiter as a worker does, for an account of our own.
    void charge()
    {
        using Kind = store::LimitResult::Kind;
        using store::LimitCommands;
        const LimitCommands limiter(
            schema_, LimitCommands::Catalogue::elsewhere,
            in_cluster_ ? LimitCommands::Accounts::cluster
                        : LimitCommands::Accounts::together);
        store::LimitRequest request;
        request.account = account_;
        request.limits = {1, 1};
        request.fresh = true;
        request.placed = in_cluster_;
        redis::Command decide = limiter.decide({request});
        decide.use_script_text();
        const std::string state = schema_.account_state(account_);
        // In one write, so that no account is left behind.
        redis_.send(decide);
        redis_.send(redis::Command("DEL").key(state));
        const redis::Reply& reply = redis_.receive_any();
        if (reply.is_error()) {
            if (refusal_.empty()) {
                refusal_ = first_part(reply.text());
            }
        } else {
            const Kind kind =
                limiter.parse_decisions(reply, {request}).front().kind;
            // A worker continues after a stale epoch, the reply for each new
            // account in a Cluster. check_limits() reports limits that are
            // elsewhere.
            if (kind != Kind::decided && kind != Kind::stale
                && kind != Kind::elsewhere) {
                refusal_ = "unexpected reply to the limiter's script";
            }
        }
        redis_.receive_any();
    }

    RedisSession& redis_;
    const store::Schema& schema_;
    const WorkerData data_;
    const std::string account_;
    const bool in_cluster_;
    std::string missing_;  // rules, each after a space
    std::string refusal_;  // the first error of a write
};

// A tag whose slot the primary has; nullopt if it has hardly any.
std::optional<std::string> tag_on(const redis::SlotMap& map,
                                  std::size_t primary)
{
    constexpr int kMostTries = 200'000;
    for (int i = 0; i < kMostTries; ++i) {
        std::string tag = "doctor" + std::to_string(i);
        if (map.primary_of(redis::hash_slot(tag)) == primary) {
            return tag;
        }
    }
    return std::nullopt;
}

std::vector<Finding> check_primaries(RedisSession& cluster,
                                     const store::Schema& schema,
                                     WorkerData data, const std::string& which)
{
    const auto map = cluster.cluster()->map();
    const auto& primaries = map.primaries();
    const auto catalogue = map.primary_of(redis::hash_slot(schema.catalogue()));
    std::vector<Finding> wrong;
    std::vector<Finding> ok;
    for (std::size_t i = 0; i < primaries.size(); ++i) {
        const auto tag = tag_on(map, i);
        const WorkerData there = catalogue == i ? data : WorkerData::accounts;
        const bool has_part = data != WorkerData::catalogue || catalogue == i;
        if (!tag || !has_part) {
            continue;
        }
        try {
            RedisSession server = cluster.open(primaries[i]);
            const std::string name = which + primaries[i].host + ':'
                                     + std::to_string(primaries[i].port) + ' ';
            WorkerCheck check(server, schema, there, *tag, true);
            ok.clear();
            for (Finding& finding : check.run(name)) {
                const bool is_ok = finding.verdict == Verdict::ok;
                (is_ok ? ok : wrong).push_back(std::move(finding));
            }
        } catch (const Failure&) {
            // check_cluster() reports servers that are down.
        }
    }
    // One row for all servers, if all are well. The names of servers may
    // contain "worker", too.
    for (Finding& finding : ok) {
        finding.check.erase(0, finding.check.rfind("worker"));
        finding.check.insert(0, which);
    }
    return wrong.empty() ? ok : wrong;
}

}  // namespace

std::vector<Finding> check_workers(RedisSession& redis,
                                   const store::Schema& schema, WorkerData data,
                                   const std::string& which)
{
    return redis.is_cluster()
               ? check_primaries(redis, schema, data, which)
               : WorkerCheck(redis, schema, data, "doctor", false).run(which);
}

}  // namespace petstore::ctl
