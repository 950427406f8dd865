#pragma once

#include <set>
#include <string>
#include <vector>

#include "process.h"
#include "util.h"

namespace petstore::e2e {

// A test's additions to the default configuration. %ADDRESS%, %PORT%,
// %TLS_PORT%, %DIR% and %REDIS% are replaced in every text.
struct NginxOptions {
    std::string redis;  // petstore_redis
    int workers = 1;
    std::string main;  // further lines of each block
    std::string http;
    std::string server;
    std::string location;
    std::string servers;  // further server blocks
    std::string file;     // replaces the whole configuration
    bool tls = false;     // HTTP/2 over TLS on a second port
    bool start = true;
    std::vector<std::pair<std::string, std::string>> env = {};
    // The test runs out of memory, which nginx logs as [emerg].
    bool out_of_memory = false;
    // The test kills workers with SIGKILL, which nginx logs as [alert].
    bool kills_workers = false;
    // nginx refuses a configuration, which it logs as [emerg].
    bool refuses_reload = false;
};

// A real nginx with the module, in its own folder. Whenever one exits, the
// harness checks for what must never happen: an alert, a crash, a sanitizer
// report, an API key in a log, a process left behind.
class NginxServer {
public:
    explicit NginxServer(NginxOptions options);
    ~NginxServer();

    void start();
    void quit();    // SIGQUIT: waits for the exit and checks the logs
    void reload();  // SIGHUP: waits until new workers serve
    // The same, and waits until the old workers are gone.
    void reload_and_settle();
    void change(NginxOptions options);  // for the next reload

    int port() const noexcept { return port_; }
    int tls_port() const noexcept { return tls_port_; }
    std::string url() const;
    std::string tls_url() const;

    pid_t master() const noexcept { return process_.pid(); }
    std::vector<pid_t> workers() const;
    // The number of the workers' sockets: listening, channels, clients, Redis.
    std::size_t sockets() const;
    // Waits until no client is connected, then returns sockets(): a closed
    // client's socket stays open until nginx reads the end of the stream.
    std::size_t sockets_at_rest() const;

    std::string error_log() const;
    std::string access_log() const;
    std::string path(std::string_view name) const { return dir_ / name; }

    // Runs `nginx -t` with this configuration.
    static Output check(NginxOptions options);

private:
    std::string config() const;
    void write_config() const;
    void remember_workers();
    void check_build() const;
    void inspect();

    NginxOptions options_;
    TempDir dir_;
    int port_ = 0;
    int tls_port_ = 0;
    Process process_;
    std::set<pid_t> ever_;  // all workers so far
};

// The environment that makes a host name resolve to these addresses, in this
// order, in an nginx.
std::vector<std::pair<std::string, std::string>>
host_with_addresses(const std::string& name,
                    const std::vector<std::string>& addresses);

std::string nginx_binary();
std::string module_file();

}  // namespace petstore::e2e
