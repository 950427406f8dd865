#pragma once

#include <string>

#include "../ngx_base/ngx.h"
#include "../redis/endpoint.h"
#include "address_source.h"

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

// One Redis of the configuration. Made at configuration time, lives in the
// configuration of its cycle.
struct NodeSettings {
    redis::Endpoint endpoint;
    std::string name;  // of the endpoint, for the log: no credentials
    ngx_msec_t connect_timeout = 250;
    ngx_msec_t timeout = 500;
    TlsSettings tls;  // empty without TLS
    Addresses addresses;
};

}  // namespace petstore::ngx
