#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cluster_servers.h"
#include "limits.h"
#include "storm.h"

namespace petstore::e2e {

inline constexpr char kCatalogueTag[] = "{petstore:pets}";

// A Cluster of six servers, and an nginx with two workers whose responses name
// the worker. Has ten pets, "pet 1" to "pet 10".
struct ClusterWorld {
    explicit ClusterWorld(ClusterServers::Options servers = {},
                          NginxOptions options = {},
                          const std::string& credentials = "");

    static int catalogue_slot()
    {
        return ClusterServers::slot_of(kCatalogueTag);
    }
    static int slot_of(const Key& key)
    {
        return ClusterServers::slot_of(key.account);
    }
    std::size_t catalogue_server() const
    {
        return redis.owner(catalogue_slot());
    }
    // A primary that does not hold the catalogue.
    std::size_t other_primary() const;

    // GET /v1/pets over 64 connections per worker.
    Storm storm(const Key& key) const;
    // Sends enough requests to exceed the limit.
    std::vector<Answer> exhaust(const Key& key, long long limit) const;

    std::size_t lines_with(const std::string& part) const;
    bool same_workers() const { return nginx.workers() == workers_; }

    ClusterServers redis;
    Key key;
    NginxServer nginx;
    Http http;

private:
    std::vector<pid_t> workers_;
};

// Clients that continuously read pets, each with its own account, spread over
// all primaries. Each has a different limit, which reveals a response that
// belongs to another request.
class Readers {
public:
    explicit Readers(const ClusterWorld& world, int count = 6);
    ~Readers() { end(); }
    Readers(const Readers&) = delete;
    Readers& operator=(const Readers&) = delete;

    void end();

    // Returns once each has read `more` pets.
    bool continue_all(int more = 5);

    int read() const;
    int refused() const;  // 503
    int strange() const;  // anything else
    std::string first_strange();

private:
    struct Reader {
        Key key;
        long long limit = 0;
        std::atomic<int> read{0};
        std::atomic<int> refused{0};
        std::atomic<int> strange{0};
    };

    void run(Reader& reader, const std::string& url);

    std::atomic<bool> ending_{false};
    std::vector<std::unique_ptr<Reader>> readers_;
    std::mutex mutex_;
    std::string first_strange_;
    std::vector<std::thread> threads_;
};

}  // namespace petstore::e2e
