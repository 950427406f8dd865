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

// What one answer of a storm said. A number that did not stand there, or not
// once, is -1.
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

// Many requests over many connections at once, by one thread: all are written
// before the first answer is read, and whoever has its answer asks again.
struct Storm {
    std::vector<int> ports;  // of own_address()
    int connections = 64;    // to each of them
    int pipeline = 1;        // requests on the way on a connection
    std::string request;     // the bytes of one request

    // A connection that ends before the first byte of its answer is made
    // again and the request repeated, as every client does when a server closes
    // an idle connection. Counted here.
    int repeated = 0;

    // So many requests.
    std::vector<Answer> run(std::size_t requests);
    // Until `enough`, which sees every answer, says so; then until all that is
    // on its way is answered.
    std::vector<Answer>
    run_until(const std::function<bool(const Answer&)>& enough);

private:
    std::vector<Answer> run(std::size_t requests,
                            const std::function<bool(const Answer&)>& enough);
};

// Does something again and again in a thread of its own, until it ends or is
// destroyed. What it throws is thrown again by end().
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
