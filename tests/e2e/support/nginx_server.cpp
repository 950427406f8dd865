#include "nginx_server.h"

#include <netinet/tcp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <regex>

#include "catch.h"

namespace petstore::e2e {

namespace {

std::string sanitized_file(const char* name)
{
    return std::string(E2E_MODULE_DIR) + "/asan/" + name;
}

std::string default_nginx()
{
    for (const char* path :
         {"/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx"}) {
        if (access(path, X_OK) == 0) {
            return path;
        }
    }
    return "nginx";
}

// One self-signed certificate for all tests of this process.
const TempDir& certificate()
{
    static const TempDir dir;
    static const bool made = [] {
        const auto result =
            run({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                 "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                 "-subj", "/CN=127.0.0.1", "-keyout", dir / "key.pem", "-out",
                 dir / "cert.pem"});
        if (result.code != 0) {
            throw HarnessError("openssl: " + result.err);
        }
        return true;
    }();
    static_cast<void>(made);
    return dir;
}

// Whether someone is connected to a local port, by the kernel's table
// (proc_pid_net(5)): established, or closed by the other side and not by ours.
bool has_clients(int port)
{
    std::ifstream table("/proc/net/tcp");
    std::string line;
    std::getline(table, line);
    while (std::getline(table, line)) {
        unsigned local = 0;
        unsigned state = 0;
        if (std::sscanf(line.c_str(), "%*s %*8s:%x %*s %x", &local, &state) == 2
            && local == static_cast<unsigned>(port)
            && (state == TCP_ESTABLISHED || state == TCP_CLOSE_WAIT)) {
            return true;
        }
    }
    return false;
}

std::vector<std::pair<std::string, std::string>>
sanitizer_options(const std::string& folder)
{
    if (!sanitized()) {
        return {};
    }
    // nginx's own design: a module's table of names is a second definition
    // (odr), and what belongs to the master's cycle is left to the exit
    // (leaks). A library that a test preloads comes before the sanitizer's
    // (link order).
    return {{"ASAN_OPTIONS", "detect_odr_violation=0:detect_leaks=0:"
                             "verify_asan_link_order=0:"
                             "detect_stack_use_after_return=1:log_path="
                                 + folder + "/report"},
            {"UBSAN_OPTIONS", "print_stacktrace=1:suppressions=" E2E_SUPPORT
                              "/ubsan.supp:log_path="
                                  + folder + "/report"}};
}

}  // namespace

std::vector<std::pair<std::string, std::string>>
host_with_addresses(const std::string& name,
                    const std::vector<std::string>& addresses)
{
    std::string host = name;
    for (const auto& address : addresses) {
        host += " " + address;
    }
    return {{"LD_PRELOAD", E2E_HOSTS_LIBRARY}, {"E2E_HOST", host}};
}

bool sanitized()
{
    return !env_or("PETSTORE_E2E_SANITIZED", "").empty();
}

std::string nginx_binary()
{
    return env_or("PETSTORE_E2E_NGINX",
                  sanitized() ? sanitized_file("nginx") : default_nginx());
}

std::string module_file()
{
    const char* name = "ngx_http_petstore_module.so";
    return env_or("PETSTORE_E2E_MODULE",
                  sanitized() ? sanitized_file(name)
                              : std::string(E2E_MODULE_DIR) + "/" + name);
}

NginxServer::NginxServer(NginxOptions options) : options_(std::move(options))
{
    if (options_.start) {
        start();
    }
}

NginxServer::~NginxServer()
{
    if (process_.running()) {
        try {
            quit();
        } catch (const std::exception& problem) {
            FAIL_CHECK(problem.what());
        }
    }
}

std::string NginxServer::config() const
{
    std::string text = R"(load_module %MODULE%;
daemon off;
pid nginx.pid;
error_log error.log info;
worker_processes %WORKERS%;
worker_shutdown_timeout 10s;
%MAIN%
events { worker_connections 1024; }
http {
    access_log access.log;
    client_body_temp_path temp;
    proxy_temp_path temp;
    fastcgi_temp_path temp;
    uwsgi_temp_path temp;
    scgi_temp_path temp;
    petstore_redis %REDIS%;
    %HTTP%
    server {
        listen 127.0.0.1:%PORT%;
        %TLS%
        %SERVER%
        location /v1/ {
            petstore;
            %LOCATION%
        }
    }
    %SERVERS%
}
)";
    std::string tls;
    if (options_.tls) {
        tls = "listen 127.0.0.1:%TLS_PORT% ssl http2; ssl_certificate "
              + (certificate() / "cert.pem") + "; ssl_certificate_key "
              + (certificate() / "key.pem") + ";";
    }
    replace_all(text, "%MODULE%", module_file());
    replace_all(text, "%WORKERS%", std::to_string(options_.workers));
    replace_all(text, "%MAIN%", options_.main);
    replace_all(text, "%HTTP%", options_.http);
    replace_all(text, "%TLS%", tls);
    replace_all(text, "%SERVERS%", options_.servers);
    replace_all(text, "%SERVER%", options_.server);
    replace_all(text, "%LOCATION%", options_.location);
    replace_all(text, "%REDIS%", options_.redis);
    replace_all(text, "%PORT%", std::to_string(port_));
    replace_all(text, "%TLS_PORT%", std::to_string(tls_port_));
    replace_all(text, "%DIR%", dir_.path());
    return text;
}

void NginxServer::write_config() const
{
    write_file(dir_ / "nginx.conf", config());
}

void NginxServer::start()
{
    mkdir((dir_ / "reports").c_str(), 0777);
    chmod((dir_ / "reports").c_str(), 0777);
    std::string log;
    for (int attempt = 0; attempt < 5; ++attempt) {
        port_ = free_port();
        tls_port_ = free_port();
        write_config();
        auto env = sanitizer_options(dir_ / "reports");
        env.insert(env.end(), options_.env.begin(), options_.env.end());
        process_ = Process({{nginx_binary(), "-p", dir_.path(), "-c",
                             "nginx.conf", "-e", "error.log"},
                            env,
                            "",
                            dir_ / "output.log",
                            dir_ / "output.log"});
        const bool settled = wait_until(
            [this] {
                if (!process_.running()) {
                    return true;
                }
                if (workers().size()
                    != static_cast<std::size_t>(options_.workers)) {
                    return false;
                }
                const int fd = connect_tcp(port_);
                if (fd < 0) {
                    return false;
                }
                close(fd);
                return true;
            },
            30s);
        if (settled && process_.running()) {
            remember_workers();
            return;
        }
        log = error_log() + read_file(dir_ / "output.log");
        if (!contains(log, "Address already in use")) {
            break;
        }
        unlink((dir_ / "error.log").c_str());  // somebody took our port
    }
    process_ = {};
    throw HarnessError("nginx does not start: " + log);
}

Output NginxServer::check(NginxOptions options)
{
    options.start = false;
    NginxServer server(std::move(options));
    server.port_ = free_port();
    server.tls_port_ = free_port();
    mkdir((server.dir_ / "reports").c_str(), 0777);
    server.write_config();
    return run({nginx_binary(), "-t", "-p", server.dir_.path(), "-c",
                "nginx.conf", "-e", "stderr"},
               "", sanitizer_options(server.dir_ / "reports"));
}

std::vector<pid_t> NginxServer::workers() const
{
    return children_of(process_.pid());
}

void NginxServer::remember_workers()
{
    for (const pid_t pid : workers()) {
        ever_.insert(pid);
    }
}

std::size_t NginxServer::sockets() const
{
    std::size_t count = 0;
    for (const pid_t pid : workers()) {
        for (const auto& target : descriptors_of(pid)) {
            count += target.rfind("socket:", 0) == 0;
        }
    }
    return count;
}

std::size_t NginxServer::sockets_at_rest() const
{
    if (!wait_until(
            [&] { return !has_clients(port_) && !has_clients(tls_port_); })) {
        throw HarnessError("a client stays connected to nginx");
    }
    return sockets();
}

void NginxServer::change(NginxOptions options)
{
    options_ = std::move(options);
    write_config();
}

void NginxServer::reload()
{
    remember_workers();
    const auto before = ever_;
    process_.signal(SIGHUP);
    const bool fresh = wait_until(
        [&] {
            const auto now = workers();
            return std::count_if(now.begin(), now.end(),
                                 [&](pid_t pid) { return !before.count(pid); })
                   == options_.workers;
        },
        30s);
    remember_workers();
    if (!fresh) {
        throw HarnessError("nginx does not reload: " + error_log());
    }
}

void NginxServer::reload_and_settle()
{
    const auto before = workers();
    reload();
    const bool settled = wait_until(
        [&] {
            return std::none_of(before.begin(), before.end(), process_exists);
        },
        30s);
    if (!settled) {
        throw HarnessError("old workers stay: " + error_log());
    }
}

void NginxServer::quit()
{
    remember_workers();
    process_.signal(SIGQUIT);
    const auto code = process_.wait(30s);
    CHECK(code);
    if (code) {
        CHECK(*code == 0);
    } else {
        for (const pid_t pid : ever_) {
            kill(pid, SIGKILL);
        }
        process_.signal(SIGKILL);
        process_.wait(10s);
    }
    inspect();
}

void NginxServer::inspect()
{
    static const std::regex fatal(
        R"([^\n]*(\[alert\]|\[emerg\]|exited on signal|Sanitizer|runtime error:)[^\n]*)");

    const bool gone = wait_until([this] {
        return std::none_of(ever_.begin(), ever_.end(), process_exists);
    });
    CHECK(gone);

    for (const auto& file : files_below(dir_.path())) {
        if (file == dir_ / "nginx.conf" || contains(file, "/temp/")) {
            continue;
        }
        const auto text = read_file(file);
        if (contains(file, "/reports/")) {
            FAIL_CHECK(text);
        }
        std::smatch found;
        // Line by line: std::regex recurses over what it is given.
        for (const auto& line : split(text, '\n')) {
            if (std::regex_search(line, found, fatal)) {
                FAIL_CHECK(file << ": " << line);
            }
        }
        for (const auto& secret : secrets()) {
            if (contains(text, secret)) {
                FAIL_CHECK(file << " holds a secret");
            }
        }
    }
    ever_.clear();
}

std::string NginxServer::url() const
{
    return "http://127.0.0.1:" + std::to_string(port_);
}

std::string NginxServer::tls_url() const
{
    return "https://127.0.0.1:" + std::to_string(tls_port_);
}

std::string NginxServer::error_log() const
{
    return read_file(dir_ / "error.log");
}

std::string NginxServer::access_log() const
{
    return read_file(dir_ / "access.log");
}

}  // namespace petstore::e2e
