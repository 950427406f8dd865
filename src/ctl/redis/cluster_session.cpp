#include "cluster_session.h"

#include <algorithm>
#include <utility>

#include "../../redis/error_table.h"
#include "../exit.h"
#include "server_session.h"

namespace petstore::ctl {

namespace {

// After this many redirects of a command, waits before following another: the
// servers contradict each other, as during a failover.
constexpr int kRedirectsAtOnce = 5;

// Whether some of the command's keys have moved and others have not. Our
// scripts then change nothing. A script that does not find keys which it does
// not declare reports damage.
bool is_of_moving_slot(const redis::Reply& error, bool asked)
{
    const std::string_view code = error.error_code();
    return code == "TRYAGAIN"
           || redis::error_row(error.text()).code == redis::kForeignKey
           || (asked && code == "DAMAGED");
}

}  // namespace

// A command whose reply was not delivered yet.
struct ClusterSession::Pending {
    explicit Pending(const redis::Command& original)
        : command(original.owned()), key(command.routing_key())
    {
        if (!key.empty()) {
            slot = redis::hash_slot(key);
        }
    }

    const redis::Command command;
    const std::string key;  // empty: any server will do
    std::uint16_t slot = 0;
    Node* node = nullptr;  // the command was sent to it
    // The reply, if it arrived before that of an earlier command.
    std::unique_ptr<redis::ReplyCopy> early;
    bool asked = false;  // with ASKING
    int redirects = 0;
    Deadline deadline;
};

struct ClusterSession::Node {
    redis::ServerAddress address;
    OpenConnection open;
    // Commands whose replies are due, in order; nullptr for ASKING.
    std::deque<Pending*> due;
};

ClusterSession::ClusterSession(std::unique_ptr<ClusterServers> servers)
    : servers_(std::move(servers)), map_(servers_->find_map())
{}

ClusterSession::~ClusterSession() = default;

void ClusterSession::send(const redis::Command& command)
{
    pending_.push_back(std::make_unique<Pending>(command));
    try {
        route(*pending_.back());
    } catch (const Failure&) {
        reset();
        throw;
    }
}

void ClusterSession::flush()
{
    try {
        write_all();
    } catch (const Failure&) {
        reset();
        throw;
    }
}

void ClusterSession::write_all()
{
    for (Node& node : nodes_) {
        try {
            node.open.connection.flush();
        } catch (const redis::NotSent& error) {
            // Other servers may have executed their commands.
            throw LostConnection(node.open.where + ": " + error.what(),
                                 pending_.size() > 1);
        } catch (const redis::ConnectionError& error) {
            throw LostConnection(node.open.where + ": " + error.what(), true);
        }
    }
}

const redis::Reply& ClusterSession::receive_any()
{
    Pending& pending = *pending_.front();
    try {
        for (;;) {
            const redis::Reply& reply = await(pending);
            if (reply.is_error() && repeat(pending, reply)) {
                continue;
            }
            where_ = pending.node->open.where;
            host_ = pending.node->address.host;
            delivered_ = std::move(pending_.front());
            pending_.pop_front();
            return reply;
        }
    } catch (const Failure&) {
        reset();
        throw;
    }
}

// Waits for the reply to the command. Keeps replies to other commands that
// arrive before it.
const redis::Reply& ClusterSession::await(Pending& pending)
{
    if (pending.early) {
        return pending.early->get();
    }
    write_all();
    Node& node = *pending.node;
    try {
        for (;;) {
            const redis::Reply& reply = node.open.connection.get();
            Pending* const first = node.due.front();
            node.due.pop_front();
            if (first == &pending) {
                return reply;
            }
            if (first != nullptr) {
                first->early = std::make_unique<redis::ReplyCopy>(reply);
            }
        }
    } catch (const redis::ConnectionError& error) {
        throw LostConnection(node.open.where + ": " + error.what(), true);
    }
}

// Sends the command again if this reply allows it. Returns whether it did.
bool ClusterSession::repeat(Pending& pending, const redis::Reply& error)
{
    const auto redirect =
        redis::Redirect::parse(error, pending.node->address.host);
    const std::string_view code = error.error_code();
    if (redirect) {
        if (++pending.redirects > kRedirectsAtOnce
            && !may_wait(pending.deadline)) {
            return false;
        }
        pending.early.reset();
        const bool moved = redirect->kind == redis::Redirect::Kind::moved;
        redis::ServerAddress there = redirect->address;
        if (map_) {
            there.id = map_->id_at(there);
        }
        if (moved && map_) {
            map_->move(redirect->slot, there);
        }
        route(pending, there, !moved);
        return true;
    }
    const bool down = code == "CLUSTERDOWN";
    if (!down && !is_of_moving_slot(error, pending.asked)) {
        return false;
    }
    if (!may_wait(pending.deadline)) {
        return false;
    }
    pending.early.reset();
    if (down) {
        map_.reset();
    }
    route(pending);
    return true;
}

// Waits before another attempt. False once the patience is exhausted.
bool ClusterSession::may_wait(Deadline& deadline)
{
    const auto now = servers_->now();
    if (!deadline) {
        deadline = now + kPatience;
    }
    if (now >= *deadline) {
        return false;
    }
    servers_->pause();
    return true;
}

redis::ServerAddress ClusterSession::address_for(const Pending& pending)
{
    if (!pending.key.empty()) {
        return primary_of(pending.slot);
    }
    return nodes_.empty() ? any_primary() : nodes_.front().address;
}

redis::ServerAddress ClusterSession::primary_of(std::uint16_t slot)
{
    if (!map_) {
        map_ = servers_->find_map();
    }
    if (const auto primary = map_->primary_of(slot)) {
        return map_->primaries()[*primary];
    }
    throw NotServing("no server of the cluster serves the slot "
                     + std::to_string(slot));
}

// The first one that serves.
redis::ServerAddress ClusterSession::any_primary()
{
    if (!map_) {
        map_ = servers_->find_map();
    }
    std::string problem;
    for (const redis::ServerAddress& primary : map_->primaries()) {
        try {
            return node(primary).address;
        } catch (const NotServing& away) {
            problem = away.what();
        }
    }
    throw NotServing(problem);
}

// Waits only once for servers that are away: further keys may have the same.
bool ClusterSession::serves(std::string_view key)
{
    const std::uint16_t slot = redis::hash_slot(key);
    for (;;) {
        redis::ServerAddress primary;
        try {
            primary = primary_of(slot);
            if (std::find(away_.begin(), away_.end(), primary) != away_.end()) {
                return false;
            }
            node(primary);
            return true;
        } catch (const NotServing&) {
            if (!may_wait(serves_by_)) {
                if (primary != redis::ServerAddress()) {
                    away_.push_back(std::move(primary));
                }
                return false;
            }
            map_.reset();
        }
    }
}

ClusterSession::Node& ClusterSession::node(const redis::ServerAddress& address)
{
    for (Node& node : nodes_) {
        if (node.address == address) {
            return node;
        }
    }
    nodes_.push_back({address, servers_->connect(address), {}});
    return nodes_.back();
}

// Sends the command to the primary of its slot. Waits until there is one.
void ClusterSession::route(Pending& pending)
{
    for (;;) {
        try {
            return route(pending, address_for(pending), false);
        } catch (const NotServing&) {
            if (!may_wait(pending.deadline)) {
                throw;
            }
            map_.reset();
        }
    }
}

void ClusterSession::route(Pending& pending,
                           const redis::ServerAddress& address, bool ask)
{
    Node* there = nullptr;
    try {
        there = &node(address);
    } catch (const NotServing&) {
        if (!may_wait(pending.deadline)) {
            throw;
        }
        map_.reset();
        return route(pending);
    }
    if (ask) {
        there->open.connection.append(redis::Command("ASKING"));
        there->due.push_back(nullptr);
    }
    there->open.connection.append(pending.command);
    there->due.push_back(&pending);
    pending.asked = ask;
    pending.node = there;
}

void ClusterSession::each_server(const Visit& visit)
{
    const auto before = settled_map();
    for (const redis::ServerAddress& primary : before.primaries()) {
        ServerSession session(servers_->connect(primary));
        visit(session);
    }
    // A key that moved in between may have been missed.
    const auto after = settled_map();
    for (int i = 0; i < redis::kHashSlots; ++i) {
        const auto slot = static_cast<std::uint16_t>(i);
        const auto was = before.primary_of(slot);
        const auto is = after.primary_of(slot);
        if (!was || !is || before.primaries()[*was] != after.primaries()[*is]) {
            throw Failure(
                "slots of the cluster have moved, or have no server: run the command again");
        }
    }
}

// Throws Failure while a slot moves from one server to another.
redis::SlotMap ClusterSession::settled_map()
{
    auto map = servers_->find_map();
    for (const redis::ServerAddress& primary : map.primaries()) {
        ServerSession session(servers_->connect(primary));
        session.send(redis::Command("CLUSTER").arg("NODES"));
        const redis::Reply& reply = session.receive_any();
        // "[93->-ID]", on the line of the server itself.
        if (reply.text().find(" [") != std::string_view::npos) {
            throw Failure(
                "slots of the cluster are being moved: complete that first");
        }
    }
    return map;
}

int ClusterSession::descriptor(std::string_view key) const noexcept
{
    const auto primary =
        map_ ? map_->primary_of(redis::hash_slot(key)) : std::nullopt;
    for (const Node& node : nodes_) {
        if (primary && node.address == map_->primaries()[*primary]) {
            return node.open.connection.descriptor();
        }
    }
    return -1;
}

// Closes all connections, so that no late reply is mistaken for another one's.
void ClusterSession::reset()
{
    pending_.clear();
    nodes_.clear();
    map_.reset();
}

}  // namespace petstore::ctl
