#include "util.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>

namespace petstore::e2e {

namespace {

std::mutex g_secrets_mutex;
std::vector<std::string> g_secrets;

// Writing to a server that dies must not kill the tests.
const auto g_no_sigpipe = std::signal(SIGPIPE, SIG_IGN);

}  // namespace

long long unix_time()
{
    return std::chrono::floor<std::chrono::seconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

bool wait_until(const std::function<bool()>& condition,
                std::chrono::milliseconds timeout)
{
    // Polls quickly at first, then less and less often: some conditions cost
    // milliseconds of CPU time.
    const auto start = Clock::now();
    while (!condition()) {
        const auto waited = Clock::now() - start;
        if (waited > timeout) {
            return false;
        }
        if (waited < 200us) {
            std::this_thread::yield();
        } else {
            std::this_thread::sleep_for(
                std::clamp<Clock::duration>(waited / 16, 2ms, 10ms));
        }
    }
    return true;
}

bool kept_by(Clock::time_point deadline, const std::function<bool()>& condition)
{
    for (;;) {
        const auto asked = Clock::now();
        if (condition()) {
            return true;
        }
        if (asked > deadline) {
            return false;
        }
        std::this_thread::sleep_for(2ms);
    }
}

namespace {

const char* folder_for_tests()
{
    constexpr std::uintmax_t kEnough = 1 << 30;  // bytes
    const char* const memory = "/dev/shm";
    std::error_code error;
    const auto space = std::filesystem::space(memory, error);
    return !error && space.available >= kEnough && access(memory, W_OK) == 0
               ? memory
               : "/tmp";
}

}  // namespace

TempDir::TempDir() : path_(folder_for_tests())
{
    path_ += "/petstore-e2e-XXXXXX";
    if (mkdtemp(path_.data()) == nullptr || chmod(path_.c_str(), 0755) != 0) {
        throw HarnessError("no temporary folder");
    }
}

TempDir::~TempDir()
{
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::string TempDir::operator/(std::string_view name) const
{
    return path_ + "/" + std::string(name);
}

std::string read_file(const std::string& path, std::size_t limit)
{
    std::string text;
    std::ifstream file(path, std::ios::binary);
    char part[16384];
    while (file && text.size() < limit) {
        file.read(part, static_cast<std::streamsize>(
                            std::min(sizeof(part), limit - text.size())));
        text.append(part, static_cast<std::size_t>(file.gcount()));
    }
    return text;
}

void write_file(const std::string& path, std::string_view text)
{
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << text;
    if (!file.flush()) {
        throw HarnessError("cannot write " + path);
    }
}

std::vector<std::string> files_below(const std::string& folder)
{
    std::vector<std::string> files;
    std::error_code ignored;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(folder, ignored)) {
        if (entry.is_regular_file(ignored)) {
            files.push_back(entry.path());
        }
    }
    return files;
}

const std::string& own_address()
{
    // A process id has at most 22 bits.
    static const std::string address = [] {
        const auto pid = static_cast<unsigned>(getpid());
        return "127." + std::to_string(64 + (pid >> 16 & 63)) + "."
               + std::to_string(pid >> 8 & 255) + "."
               + std::to_string(pid & 255);
    }();
    return address;
}

namespace {

// A listening socket on any address prevents binding the wildcard address.
bool nobody_listens(int port)
{
    const int on = 1;
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int result;
    if (fd >= 0) {
        sockaddr_in6 address{};
        address.sin6_family = AF_INET6;
        address.sin6_port = htons(static_cast<std::uint16_t>(port));
        const int off = 0;  // covers IPv4, too
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
        result =
            bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address));
    } else {
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(port));
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
        result =
            bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address));
    }
    close(fd);
    return result == 0;
}

}  // namespace

// Uses a range below the kernel's ephemeral ports. A few tests need ::1 or
// 127.0.0.1, which all processes share, so each process starts elsewhere.
int free_port()
{
    constexpr int kFirst = 10000;
    constexpr int kCount = 20000;
    static std::atomic<int> next{getpid() * 37 % kCount};
    for (int i = 0; i < kCount; ++i) {
        const int port = kFirst + next++ % kCount;
        if (nobody_listens(port)) {
            return port;
        }
    }
    throw HarnessError("no free port");
}

std::string http_url(int port)
{
    return "http://" + own_address() + ":" + std::to_string(port);
}

int connect_tcp(int port)
{
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    inet_pton(AF_INET, own_address().c_str(), &address.sin_addr);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address))
        != 0) {
        close(fd);
        return -1;
    }
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return fd;
}

int connect_unix(const std::string& path)
{
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address))
        != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

void replace_all(std::string& text, std::string_view from, std::string_view to)
{
    for (std::size_t at = text.find(from); at != std::string::npos;
         at = text.find(from, at + to.size())) {
        text.replace(at, from.size(), to);
    }
}

std::string to_lower(std::string text)
{
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
        return static_cast<char>(std::tolower(c));
    });
    return text;
}

std::vector<std::string> split(const std::string& text, char separator)
{
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);) {
        parts.push_back(part);
    }
    return parts;
}

std::string repeat(std::string_view text, std::size_t times)
{
    std::string result;
    result.reserve(text.size() * times);
    for (std::size_t i = 0; i < times; ++i) {
        result += text;
    }
    return result;
}

bool contains(std::string_view text, std::string_view part)
{
    return text.find(part) != std::string_view::npos;
}

std::string env_or(const char* name, const std::string& otherwise)
{
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : otherwise;
}

bool sanitized()
{
    return !env_or("PETSTORE_E2E_SANITIZED", "").empty();
}

std::vector<std::pair<std::string, std::string>>
sanitizer_options(Leaks leaks, const std::string& folder)
{
    if (!sanitized()) {
        return {};
    }
    const std::string log =
        folder.empty() ? "" : ":log_path=" + folder + "/report";
    // UBSan's findings are traps (SIGILL).
    // A module's table of names is a second definition by nginx's design (odr).
    // A library preloaded by a test comes before the sanitizer's (link order).
    return {
        {"ASAN_OPTIONS",
         "handle_sigill=1:detect_odr_violation=0:verify_asan_link_order=0:detect_stack_use_after_return=1:detect_leaks="
             + std::string(leaks == Leaks::found ? "1" : "0") + log}};
}

void remember_secret(const std::string& secret)
{
    const std::lock_guard lock(g_secrets_mutex);
    g_secrets.push_back(secret);
}

const std::vector<std::string>& secrets()
{
    return g_secrets;
}

}  // namespace petstore::e2e
