#include "tls_redis.h"

namespace petstore::e2e {

TlsRedis::TlsRedis(const std::string& names,
                   const std::vector<std::string>& more, bool expired)
    : port(free_port()), redis(config(names, more, expired)),
      key(create_key(redis))
{}

std::vector<std::string> TlsRedis::config(const std::string& names,
                                          const std::vector<std::string>& more,
                                          bool expired) const
{
    ca.issue("server", names, expired);
    std::vector<std::string> lines = {"tls-port " + std::to_string(port),
                                      "tls-cert-file " + ca.file("server.crt"),
                                      "tls-key-file " + ca.file("server.key"),
                                      "tls-ca-cert-file " + ca.certificate(),
                                      "tls-auth-clients no"};
    lines.insert(lines.end(), more.begin(), more.end());
    return lines;
}

std::string TlsRedis::url(const std::string& host) const
{
    return "rediss://" + host + ":" + std::to_string(port);
}

std::string TlsRedis::trusted() const
{
    return "petstore_redis_ssl_trusted_certificate " + ca.certificate() + "; ";
}

NginxOptions TlsRedis::by_name(const std::string& http) const
{
    NginxOptions options;
    options.redis = url(kName);
    options.env = host_with_addresses(kName, {own_address()});
    options.http = http.empty() ? trusted() : http;
    return options;
}

}  // namespace petstore::e2e
