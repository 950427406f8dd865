#include "nginx_server.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>

#include "catch.h"

namespace petstore::e2e {

namespace {

// Timeout for nginx to start, reload and exit.
constexpr auto kPatience = 60s;

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

// A worker has its master's process title until it is initialized: see
// ngx_worker_process_cycle() in src/os/unix/ngx_process_cycle.c of nginx.
bool is_initialized(pid_t worker)
{
    return contains(read_file("/proc/" + std::to_string(worker) + "/cmdline"),
                    "worker process");
}

// The self-signed certificate of all tests in this process.
const TempDir& certificate()
{
    static const TempDir dir;
    static const bool made = [] {
        const auto result =
            run({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                 "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                 "-subj", "/CN=" + own_address(), "-addext",
                 "subjectAltName=IP:" + own_address(), "-keyout",
                 dir / "key.pem", "-out", dir / "cert.pem"});
        if (result.code != 0) {
            throw HarnessError("openssl: " + result.err);
        }
        return true;
    }();
    static_cast<void>(made);
    return dir;
}

// Whether a client is connected to one of these ports of our address, according
// to the kernel's table (proc_pid_net(5)): established, or closed by the client
// only.
bool have_clients(const std::set<unsigned>& ports)
{
    in_addr own{};
    inet_pton(AF_INET, own_address().c_str(), &own);
    std::ifstream table("/proc/net/tcp");
    std::string line;
    std::getline(table, line);
    while (std::getline(table, line)) {
        unsigned address = 0;
        unsigned local = 0;
        unsigned state = 0;
        if (std::sscanf(line.c_str(), "%*s %8x:%x %*s %x", &address, &local,
                        &state)
                == 3
            && address == own.s_addr && ports.count(local) != 0
            && (state == TCP_ESTABLISHED || state == TCP_CLOSE_WAIT)) {
            return true;
        }
    }
    return false;
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
worker_shutdown_timeout 120s;
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
    %TIMEOUTS%
    %HTTP%
    server {
        listen %ADDRESS%:%PORT%;
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
    if (!options_.file.empty()) {
        text = options_.file;
    }
    std::string tls;
    if (options_.tls) {
        tls = "listen %ADDRESS%:%TLS_PORT% ssl http2; ssl_certificate "
              + (certificate() / "cert.pem") + "; ssl_certificate_key "
              + (certificate() / "key.pem") + ";";
    }
    // The machine may stall for longer than the module's default timeouts, and
    // any request would get a 503. A test that sets one timeout gets the
    // module's default for the other.
    std::string timeouts =
        "petstore_redis_connect_timeout 10s; petstore_redis_timeout 10s;";
    for (const auto* block : {&options_.http, &options_.server,
                              &options_.location, &options_.servers}) {
        if (contains(*block, "petstore_redis_timeout")
            || contains(*block, "petstore_redis_connect_timeout")) {
            timeouts.clear();
        }
    }
    replace_all(text, "%MODULE%", module_file());
    replace_all(text, "%TIMEOUTS%", timeouts);
    replace_all(text, "%WORKERS%", std::to_string(options_.workers));
    replace_all(text, "%MAIN%", options_.main);
    replace_all(text, "%HTTP%", options_.http);
    replace_all(text, "%TLS%", tls);
    replace_all(text, "%SERVERS%", options_.servers);
    replace_all(text, "%SERVER%", options_.server);
    replace_all(text, "%LOCATION%", options_.location);
    replace_all(text, "%REDIS%", options_.redis);
    replace_all(text, "%ADDRESS%", own_address());
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
    port_ = free_port();
    tls_port_ = free_port();
    write_config();
    auto env = sanitizer_options(Leaks::found, dir_ / "reports");
    env.insert(env.end(), options_.env.begin(), options_.env.end());
    process_ = Process({{nginx_binary(), "-p", dir_.path(), "-c", "nginx.conf",
                         "-e", "error.log"},
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
        kPatience);
    if (!settled || !process_.running()) {
        process_ = {};
        throw HarnessError("nginx does not start: " + error_log()
                           + read_file(dir_ / "output.log"));
    }
    remember_workers();
    check_build();
}

// The test's name determines the build to test ("asan:…" or "e2e:…"). The check
// is needed because nginx also loads the other build's module.
void NginxServer::check_build() const
{
    // Imported names are at the start of a library; the whole file has 100 MB.
    static const bool right_module =
        contains(read_file(module_file(), 1 << 20), "__asan_init")
        == sanitized();
    const std::string module = std::filesystem::canonical(module_file());
    const auto worker =
        std::to_string(ever_.empty() ? master() : *ever_.begin());
    const auto mapped = read_file("/proc/" + worker + "/maps");
    const bool right_nginx = contains(mapped, "/libasan.so") == sanitized();
    const bool loads_it =
        options_.file.empty() || contains(options_.file, "load_module");
    if (!right_module || !right_nginx
        || (loads_it && !contains(mapped, module))) {
        throw HarnessError("nginx or the module is not the "
                           + std::string(sanitized() ? "sanitized" : "stock")
                           + " build: " + nginx_binary() + ", "
                           + module_file());
    }
}

Output NginxServer::check(NginxOptions options)
{
    options.start = false;
    NginxServer server(std::move(options));
    server.port_ = free_port();
    server.tls_port_ = free_port();
    server.write_config();
    // nginx -t does not free its configuration before it exits.
    return run({nginx_binary(), "-t", "-p", server.dir_.path(), "-c",
                "nginx.conf", "-e", "stderr"},
               "", sanitizer_options(Leaks::ignored));
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
    const std::set ports{static_cast<unsigned>(port_),
                         static_cast<unsigned>(tls_port_)};
    if (!wait_until([&] { return !have_clients(ports); })) {
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
                                 [&](pid_t pid) {
                                     return !before.count(pid)
                                            && is_initialized(pid);
                                 })
                   == options_.workers;
        },
        kPatience);
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
        kPatience);
    if (!settled) {
        throw HarnessError("old workers stay: " + error_log());
    }
}

void NginxServer::quit()
{
    remember_workers();
    process_.signal(SIGQUIT);
    const auto code = process_.wait(kPatience);
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
        R"(\[alert\]|\[emerg\]|exited on signal|Sanitizer|runtime error:)");

    static const std::regex no_memory(
        R"(.*\[emerg\] \d+#\d+: (\*\d+ )?(malloc\(\d+\)|posix_memalign\(\d+, \d+\)) failed \(12: Cannot allocate memory\).*)");

    static const std::regex killed(
        R"(.*\[alert\] \d+#\d+: worker process \d+ exited on signal 9)");

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
        // Line by line, because std::regex recurses over its input.
        for (const auto& line : split(text, '\n')) {
            if (std::regex_search(line, found, fatal)
                && !(options_.out_of_memory
                     && std::regex_match(line, no_memory))
                && !(options_.kills_workers && std::regex_match(line, killed))
                && !(options_.refuses_reload && contains(line, "[emerg]"))) {
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
    return http_url(port_);
}

std::string NginxServer::tls_url() const
{
    return "https://" + own_address() + ":" + std::to_string(tls_port_);
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
