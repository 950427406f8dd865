#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "chaos/allocation_faults.h"
#include "store.h"

namespace petstore::e2e {

// Returns what is wrong with a response; empty if nothing is.
using Check = std::function<std::string(const Response&)>;

// A complete check of an Error; see expect_error().
std::string wrong_error(const Response& response);
Check is_error(int status, const std::string& code);
Check is_body(int status, const std::string& body);

// An nginx whose only worker runs out of memory.
struct StarvedServer {
    explicit StarvedServer(NginxOptions options = {});

    AllocationFaults faults;
    RedisServer redis;
    // Replaces the reply of Redis to the next script.
    enum class Fault { none, close, garbage, loading };
    std::atomic<Fault> next_fault{Fault::none};
    FakeRedis proxy;  // only used with behind_proxy()
    Key key;
    NginxServer nginx;

    // Sends the request on a new connection, closed afterwards. Status 0: it
    // was closed without a complete response.
    Response send(Http::Request request) const;
};

// Options that put the proxy between nginx and Redis.
NginxOptions behind_proxy(NginxOptions options = {});

// A request that is repeated for each of its allocations.
struct FaultCase {
    std::string name;
    std::function<Response()> send;
    Check check;                            // of the response, unless 5xx
    std::function<void()> prepare = [] {};  // called before each request
    Check check_during = {};  // while memory is short, if different
    // nginx itself does not survive a failure here: it crashes, or never closes
    // the connection. Its pools hide that, except in the sanitized build, where
    // each piece of a pool is an allocation. In that build only operator new
    // fails.
    bool nginx_fails = false;
    // If there are more allocations, only a sample fails.
    std::int64_t max_rounds = 200;
};

// Makes each allocation of each request fail: first alone, then with all later
// ones of the request. Checks that the client gets the right response, an Error
// with a 5xx status or no response; that the worker survives; that the same
// request succeeds right afterwards; that no descriptor leaks; and that nginx
// exits cleanly.
void fail_each_allocation(StarvedServer& target,
                          const std::vector<FaultCase>& cases);

}  // namespace petstore::e2e
