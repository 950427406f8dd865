#pragma once

#include <string>
#include <vector>

#include "actors.h"
#include "e2e/support/nginx_server.h"
#include "wire.h"

namespace petstore::e2e {

// A location of the server under random traffic.
struct Route {
    std::string prefix;  // followed by "/pets"

    // The origin of the response. `service`: the module, so everything is
    // checked. `mixed`: combined from several locations, or redirected with a
    // new status, so only HTTP itself is checked.
    enum Answers { service, mixed } answers = service;

    bool dry_run = false;
    bool gone = false;          // getPet is past its sunset
    bool refuses_post = false;  // by limit_except
    bool limits = false;        // by nginx's limit_req
    bool asks_others = false;   // a failed subrequest makes nginx return 500
    bool mirrors = false;       // so the guard checks the scope of the method
};

const std::vector<Route>& routes();
// Whole paths, all with mixed responses.
const std::vector<std::string>& pages();

// A server with these locations; everything else is random. `redis`: URLs, one
// of which nginx uses; `direct`: the URL of the Redis behind the proxy.
NginxOptions random_configuration(Random& random,
                                  const std::vector<std::string>& redis,
                                  const std::string& direct);
// The number of connections to Redis that a worker may have.
constexpr int kRedisLinks = 3;

// The addresses that clients connect to.
std::vector<Target> targets(const NginxServer& nginx, bool http2);

// Writes the files that the configuration needs.
void write_pages(const NginxServer& nginx);

}  // namespace petstore::e2e
