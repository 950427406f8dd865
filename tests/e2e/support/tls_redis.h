#pragma once

#include <string>
#include <vector>

#include "certificates.h"
#include "store.h"

namespace petstore::e2e {

// A redis-server with TLS on a separate port. Its certificate is server.crt.
struct TlsRedis {
    // The host name for certificates.
    static constexpr const char* kName = "redis.test";

    explicit TlsRedis(const std::string& names = "DNS:redis.test",
                      const std::vector<std::string>& more = {},
                      bool expired = false);

    std::string url(const std::string& host = own_address()) const;

    // The directive that makes nginx trust the authority.
    std::string trusted() const;

    // Options that connect to kName, which resolves to our address.
    NginxOptions by_name(const std::string& http = "") const;

    Http http(const NginxServer& nginx) const
    {
        return Http(nginx.url(), key.secret);
    }

    CertificateAuthority ca;
    int port;
    RedisServer redis;
    Key key;

private:
    std::vector<std::string> config(const std::string& names,
                                    const std::vector<std::string>& more,
                                    bool expired) const;
};

}  // namespace petstore::e2e
