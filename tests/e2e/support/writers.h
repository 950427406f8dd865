#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "store.h"

namespace petstore::e2e {

// Clients that create pets with unique names until end(). A 503 is never
// retried.
class Writers {
public:
    // `idempotent`: with an Idempotency-Key.
    Writers(const NginxServer& nginx, const Key& key, int count,
            bool idempotent = false);
    ~Writers() { end(); }
    Writers(const Writers&) = delete;
    Writers& operator=(const Writers&) = delete;

    void end();

    int acknowledged() const { return acknowledged_; }
    int refused() const { return refused_; }
    int strange() const { return strange_; }

    // Names by id. Valid after end().
    const std::map<long long, std::string>& pets() const { return pets_; }

private:
    void create(Http& http, const std::string& name);

    const bool idempotent_;
    std::atomic<bool> ending_{false};
    std::atomic<int> acknowledged_{0};
    std::atomic<int> refused_{0};
    std::atomic<int> strange_{0};
    std::mutex mutex_;
    std::map<long long, std::string> pets_;
    std::vector<std::thread> threads_;
};

// The fate of the pets, after Writers::end().
struct Stored {
    std::size_t pets = 0;
    std::size_t lost = 0;         // acknowledged but missing
    std::size_t ids_twice = 0;    // acknowledged
    std::size_t names_twice = 0;  // stored
};
Stored compare(const Writers& writers, const NginxServer& nginx,
               const Key& key);

}  // namespace petstore::e2e
