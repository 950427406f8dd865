#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "allocation_faults.h"
#include "store.h"

namespace petstore::e2e {

// What is wrong with a response; empty if nothing is.
using Check = std::function<std::string(const Response&)>;

// An Error in every respect; see expect_error().
std::string wrong_error(const Response& response);
Check is_error(int status, const std::string& code);
Check is_body(int status, const std::string& body);

// An nginx whose only worker runs out of memory.
struct StarvedServer {
    explicit StarvedServer(NginxOptions options = {});

    AllocationFaults faults;
    RedisServer redis;
    // The proxy's reply to the next script, instead of Redis's.
    enum class Fault { none, close, garbage, loading };
    std::atomic<Fault> next_fault{Fault::none};
    FakeRedis proxy;  // only used with behind_proxy()
    Key key;
    NginxServer nginx;

    // Sends the request on a new connection, which ends with it. Status 0:
    // closed without a whole response.
    Response send(Http::Request request) const;
};

// The options that put the proxy between nginx and Redis.
NginxOptions behind_proxy(NginxOptions options = {});

// A request that is sent once for each of its allocations.
struct FaultCase {
    std::string name;
    std::function<Response()> send;
    Check check;                            // of the response, unless 5xx
    std::function<void()> prepare = [] {};  // called before each time
    Check check_during = {};  // the same while memory is short, if different
    // nginx itself does not survive a failure here: it dies, or never closes
    // the connection. Its pools hide that, except in the sanitized build, where
    // each piece of a pool is an allocation. In that build only operator new
    // fails.
    bool nginx_fails = false;
    // Beyond this number, allocations are only sampled.
    std::int64_t max_rounds = 200;
};

// Makes each allocation of each request fail: first one at a time, then
// together with all later ones of the request. Checks that the client gets the
// right answer, an Error with a 5xx status or no response; that the worker
// lives; that the same request succeeds right afterwards; that no descriptor is
// left open; and that nginx quits cleanly at the end.
void fail_each_allocation(StarvedServer& target,
                          const std::vector<FaultCase>& cases);

}  // namespace petstore::e2e
