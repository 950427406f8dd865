#pragma once

#include <string>
#include <vector>

#include "certificates.h"
#include "store.h"

namespace petstore::e2e {

// redis-server with TLS on a port of its own. Its certificate is server.crt.
struct TlsRedis {
    // A name for certificates.
    static constexpr const char* kName = "redis.test";

    explicit TlsRedis(const std::string& names = "DNS:redis.test",
                      const std::vector<std::string>& more = {},
                      bool expired = false);

    std::string url(const std::string& host = own_address()) const;

    // The directive for nginx.
    std::string trusted() const;

    // By kName, which resolves to our address.
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
