#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "../ngx_base/ngx.h"
#include "../redis/endpoint.h"
#include "host_addresses.h"

namespace petstore::ngx {

// How a node of a rediss:// URL is reached.
struct TlsSettings {
    bool verify = true;
    std::string name;  // expected in the certificate, and SNI; empty for the
                       // host of the address
    std::string trusted_certificate;  // file; empty for the system's CA store
    std::string certificate;          // file of the client's; empty for none
    std::string certificate_key;

    // Made from the above, owned by the cycle's pool. nullptr without TLS.
    ngx_ssl_t* context = nullptr;

    // Whether one context serves both.
    bool operator==(const TlsSettings& other) const noexcept
    {
        return verify == other.verify && name == other.name
               && trusted_certificate == other.trusted_certificate
               && certificate == other.certificate
               && certificate_key == other.certificate_key;
    }
};

// The Sentinels that know the primary of some nodes. Made at configuration
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
    std::string name;          // of the deployment, for the log: no credentials
    std::string primary_name;  // for the Sentinels
    std::vector<Sentinel> sentinels;  // at least one
    ngx_msec_t connect_timeout = 250;
    ngx_msec_t timeout = 500;
    TlsSettings tls;  // empty without TLS

    // For servers that Sentinels name by host; nullptr if there is none.
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

// One Redis of the configuration. Made at configuration time, lives in the
// configuration of its cycle.
struct NodeSettings {
    redis::Endpoint endpoint;  // with Sentinels without an address
    std::string name;          // for the log: no credentials
    ngx_msec_t connect_timeout = 250;
    ngx_msec_t timeout = 500;
    TlsSettings tls;  // empty without TLS
    HostSettings host;
    // Index in MainConf::sentinels; if set, instead of `host`.
    std::optional<std::size_t> sentinels;
};

}  // namespace petstore::ngx
