#include "map_finder.h"

#include <algorithm>
#include <utility>

#include "../ngx_base/exception_border.h"
#include "host_addresses.h"

namespace petstore::ngx_redis {

namespace {

// Far more than a Cluster has, whose servers may change their addresses.
constexpr std::size_t kMaxIdentities = 10'000;

constexpr char kOtherNode[] = "is another node than the cluster has there";

std::string name_of(const HostSettings& host)
{
    return host.host + ":" + std::to_string(host.port);
}

}  // namespace

HostSettings host_settings(const ClusterSettings& cluster,
                           const redis::ServerAddress& server)
{
    HostSettings host;
    host.host = server.host;
    host.port = server.port;
    host.fixed = numeric_address(server.host, server.port);
    host.resolver = cluster.resolver;
    host.resolver_timeout = cluster.resolver_timeout;
    return host;
}

MapFinder::MapFinder(const NodeSettings& settings, User& user,
                     const ngx_log_t& log)
    : settings_(settings), user_(user), request_(redis::SlotMap::request()),
      identity_request_(redis::node_id_request()), log_(settings.name, log),
      connection_(settings.tls, pipeline_, *this, log_,
                  redis::SlotMap::kReplyLimits),
      dialer_(connection_, *this, settings.connect_timeout,
              Dialer::TimeoutFor::address),
      event_(*this, log_.log())
{
    for (const auto& seed : settings.cluster->seeds) {
        add(seed);
    }
}

void MapFinder::find(const std::vector<redis::ServerAddress>& known) noexcept
{
    others_.clear();
    other_failure_ = false;
    const bool added = ngx_base::guarded(log_.log(), false, [&] {
        add_servers(known);
        return true;
    });
    if (!added) {
        dialer_.remove_servers_after(settings_.cluster->seeds.size());
    }
    // Random, so that a hung server does not delay every search.
    dialer_.start({&request_, &identity_request_},
                  static_cast<std::size_t>(ngx_random())
                      % dialer_.servers().size());
}

void MapFinder::add(const HostSettings& host)
{
    dialer_.add(
        {host_addresses(host, log_.log()), &settings_.endpoint, name_of(host)});
}

void MapFinder::add_servers(const std::vector<redis::ServerAddress>& known)
{
    dialer_.remove_servers_after(settings_.cluster->seeds.size());
    for (const auto& server : known) {
        const HostSettings host = host_settings(*settings_.cluster, server);
        if (host.fixed != nullptr || host.resolver != nullptr) {
            add(host);
        }
    }
}

void MapFinder::cancel() noexcept
{
    dialer_.close();
    found_.reset();
}

void MapFinder::on_no_address(const char* reason) noexcept
{
    fail({reason});
}

void MapFinder::on_failure(const Failure& failure) noexcept
{
    connection_.close();
    found_.reset();
    fail(failure);
}

// Continues with the next address of this server, or the next server.
void MapFinder::fail(const Failure& failure) noexcept
{
    other_failure_ |= failure.reason != kOtherNode;
    const char* const address = dialer_.address_text();
    if (dialer_.has_next()) {
        log_.trying_next(failure.reason, failure.error, address);
        dialer_.next();
        return;
    }
    if (!std::exchange(lost_, true)) {
        lost_at_ = ngx_current_msec;
    }
    log_.failed(failure.reason, failure.error, address, failure.cause);
    forget_replaced();
    cancel();
    user_.on_no_map();
}

Connection::Failure MapFinder::on_identity(const redis::Reply& reply) noexcept
{
    log_.identity_unknown("CLUSTER MYID", reply);
    identity_ = redis::node_id(reply);
    return ngx_base::guarded(
        log_.log(), Failure{"out of memory"}, [&]() -> Failure {
            const auto known = identities_.find(dialer_.address()->text);
            if (known == identities_.end()
                || !identity_.contradicts(known->second)
                || is_known(identity_)) {
                return {};
            }
            others_[known->first] = identity_;
            return {kOtherNode};
        });
}

// Servers of one Cluster may exchange addresses, as containers do that start
// again together.
bool MapFinder::is_known(const redis::ServerId& id) const noexcept
{
    return std::any_of(identities_.begin(), identities_.end(),
                       [&](const auto& known) { return known.second == id; });
}

// If each address has another server, the Cluster was replaced: nothing is left
// that could name the new servers. One server alone proves nothing, even if it
// answers at several addresses.
void MapFinder::forget_replaced() noexcept
{
    const bool several =
        std::any_of(others_.begin(), others_.end(), [this](const auto& other) {
            return other.second != others_.begin()->second;
        });
    if (several && !other_failure_) {
        identities_.clear();  // the next search takes their map
    }
}

// A name is compared by the IP address that is announced with it.
void MapFinder::remember(const redis::SlotMap& map)
{
    if (identities_.size() > kMaxIdentities) {
        identities_.clear();
    }
    const std::string& asked = dialer_.address()->text;
    bool is_elsewhere = false;
    for (const auto* servers : {&map.primaries(), &map.replicas()}) {
        for (const auto& server : *servers) {
            auto numeric = numeric_address(server.host, server.port);
            if (numeric == nullptr) {
                numeric = numeric_address(server.ip, server.port);
            }
            if (numeric == nullptr) {
                continue;
            }
            const std::string& address = numeric->front().text;
            identities_[address] = server.id;
            is_elsewhere |= server.id == identity_ && address != asked;
        }
    }
    // Several servers may share an address that is not their own.
    if (!is_elsewhere) {
        identities_[asked] = identity_;
    }
}

Connection::Failure
MapFinder::on_handshake_done(const redis::Reply& last) noexcept
{
    constexpr std::string_view kNoCluster =
        "ERR This instance has cluster support disabled";
    if (last.text() == kNoCluster) {
        return {"is not a node of a cluster"};
    }
    if (last.is_error()) {
        return {log_.reason("refused CLUSTER SLOTS with", last)};
    }
    return ngx_base::guarded(
        log_.log(), Failure{"out of memory"}, [&]() -> Failure {
            found_ = redis::SlotMap::parse(last, dialer_.address()->host);
            if (!found_) {
                return {"returned an invalid slot map"};
            }
            if (found_->primaries().empty()) {
                found_.reset();
                return {"reports no server with slots"};
            }
            remember(*found_);
            event_.post();
            return {};
        });
}

Connection::Failure MapFinder::on_reply(const redis::Reply&) noexcept
{
    return Connection::protocol_error();
}

void MapFinder::on_idle_close() noexcept
{
    on_failure({"connection lost"});
}

// Posted, not called while a reply is decoded, because this closes the
// connection.
void MapFinder::on_event() noexcept
{
    if (!found_) {
        if (connection_.is_open()) {
            connection_.flush();
        }
        return;
    }
    redis::SlotMap map = std::move(*found_);
    dialer_.prefer_current_address();
    cancel();
    if (std::exchange(lost_, false)) {
        log_.recovered(ngx_current_msec - lost_at_);
    }
    user_.on_map(std::move(map));
}

}  // namespace petstore::ngx_redis
