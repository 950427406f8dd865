#include "cluster.h"

#include <algorithm>
#include <utility>

#include "../ngx_base/exception_border.h"
#include "../redis/backoff.h"
#include "host_addresses.h"

namespace petstore::ngx_redis {

namespace {

// A server that is not in the map may still get commands while slots move to or
// from it. It is closed after a period without commands that is longer than a
// command may take.
constexpr ngx_msec_t kRetireEvery = 5000;

// The most servers that are no primaries of the map: new ones, to which slots
// are moving, and those of an earlier map. Each has a connection with its
// buffers, and a faulty node could redirect to ever new ones.
constexpr std::ptrdiff_t kMaxOutsideMap = 64;

// Selects the longest back-off, because a search asks all servers.
constexpr unsigned kManyFailures = 10;

}  // namespace

struct Cluster::Server {
    Server(const redis::ServerAddress& server,
           const NodeSettings& node_settings,
           std::unique_ptr<AddressSource> source, redis::Scheduler& scheduler,
           metrics::RedisMeter meter, const ngx_log_t& log)
        : address(server), settings(node_settings),
          node(settings, std::move(source), scheduler, meter, log)
    {}

    const redis::ServerAddress address;
    NodeSettings settings;
    Node node;
    bool in_map = false;
    bool used = true;  // in this period
};

Cluster::Cluster(const NodeSettings& settings, redis::Scheduler& scheduler,
                 metrics::RedisMeters& meters, const ngx_log_t& log)
    : settings_(settings), scheduler_(scheduler), meters_(meters),
      meter_(meters.meter(settings.name)), counted_(meter_.links),
      worker_log_(log), log_(settings.name, log), finder_(settings, *this, log),
      alarm_(log_.log(), ngx_base::OnExit::delay),
      link_(*this, alarm_, settings.timeout),
      next_search_(*this, log_.log(), ngx_base::OnExit::cancel),
      search_(*this, log_.log()), connections_(*this, log_.log()),
      retirement_(*this, log_.log(), ngx_base::OnExit::cancel)
{}

Cluster::~Cluster() = default;

void Cluster::close() noexcept
{
    closed_ = true;
    finder_.cancel();
    link_.close();
    for (const auto& server : servers_) {
        server->node.close();
    }
    alarm_.stop();
    next_search_.stop();
    retirement_.stop();
}

Cluster::Server*
Cluster::find(const redis::ServerAddress& address) const noexcept
{
    const auto found =
        std::find_if(servers_.begin(), servers_.end(), [&](const auto& server) {
            return server->address == address;
        });
    return found == servers_.end() ? nullptr : found->get();
}

redis::Link* Cluster::link_to(const redis::ServerAddress& address) noexcept
{
    Server* server = find(address);
    if (server == nullptr && !taking_map_ && has_many_outside_map()) {
        log_.too_many_servers();
        return nullptr;
    }
    if (server == nullptr) {
        server = ngx_base::guarded(log_.log(), static_cast<Server*>(nullptr),
                                   [&] { return add(address); });
    }
    if (server == nullptr) {
        return nullptr;
    }
    server->used = true;
    if (!server->in_map && !taking_map_ && !retirement_.running()) {
        retirement_.start(kRetireEvery + settings_.timeout);
    }
    return &server->node;
}

bool Cluster::has_many_outside_map() const noexcept
{
    return std::count_if(servers_.begin(), servers_.end(),
                         [](const auto& server) { return !server->in_map; })
           >= kMaxOutsideMap;
}

// nullptr if the address is a name and there is no resolver.
Cluster::Server* Cluster::add(const redis::ServerAddress& address)
{
    NodeSettings settings = settings_;
    settings.cluster.reset();
    settings.redirects = true;
    settings.endpoint.host = address.host;
    settings.endpoint.port = address.port;
    settings.node_id = address.id;
    settings.name = settings.endpoint.display();
    settings.host = host_settings(*settings_.cluster, address);
    if (settings.host.fixed == nullptr && settings.host.resolver == nullptr) {
        log_.needs_resolver(address);
        return nullptr;
    }
    auto source = host_addresses(settings.host, log_.log());
    servers_.push_back(std::make_unique<Server>(
        address, settings, std::move(source), scheduler_,
        meters_.meter(settings.name), worker_log_));
    return servers_.back().get();
}

void Cluster::keep(const std::vector<redis::ServerAddress>& primaries) noexcept
{
    bool others = false;
    for (const auto& server : servers_) {
        const auto primary =
            std::find(primaries.begin(), primaries.end(), server->address);
        server->in_map = primary != primaries.end();
        others |= !server->in_map;
        if (server->in_map && !primary->id.empty()
            && primary->id != server->settings.node_id) {
            server->settings.node_id = primary->id;
        }
    }
    connections_.post();
    if (others && !retirement_.running()) {
        retirement_.start(kRetireEvery + settings_.timeout);
    }
}

void Cluster::check_connections() noexcept
{
    for (const auto& server : servers_) {
        server->node.check_identity();
        if (server->in_map) {
            server->node.warm_up();
        }
    }
}

void Cluster::retire() noexcept
{
    retired_.clear();
    bool others = false;
    for (auto server = servers_.begin(); server != servers_.end();) {
        const bool needed =
            (*server)->in_map || std::exchange((*server)->used, false);
        others |= !(*server)->in_map;
        if (needed) {
            ++server;
            continue;
        }
        (*server)->node.close();
        // Not destroyed yet: tasks of this event-loop iteration still need it.
        const bool moved = ngx_base::guarded(log_.log(), false, [&] {
            retired_.push_back(nullptr);
            return true;
        });
        if (moved) {
            retired_.back() = std::move(*server);
            server = servers_.erase(server);
        } else {
            ++server;
        }
    }
    if (others) {
        retirement_.start(kRetireEvery + settings_.timeout);
    }
}

void Cluster::search() noexcept
{
    if (closed_) {
        return;
    }
    const bool started = ngx_base::guarded(log_.log(), false, [this] {
        std::vector<redis::ServerAddress> known;
        for (const auto& server : servers_) {
            known.push_back(server->address);
        }
        if (link_.map() != nullptr) {
            // They know the map if all primaries are lost.
            const auto& replicas = link_.map()->replicas();
            known.insert(known.end(), replicas.begin(), replicas.end());
        }
        finder_.find(known);
        return true;
    });
    if (!started) {
        on_no_map();
    }
}

// Without a map, requests fail at once while the search continues.
void Cluster::on_no_map() noexcept
{
    meter_.redis.add(metrics::FailureCause::resolve);
    link_.on_no_map();
    counted_.set_down(link_.map() == nullptr);
    if (link_.map() == nullptr && !closed_ && !next_search_.running()) {
        next_search_.start(redis::Backoff::delay(
            kManyFailures, static_cast<std::uint64_t>(ngx_random())));
    }
}

void Cluster::on_map(redis::SlotMap map) noexcept
{
    counted_.set_down(false);
    taking_map_ = true;
    link_.on_map(std::move(map));
    taking_map_ = false;
}

void Cluster::queue_full() noexcept
{
    meter_.redis.rejections.add();
    log_.refused();
    log_.report_refused();
}

void Cluster::command_failed(const redis::Reply& error) noexcept
{
    meter_.redis.add(metrics::FailureCause::error);
    log_.warning_reply(error);
}

}  // namespace petstore::ngx_redis
