#include "cluster.h"

#include <algorithm>
#include <string>
#include <utility>

#include "../exit.h"

namespace petstore::ctl {

namespace {

std::uint64_t count(std::chrono::milliseconds time)
{
    return static_cast<std::uint64_t>(time.count());
}

}  // namespace

struct Cluster::Node {
    Node(Cluster& owner, const redis::ServerAddress& address)
        : server(address),
          link(owner.pump_, [this, &owner] { return owner.connect(server); })
    {}

    redis::ServerAddress server;
    ServerLink link;
};

Cluster::Cluster(Pump& pump, std::unique_ptr<ClusterServers> servers)
    : pump_(pump), servers_(std::move(servers)),
      link_(*this, *this, count(kPatience),
            redis::RedirectPolicy::Persistence::until_deadline)
{
    link_.on_map(servers_->find_map());
    pump_.add(*this);
}

Cluster::~Cluster()
{
    pump_.remove(*this);
    link_.close();
}

ServerLink& Cluster::any_server()
{
    for (Node& node : nodes_) {
        if (node.link.is_open()) {
            return node.link;
        }
    }
    std::string problem;
    const auto servers = map();
    for (const redis::ServerAddress& primary : servers.primaries()) {
        try {
            ServerLink& link = node(primary).link;
            link.open();
            return link;
        } catch (const NotServing& away) {
            problem = away.what();
        }
    }
    throw NotServing(problem);
}

Cluster::Node& Cluster::node(const redis::ServerAddress& server)
{
    for (Node& node : nodes_) {
        if (node.server == server) {
            node.server.id = server.id;
            return node;
        }
    }
    return nodes_.emplace_back(*this, server);
}

std::uint64_t Cluster::now() const noexcept
{
    return count(std::chrono::duration_cast<std::chrono::milliseconds>(
        pump_.now().time_since_epoch()));
}

void Cluster::set(redis::Alarm::User& user, std::uint64_t time) noexcept
{
    alarm_user_ = &user;
    alarm_ = Pump::Time(std::chrono::milliseconds(time));
}

redis::Link* Cluster::link_to(const redis::ServerAddress& primary) noexcept
{
    try {
        return &node(primary).link;
    } catch (...) {
        return nullptr;
    }
}

// Searches here, outside of all handlers.
void Cluster::write() noexcept
{
    if (!std::exchange(searches_, false)) {
        return;
    }
    try {
        link_.on_map(servers_->find_map());
        return;
    } catch (const NotServing&) {
        pump_.failed(std::current_exception(), true);
    } catch (...) {
        pump_.failed(std::current_exception());
    }
    link_.on_no_map();
}

pollfd Cluster::waits_for(Pump::Time& until) const noexcept
{
    until = std::min({until, searches_ ? Pump::Time::min() : alarm_,
                      closed_ ? Pump::Time::max() : pump_.last_time()});
    return {-1, 0, 0};
}

void Cluster::proceed(bool /*ready*/) noexcept
{
    if (!closed_ && pump_.now() >= pump_.last_time()) {
        closed_ = true;
        link_.close();  // ends what would be tried again
    }
    if (pump_.now() >= alarm_) {
        alarm_ = Pump::Time::max();
        alarm_user_->on_alarm();
    }
}

}  // namespace petstore::ctl
