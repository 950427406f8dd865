#include "cluster_servers.h"

#include <algorithm>
#include <cstdlib>

#include "limits.h"

namespace petstore::e2e {

namespace {

constexpr int kSlots = 16384;

void append(std::vector<std::string>& lines,
            const std::vector<std::string>& more)
{
    lines.insert(lines.end(), more.begin(), more.end());
}

void check_ok(const Value& reply)
{
    if (reply.type == Value::Type::error) {
        throw HarnessError("Redis says " + reply.text);
    }
}

}  // namespace

ClusterServers::ClusterServers() : ClusterServers(Options{}) {}

ClusterServers::ClusterServers(Options options) : options_(std::move(options))
{
    const auto primaries = static_cast<std::size_t>(options_.primaries);
    const std::size_t replicas = options_.replicas ? primaries : 0;
    for (std::size_t i = 0; i < primaries + replicas; ++i) {
        start_server();
        check_ok(server(i).command(
            {"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)}));
    }
    for (std::size_t i = 0; i < primaries; ++i) {
        check_ok(server(i).command(
            {"CLUSTER", "ADDSLOTSRANGE", std::to_string(kSlots * i / primaries),
             std::to_string(kSlots * (i + 1) / primaries - 1)}));
    }
    for (std::size_t i = 1; i < count(); ++i) {
        meet(i);
    }
    const auto all_know_all = [this] {
        for (std::size_t i = 0; i < count(); ++i) {
            const auto known = rows(i);
            if (known.size() != count()
                || std::any_of(known.begin(), known.end(), [](const Row& row) {
                       return contains(row.flags, "handshake");
                   })) {
                return false;
            }
        }
        return true;
    };
    if (!wait_until(all_know_all)) {
        throw HarnessError("a Cluster's servers do not meet");
    }
    for (std::size_t i = primaries; i < count(); ++i) {
        check_ok(
            server(i).command({"CLUSTER", "REPLICATE", id(i - primaries)}));
    }
    const bool settled = wait_until([&] {
        for (std::size_t i = 0; i < count(); ++i) {
            std::size_t known = 0;
            for (const Row& row : rows(i)) {
                known += contains(row.flags, "slave") ? 1 : 0;
            }
            if (known != replicas
                || !contains(server(i).command({"CLUSTER", "INFO"}).text,
                             "cluster_state:ok")
                || (i >= primaries
                    && !contains(
                        server(i).command({"INFO", "replication"}).text,
                        "master_link_status:up"))) {
                return false;
            }
        }
        return true;
    });
    if (!settled) {
        throw HarnessError("a Cluster does not settle");
    }
}

std::vector<std::string> ClusterServers::lines()
{
    std::vector<std::string> lines = {
        "cluster-enabled yes",
        "cluster-node-timeout " + std::to_string(options_.node_timeout),
        "cluster-replica-validity-factor 0",
        // Only a failover may change roles.
        "cluster-allow-replica-migration no",
        "cluster-announce-ip " + own_address(),
        "cluster-port " + std::to_string(bus_ports_.back()),
        "repl-diskless-sync-delay 0", "repl-ping-replica-period 1",
        "appendonly no", "protected-mode no"};
    if (!options_.password.empty()) {
        append(lines, {"requirepass " + options_.password,
                       "masterauth " + options_.password});
    }
    if (options_.tls) {
        append(lines, options_.tls(ports_.back()));
    }
    append(lines, options_.config);
    return lines;
}

std::size_t ClusterServers::start_server()
{
    bus_ports_.push_back(free_port());
    ports_.push_back(options_.tls ? free_port() : 0);
    servers_.push_back(std::make_unique<RedisServer>(lines()));
    if (!options_.tls) {
        ports_.back() = servers_.back()->port();
    }
    return count() - 1;
}

std::size_t ClusterServers::add()
{
    const std::size_t added = start_server();
    meet(added);
    const bool known = wait_until([&] {
        for (std::size_t i = 0; i < count(); ++i) {
            const auto found = rows(i);
            if (std::none_of(found.begin(), found.end(), [&](const Row& row) {
                    return row.server == added
                           && !contains(row.flags, "handshake");
                })) {
                return false;
            }
        }
        return contains(server(added).command({"CLUSTER", "INFO"}).text,
                        "cluster_state:ok");
    });
    if (!known) {
        throw HarnessError("a server does not join the Cluster");
    }
    return added;
}

void ClusterServers::rejoin(std::size_t i, std::pair<int, int> slots) const
{
    // An epoch above all others, so that its claim to the slots counts.
    check_ok(servers_[i]->command({"CLUSTER", "SET-CONFIG-EPOCH", "1000"}));
    check_ok(servers_[i]->command({"CLUSTER", "ADDSLOTSRANGE",
                                   std::to_string(slots.first),
                                   std::to_string(slots.second)}));
    meet(i);
    wait_for_owner(slots.first, i);
}

void ClusterServers::meet(std::size_t i) const
{
    check_ok(servers_[0]->command({"CLUSTER", "MEET", own_address(),
                                   std::to_string(ports_[i]),
                                   std::to_string(bus_ports_[i])}));
}

std::string ClusterServers::url(const std::string& credentials) const
{
    std::string text = "cluster";
    for (const std::size_t i : {std::size_t{0}, count() / 2}) {
        text += (options_.tls ? " rediss://" : " redis://") + credentials
                + address(i);
    }
    return text;
}

std::string ClusterServers::url_without(const std::string& right) const
{
    for (const auto& server : servers_) {
        server->command({"ACL", "SETUSER", "limited", "on", ">pw", "~*", "&*",
                         "+@all", "-" + right});
    }
    return url("limited:pw@");
}

std::string ClusterServers::address(std::size_t i) const
{
    return own_address() + ":" + std::to_string(ports_.at(i));
}

std::string ClusterServers::id(std::size_t i) const
{
    return servers_.at(i)->command({"CLUSTER", "MYID"}).text;
}

std::size_t ClusterServers::server_at(const std::string& address) const
{
    // With TLS, servers have a second, plain-text port, which they announce to
    // clients without TLS, such as this harness.
    for (std::size_t i = 0; i < count(); ++i) {
        if (this->address(i) == address || servers_[i]->address() == address) {
            return i;
        }
    }
    return count();
}

// id ip:port@bus[,name] flags primary ping pong epoch state slots…
std::vector<ClusterServers::Row> ClusterServers::rows(std::size_t asked) const
{
    std::vector<Row> rows;
    const auto text = servers_.at(asked)->command({"CLUSTER", "NODES"}).text;
    for (const auto& line : split(text, '\n')) {
        const auto words = split(line, ' ');
        if (words.size() < 8) {
            continue;
        }
        Row row{words[0],
                server_at(words[1].substr(0, words[1].find('@'))),
                words[2],
                words[3],
                {}};
        for (std::size_t i = 8; i < words.size(); ++i) {
            if (words[i][0] != '[') {
                const auto ends = split(words[i], '-');
                row.slots.emplace_back(std::atoi(ends.front().c_str()),
                                       std::atoi(ends.back().c_str()));
            }
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

int ClusterServers::slot_of(const std::string& key)
{
    const auto open = key.find('{');
    const auto close = key.find('}', open);
    const std::string tag = open != std::string::npos
                                    && close != std::string::npos
                                    && close > open + 1
                                ? key.substr(open + 1, close - open - 1)
                                : key;
    unsigned crc = 0;
    for (const char c : tag) {
        crc ^= static_cast<unsigned>(static_cast<unsigned char>(c)) << 8;
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc & 0x8000) != 0 ? crc << 1 ^ 0x1021 : crc << 1;
        }
    }
    return static_cast<int>(crc & (kSlots - 1));
}

std::size_t ClusterServers::owner(int slot, std::size_t asked) const
{
    for (const Row& row : rows(asked)) {
        for (const auto& [first, last] : row.slots) {
            if (slot >= first && slot <= last) {
                return row.server;
            }
        }
    }
    throw HarnessError("nobody serves slot " + std::to_string(slot));
}

std::size_t ClusterServers::replica_of(std::size_t primary) const
{
    const auto primary_id = id(primary);
    std::optional<std::size_t> found;
    // The primary hears of a replica that returns with its next ping.
    const bool has_replica = wait_until([&] {
        for (const Row& row : rows(primary)) {
            if (row.primary == primary_id && !contains(row.flags, "fail")) {
                found = row.server;
            }
        }
        return found.has_value();
    });
    if (!has_replica) {
        throw HarnessError("the primary has no replica");
    }
    return *found;
}

std::vector<int> ClusterServers::slots_of(std::size_t primary) const
{
    std::vector<int> slots;
    for (const Row& row : rows(primary)) {
        for (const auto& [first, last] : row.slots) {
            for (int slot = first; row.server == primary && slot <= last;
                 ++slot) {
                slots.push_back(slot);
            }
        }
    }
    return slots;
}

void ClusterServers::wait_for_owner(int slot, std::size_t primary) const
{
    const bool agreed = wait_until([&] {
        for (std::size_t i = 0; i < count(); ++i) {
            try {
                if (owner(slot, i) != primary
                    || !contains(servers_[i]->command({"CLUSTER", "INFO"}).text,
                                 "cluster_state:ok")) {
                    return false;
                }
            } catch (const HarnessError&) {
                if (i == primary) {
                    return false;
                }
                // The server is down.
            }
        }
        return true;
    });
    if (!agreed) {
        throw HarnessError("the Cluster does not agree on a primary");
    }
}

void ClusterServers::fail_over(std::size_t replica,
                               const std::string& how) const
{
    const auto primary = rows(replica);
    std::string old;
    for (const Row& row : primary) {
        if (row.server == replica) {
            old = row.primary;
        }
    }
    int slot = -1;
    for (const Row& row : primary) {
        if (row.id == old && !row.slots.empty()) {
            slot = row.slots.front().first;
        }
    }
    Words words = {"CLUSTER", "FAILOVER"};
    if (!how.empty()) {
        words.push_back(how);
    }
    check_ok(servers_.at(replica)->command(words));
    wait_for_owner(slot, replica);
}

void ClusterServers::begin_move(int slot, std::size_t from,
                                std::size_t to) const
{
    const auto number = std::to_string(slot);
    check_ok(servers_[to]->command(
        {"CLUSTER", "SETSLOT", number, "IMPORTING", id(from)}));
    check_ok(servers_[from]->command(
        {"CLUSTER", "SETSLOT", number, "MIGRATING", id(to)}));
}

void ClusterServers::move_key(const std::string& key, std::size_t from,
                              std::size_t to) const
{
    Words words = {"MIGRATE", own_address(), std::to_string(ports_[to]),
                   "",        "0",           "5000"};
    if (!options_.password.empty()) {
        words.insert(words.end(), {"AUTH", options_.password});
    }
    words.insert(words.end(), {"KEYS", key});
    check_ok(servers_[from]->command(words));
}

void ClusterServers::move_keys(int slot, std::size_t from, std::size_t to) const
{
    for (;;) {
        const auto keys = servers_[from]->command(
            {"CLUSTER", "GETKEYSINSLOT", std::to_string(slot), "100"});
        if (keys.items.empty()) {
            return;
        }
        for (const auto& key : keys.items) {
            move_key(key.text, from, to);
        }
    }
}

// First on the new owner, which then announces the slot with a new epoch.
void ClusterServers::end_move(int slot, std::size_t to) const
{
    const auto number = std::to_string(slot);
    const auto new_owner = id(to);
    check_ok(servers_[to]->command(
        {"CLUSTER", "SETSLOT", number, "NODE", new_owner}));
    for (std::size_t i = 0; i < count(); ++i) {
        if (i != to
            && contains(servers_[i]->command({"ROLE"}).items.at(0).text,
                        "master")) {
            check_ok(servers_[i]->command(
                {"CLUSTER", "SETSLOT", number, "NODE", new_owner}));
        }
    }
    // If the slot moves again before all servers know, a server may take an
    // older claim for a newer one.
    wait_for_owner(slot, to);
}

void ClusterServers::move_slot(int slot, std::size_t from, std::size_t to) const
{
    begin_move(slot, from, to);
    move_keys(slot, from, to);
    end_move(slot, to);
}

void ClusterServers::move_slots(const std::vector<int>& slots, std::size_t from,
                                std::size_t to) const
{
    auto source = servers_[from]->client();
    auto target = servers_[to]->client();
    const auto old_owner = id(from);
    const auto new_owner = id(to);
    for (const int slot : slots) {
        const auto number = std::to_string(slot);
        check_ok(target.command(
            {"CLUSTER", "SETSLOT", number, "IMPORTING", old_owner}));
        check_ok(source.command(
            {"CLUSTER", "SETSLOT", number, "MIGRATING", new_owner}));
        if (source.command({"CLUSTER", "COUNTKEYSINSLOT", number}).integer
            != 0) {
            move_keys(slot, from, to);
        }
        check_ok(
            target.command({"CLUSTER", "SETSLOT", number, "NODE", new_owner}));
        check_ok(
            source.command({"CLUSTER", "SETSLOT", number, "NODE", new_owner}));
    }
    wait_for_owner(slots.back(), to);
}

void ClusterServers::remove(std::size_t removed) const
{
    const auto name = id(removed);
    for (std::size_t i = 0; i < count(); ++i) {
        if (i != removed) {
            check_ok(servers_[i]->command({"CLUSTER", "FORGET", name}));
        }
    }
    check_ok(servers_[removed]->command({"CLUSTER", "RESET", "HARD"}));
}

std::size_t ClusterServers::any_running() const
{
    for (std::size_t i = 0; i < count(); ++i) {
        try {
            servers_[i]->command({"PING"});
            return i;
        } catch (const HarnessError&) {
            // Try the next one.
        }
    }
    throw HarnessError("no server of the Cluster runs");
}

Value ClusterServers::command(const Words& words) const
{
    std::size_t asked = any_running();
    for (int i = 0; i < 10; ++i) {
        Value reply;
        // A server of a new Cluster may briefly be down again.
        wait_until([&] {
            reply = servers_[asked]->command(words);
            return reply.text.rfind("CLUSTERDOWN", 0) != 0;
        });
        const auto parts = split(reply.text, ' ');
        if (reply.type != Value::Type::error || parts.size() != 3
            || parts[0] != "MOVED") {
            check_ok(reply);
            return reply;
        }
        asked = server_at(parts[2]);
        if (asked == count()) {
            throw HarnessError("the Cluster redirects to " + parts[2]);
        }
    }
    throw HarnessError("the Cluster redirects without end");
}

// An id whose keys are on this server.
std::string ClusterServers::account_on(std::size_t primary) const
{
    static int made = 0;
    const auto slots = slots_of(primary);
    for (;;) {
        const auto number = std::to_string(++made);
        const std::string id = std::string(16 - number.size(), 'A') + number;
        if (std::binary_search(slots.begin(), slots.end(), slot_of(id))) {
            return id;
        }
    }
}

Key ClusterServers::create_key(const std::vector<std::string>& arguments,
                               std::optional<std::size_t> primary) const
{
    Key key = e2e::create_key(scratch_, arguments);
    const std::string account = "petstore:account:";
    const auto made_with = account + key.account;
    if (primary) {
        key.account = account_on(*primary);
    }
    const auto copy = [this](const std::string& from, const std::string& to,
                             const Words& changed) {
        Words words = {"HSET", to};
        for (const auto& field : scratch_.command({"HGETALL", from}).items) {
            words.push_back(field.text);
        }
        words.insert(words.end(), changed.begin(), changed.end());
        command(words);
    };
    const auto name =
        scratch_.command({"KEYS", "petstore:key:*"}).items.at(0).text;
    copy(made_with, account + key.account, {"id", key.account});
    copy(name, name, {"account", key.account});
    const std::string fence = "petstore:limits";
    command({"SET", fence, scratch_.command({"GET", fence}).text});
    scratch_.command({"FLUSHALL"});
    return key;
}

Key ClusterServers::limited_key(long long per_minute,
                                std::optional<std::size_t> primary) const
{
    return create_key({"--plan", "enterprise", "--per-minute",
                       std::to_string(per_minute), "--per-day", "100000000"},
                      primary);
}

}  // namespace petstore::e2e
