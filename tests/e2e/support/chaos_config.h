#pragma once

#include <string>
#include <vector>

#include "chaos.h"
#include "nginx_server.h"
#include "wire.h"

namespace petstore::e2e {

// A location of the server under random traffic.
struct Route {
    std::string prefix;  // where "/pets" follows

    // Of whom the answer is. `service`: of the module, with all that belongs to
    // it. `mixed`: put together from several locations, or redirected with a
    // status of its own, so only HTTP itself is certain.
    enum Answers { service, mixed } answers = service;

    bool dry_run = false;
    bool gone = false;          // getPet is over
    bool refuses_post = false;  // by limit_except
    bool limits = false;        // by nginx's limit_req
    bool asks_others = false;   // a subrequest's failure is a 500 of nginx
};

const std::vector<Route>& routes();
// Whole paths, all of them mixed.
const std::vector<std::string>& pages();

// The server with these locations; everything else is chosen at random.
// `redis`: URLs, one of which nginx uses; `direct`: of the Redis behind.
NginxOptions random_configuration(Random& random,
                                  const std::vector<std::string>& redis,
                                  const std::string& direct);
// How many connections to Redis a worker may have with it.
constexpr int kRedisLinks = 3;

// How clients reach it.
std::vector<Target> targets(const NginxServer& nginx, bool http2);

// Files that the configuration needs.
void write_pages(const NginxServer& nginx);

}  // namespace petstore::e2e
