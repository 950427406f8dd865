#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "../ngx_base/ngx.h"
#include "../redis/endpoint.h"
#include "../redis/server_id.h"
#include "host_addresses.h"

namespace petstore::ngx_redis {

// The TLS settings of a node with a rediss:// URL.
struct TlsSettings {
    bool verify = true;
    std::string name;  // expected in the certificate, and SNI; empty for the
                       // host of the address
    std::string trusted_certificate;  // file; empty for the system's CA store
    std::string certificate;          // file of the client's; empty for none
    std::string certificate_key;

    // Created from the settings above, owned by the cycle's pool. nullptr
    // without TLS.
    ngx_ssl_t* context = nullptr;

    // Whether both can share a context.
    bool operator==(const TlsSettings& other) const noexcept
    {
        return verify == other.verify && name == other.name
               && trusted_certificate == other.trusted_certificate
               && certificate == other.certificate
               && certificate_key == other.certificate_key;
    }
};

// The Sentinels that know the primary of some nodes. Created at configuration
// time.
struct SentinelSettings {
    struct Sentinel {
        redis::Endpoint login;  // without a database
        HostSettings host;

        bool operator==(const Sentinel& other) const noexcept
        {
            return login == other.login && host == other.host;
        }
    };
    std::string name;          // of the deployment, for the log; no credentials
    std::string primary_name;  // as the Sentinels know it
    std::vector<Sentinel> sentinels;  // at least one
    ngx_msec_t connect_timeout = 250;
    ngx_msec_t timeout = 500;
    TlsSettings tls;  // empty without TLS

    // For servers that Sentinels identify by host name; nullptr if there is
    // none.
    ngx_resolver_t* resolver = nullptr;
    ngx_msec_t resolver_timeout = 0;

    bool operator==(const SentinelSettings& other) const noexcept
    {
        return primary_name == other.primary_name
               && sentinels == other.sentinels
               && connect_timeout == other.connect_timeout
               && timeout == other.timeout && tls == other.tls
               && resolver == other.resolver
               && resolver_timeout == other.resolver_timeout;
    }
};

// How to find the servers of a Cluster. Created at configuration time.
struct ClusterSettings {
    std::vector<HostSettings> seeds;  // at least one

    // For servers that announce a name; nullptr if there is none.
    ngx_resolver_t* resolver = nullptr;
    ngx_msec_t resolver_timeout = 0;

    bool operator==(const ClusterSettings& other) const noexcept
    {
        return seeds == other.seeds && resolver == other.resolver
               && resolver_timeout == other.resolver_timeout;
    }
};

// One configured Redis. Created at configuration time; lives in the
// configuration of its cycle.
struct NodeSettings {
    // Has no address with Sentinels or a Cluster.
    redis::Endpoint endpoint;
    std::string name;  // for the log; no credentials
    ngx_msec_t connect_timeout = 250;
    ngx_msec_t timeout = 500;
    TlsSettings tls;  // empty without TLS
    HostSettings host;

    // Index in MainConf::sentinels; if set, instead of `host`.
    std::optional<std::size_t> sentinels;

    // If set, instead of `host`: these are the settings of all its servers.
    std::optional<ClusterSettings> cluster;

    // It is a server of a Cluster, where a replica redirects instead of
    // answering.
    bool redirects = false;

    // As such a server: its id in the Cluster, as far as known.
    redis::ServerId node_id{};

    // Whether both are the same as configured, so that they can share
    // connections.
    bool operator==(const NodeSettings& other) const noexcept
    {
        return endpoint == other.endpoint && name == other.name
               && connect_timeout == other.connect_timeout
               && timeout == other.timeout && tls == other.tls
               && host == other.host && sentinels == other.sentinels
               && cluster == other.cluster;
    }
};

}  // namespace petstore::ngx_redis
