#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "e2e/support/util.h"

namespace petstore::e2e {

// A DNS server over UDP that knows one name; it can also fail or stay silent.
class DnsServer {
public:
    enum Code { no_error = 0, server_failure = 2, no_such_name = 3 };

    struct Answer {
        std::vector<std::string> addresses;  // of A records
        Code code = no_error;
        bool silent = false;  // never answers
        std::chrono::milliseconds delay{0};
    };

    explicit DnsServer(Answer answer);
    ~DnsServer();

    // Sets the answer for queries that arrive from now on.
    void set(Answer answer);

    int queries() const { return queries_; }

    // nginx's resolver directive. `more`: further parameters.
    std::string resolver(const std::string& more = "valid=1s") const;

private:
    struct Due {
        Clock::time_point at;
        std::string bytes;
        std::string client;  // the sockaddr
    };

    void run();
    void receive(std::vector<Due>& due);

    int socket_;
    int port_;
    std::mutex mutex_;
    Answer answer_;
    std::atomic<int> queries_{0};
    std::atomic<bool> ending_{false};
    std::thread thread_;
};

}  // namespace petstore::e2e
