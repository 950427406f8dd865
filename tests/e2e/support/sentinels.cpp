#include "sentinels.h"

namespace petstore::e2e {

namespace {

// For several elections: Sentinels that stall lose one, and wait 12 seconds.
constexpr auto kElections = 180s;

using Lines = std::vector<std::string>;

void append(Lines& lines, const Lines& more)
{
    lines.insert(lines.end(), more.begin(), more.end());
}

// The value of a field in a flat list of names and values.
std::string field(const Value& reply, const std::string& name)
{
    for (std::size_t i = 0; i + 1 < reply.items.size(); i += 2) {
        if (reply.items[i].text == name) {
            return reply.items[i + 1].text;
        }
    }
    return {};
}

}  // namespace

Sentinels::Sentinels() : Sentinels(Options{}) {}

Sentinels::Sentinels(Options options) : tls_(options.tls != nullptr)
{
    // No delays, and no waiting for the disk on exit.
    Lines common = {"repl-diskless-sync-delay 0", "appendonly no",
                    "protected-mode no", "repl-ping-replica-period 1",
                    "replica-announce-ip " + own_address()};
    if (!options.password.empty()) {
        common.push_back("requirepass " + options.password);
        common.push_back("masterauth " + options.password);
    }
    append(common, options.servers);
    for (int i = 0; i <= options.replicas; ++i) {
        Lines lines = common;
        if (tls_) {
            ports_.push_back(free_port());
            append(lines, options.tls(ports_.back()));
        }
        if (i > 0) {
            lines.push_back("replicaof " + own_address() + " "
                            + std::to_string(ports_.front()));
        }
        servers_.push_back(std::make_unique<RedisServer>(lines));
        if (!tls_) {
            ports_.push_back(servers_.back()->port());
        }
    }
    for (int i = 0; i < 3; ++i) {
        Lines lines = {"protected-mode no"};
        if (tls_) {
            sentinel_ports_.push_back(free_port());
            append(lines, options.tls(sentinel_ports_.back()));
            lines.push_back("sentinel announce-port "
                            + std::to_string(sentinel_ports_.back()));
        }
        append(lines, {"sentinel announce-ip " + own_address(),
                       "sentinel monitor main " + own_address() + " "
                           + std::to_string(ports_.front()) + " 2",
                       "sentinel down-after-milliseconds main "
                           + std::to_string(options.down_after),
                       "sentinel failover-timeout main 6000"});
        if (!options.password.empty()) {
            lines.push_back("sentinel auth-pass main " + options.password);
        }
        append(lines, options.sentinels);
        sentinels_.push_back(std::make_unique<RedisServer>(lines));
        if (!tls_) {
            sentinel_ports_.push_back(sentinels_.back()->port());
        }
    }
    wait_until_settled();
}

std::string Sentinels::url(const std::string& credentials) const
{
    std::string text = "sentinel=main";
    for (const int port : sentinel_ports_) {
        text += (tls_ ? " rediss://" : " redis://") + credentials
                + own_address() + ":" + std::to_string(port);
    }
    return text;
}

std::size_t Sentinels::primary(std::size_t sentinel) const
{
    const auto reply = sentinels_[sentinel]->command(
        {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main"});
    for (std::size_t i = 0; i < ports_.size(); ++i) {
        if (reply.items.size() == 2
            && reply.items[1].text == std::to_string(ports_[i])) {
            return i;
        }
    }
    throw HarnessError("a Sentinel names no server of the test");
}

std::size_t Sentinels::wait_for_other_than(std::size_t old) const
{
    std::size_t found = old;
    const bool moved = wait_until(
        [&] {
            found = primary(0);
            return found != old && primary(1) == found && primary(2) == found
                   && contains(
                       servers_[found]->command({"INFO", "replication"}).text,
                       "role:master");
        },
        kElections);
    if (!moved) {
        throw HarnessError("Sentinels do not fail over");
    }
    return found;
}

void Sentinels::wait_until_settled() const
{
    const auto replicas = std::to_string(servers_.size() - 1);
    const bool settled = wait_until(
        [&] {
            for (const auto& sentinel : sentinels_) {
                const auto master =
                    sentinel->command({"SENTINEL", "MASTER", "main"});
                if (field(master, "num-other-sentinels") != "2"
                    || field(master, "num-slaves") != replicas
                    || field(master, "flags") != "master") {
                    return false;
                }
                const auto known =
                    sentinel->command({"SENTINEL", "REPLICAS", "main"});
                for (const auto& replica : known.items) {
                    if (field(replica, "flags") != "slave"
                        || field(replica, "master-link-status") != "ok") {
                        return false;
                    }
                }
            }
            return true;
        },
        kElections);
    if (!settled) {
        throw HarnessError("Sentinels do not find each other and the replicas");
    }
}

}  // namespace petstore::e2e
