#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "util.h"

namespace petstore::e2e {

// One response of a storm. Missing or repeated numbers are -1.
struct Answer {
    int port = 0;
    int status = 0;
    long long limit = -1;
    long long remaining = -1;
    long long reset = -1;
    long long retry_after = -1;
    long long worker = -1;  // X-Worker, see Hosts
    std::string code;       // of an Error
};

// Many requests over many connections at once, from one thread. All connections
// send before the first response is read; each sends its next request after a
// response.
struct Storm {
    std::vector<int> ports;  // of own_address()
    int connections = 64;    // to each of them
    int pipeline = 1;        // requests in flight per connection
    std::string request;     // the bytes of one request

    // Connections that ended before the first byte of a response. The request
    // is repeated on a new one, as clients do when a server closes an idle
    // connection.
    int repeated = 0;

    // Sends this many requests.
    std::vector<Answer> run(std::size_t requests);
    // Sends requests until `enough`, which is called with every response,
    // returns true; then waits for the outstanding ones.
    std::vector<Answer>
    run_until(const std::function<bool(const Answer&)>& enough);

private:
    std::vector<Answer> run(std::size_t requests,
                            const std::function<bool(const Answer&)>& enough);
};

// Repeats an action in a thread until end() or destruction. end() rethrows its
// exception.
class Meanwhile {
public:
    Meanwhile(std::chrono::milliseconds pause, std::function<void()> what);
    ~Meanwhile();
    void end();
    int times() const;  // done so far

private:
    std::function<void()> what_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    bool ending_ = false;
    int times_ = 0;
    std::exception_ptr problem_;
    std::thread thread_;
};

}  // namespace petstore::e2e
