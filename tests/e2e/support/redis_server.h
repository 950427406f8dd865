#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "process.h"
#include "redis_client.h"
#include "util.h"

namespace petstore::e2e {

// PETSTORE_REDIS_SERVER, or else redis-server.
std::string redis_binary();

// A real redis-server with its own folder, unix socket and port. Data, and what
// CONFIG REWRITE has saved, survive stop, kill and start. With a line "sentinel
// ..." in its configuration it is a Sentinel, which has no data.
class RedisServer {
public:
    enum class Start { now, later };

    // `config`: further lines of redis.conf. `env`: added to the environment.
    explicit RedisServer(
        std::vector<std::string> config = {}, Start start = Start::now,
        std::vector<std::pair<std::string, std::string>> env = {});
    ~RedisServer();

    void start();
    void stop();       // SIGTERM, waits
    void kill_hard();  // SIGKILL, waits
    void restart();
    void lose_data();  // deletes all files of a stopped server
    // Exchanges the data, and the nodes of a Cluster, of two stopped servers.
    void exchange_data(RedisServer& other) const;
    void pause() const;   // SIGSTOP: connections stay, no replies
    void resume() const;  // SIGCONT

    const std::string& socket() const noexcept { return socket_; }
    int port() const noexcept { return port_; }
    std::string url() const { return "unix:" + socket_; }
    std::string address() const;  // host:port
    std::string tcp_url() const;

    // Runs a command over a new connection, which is then closed.
    Value command(const Words& words) const;
    RedisClient client() const;
    std::int64_t info(const std::string& field) const;

private:
    void write_config(const std::string& file, bool is_sentinel) const;
    void authenticate(RedisClient& client) const;

    TempDir dir_;
    std::vector<std::string> config_;
    std::vector<std::pair<std::string, std::string>> env_;
    std::string password_;
    std::string socket_;
    int port_ = 0;
    Process process_;
};

// Records the commands that Redis executes from now on.
class Monitor {
public:
    explicit Monitor(const RedisServer& redis);

    struct Command {
        std::string name;  // upper case
        std::string line;  // as Redis printed it
        double time = 0;   // seconds, by Redis's clock
        bool from_script = false;
        bool role_check = false;  // INFO replication
        bool host_task = false;   // for plans, or the probe of a usage
    };

    // All commands so far, except the harness's own. Waits for a mark that it
    // sends.
    std::vector<Command> commands();
    // The commands sent for requests: excludes commands called by scripts, and
    // those that depend on time, not on requests: INFO replication, by which a
    // connection checks that Redis is still a primary, those that read and
    // publish plans, and the probe of the rights to a usage.
    std::vector<std::string> names();

private:
    const RedisServer& redis_;
    RedisClient client_;
    int marks_ = 0;
};

}  // namespace petstore::e2e
