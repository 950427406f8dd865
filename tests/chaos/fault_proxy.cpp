#include "fault_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

namespace petstore::e2e {

namespace {

void without_delay(int fd)
{
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

// Closes with RST instead of FIN.
void close_with_reset(int fd)
{
    const linger now{1, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close(fd);
}

bool send_all(int fd, std::string_view bytes)
{
    while (!bytes.empty()) {
        const auto n = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (n <= 0) {
            return false;
        }
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
}

// Each slice is a separate segment, because Nagle's algorithm is off.
bool send_sliced(int fd, std::string_view bytes, std::size_t slice)
{
    if (slice == 0) {
        return send_all(fd, bytes);
    }
    while (!bytes.empty()) {
        const auto piece = bytes.substr(0, slice);
        if (!send_all(fd, piece)) {
            return false;
        }
        bytes.remove_prefix(piece.size());
    }
    return true;
}

}  // namespace

FaultProxy::FaultProxy(const RedisServer& redis, int tls_port)
    : redis_(redis), tls_port_(tls_port)
{
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    socklen_t size = sizeof(address);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    if (bind(listener_, generic, size) != 0 || listen(listener_, 64) != 0
        || getsockname(listener_, generic, &size) != 0) {
        throw HarnessError("the fault proxy cannot listen");
    }
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept(); });
}

FaultProxy::~FaultProxy()
{
    ending_ = true;
    shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    close(listener_);
    for (auto& connection : list_) {
        stop(connection);
        connection.requests.join();
        connection.replies.join();
    }
}

std::string FaultProxy::url() const
{
    return (tls_port_ != 0 ? "rediss://127.0.0.1:" : "redis://127.0.0.1:")
           + std::to_string(port_);
}

void FaultProxy::set(const NetworkFault& fault)
{
    const std::lock_guard lock(mutex_);
    fault_ = fault;
    resets_ = 0;
    swallowed_ = 0;
}

NetworkFault FaultProxy::fault() const
{
    const std::lock_guard lock(mutex_);
    return fault_;
}

void FaultProxy::accept()
{
    for (;;) {
        const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (client < 0) {
            return;
        }
        const int server = tls_port_ != 0 ? connect_tcp(tls_port_)
                                          : connect_unix(redis_.socket());
        if (server < 0) {
            close(client);
            continue;
        }
        without_delay(client);
        ++connections_;
        ++open_;
        const std::lock_guard lock(mutex_);
        list_.remove_if([](Connection& old) {
            if (old.copying != 0) {
                return false;
            }
            old.requests.join();
            old.replies.join();
            return true;
        });
        auto& connection = list_.emplace_back();
        connection.client = client;
        connection.server = server;
        connection.requests =
            std::thread([this, &connection] { copy_requests(connection); });
        connection.replies =
            std::thread([this, &connection] { copy_replies(connection); });
    }
}

// Ends the copying in both directions, waking blocked threads.
void FaultProxy::stop(Connection& connection)
{
    const std::lock_guard lock(mutex_);
    if (connection.copying != 0) {
        shutdown(connection.server, SHUT_RDWR);
        // Sends no FIN if a reset will follow.
        shutdown(connection.client, connection.reset ? SHUT_RD : SHUT_RDWR);
    }
}

// Called last by each thread of the connection. `ends`: both ends learn of it.
void FaultProxy::leave(Connection& connection, bool ends)
{
    if (ends) {
        stop(connection);
    }
    const std::lock_guard lock(mutex_);
    if (--connection.copying == 0) {
        close(connection.server);
        if (connection.reset) {
            close_with_reset(connection.client);
        } else {
            close(connection.client);
        }
        --open_;
    }
}

bool FaultProxy::swallow(std::size_t size)
{
    if (!fault().half_open) {
        return false;
    }
    swallowed_ += size;
    return true;
}

// Whether the gateway has forgotten the connection, and so drops these bytes.
bool FaultProxy::forgets(Connection& connection, std::size_t size)
{
    const auto now = Clock::now();
    const auto after = fault().forgets_after;
    if (after.count() != 0 && now - connection.passed_at.load() >= after) {
        connection.forgotten = true;
    }
    if (!connection.forgotten) {
        connection.passed_at = now;
        return false;
    }
    swallowed_ += size;
    return true;
}

int FaultProxy::forgotten() const
{
    const std::lock_guard lock(mutex_);
    if (fault_.forgets_after.count() == 0) {
        return 0;
    }
    const auto since = Clock::now() - fault_.forgets_after;
    return static_cast<int>(
        std::count_if(list_.begin(), list_.end(), [&](const auto& connection) {
            return connection.copying != 0
                   && connection.passed_at.load() <= since;
        }));
}

void FaultProxy::copy_requests(Connection& connection)
{
    char chunk[16 * 1024];
    for (;;) {
        const auto n = recv(connection.client, chunk, sizeof(chunk), 0);
        if (n <= 0) {
            break;
        }
        const std::string_view bytes(chunk, static_cast<std::size_t>(n));
        const auto now = fault();
        if (now.close) {
            break;
        }
        if (forgets(connection, bytes.size())) {
            if (now.resets_forgotten) {
                connection.reset = true;
                ++resets_;
                break;
            }
            continue;
        }
        if (!swallow(bytes.size())
            && !send_sliced(connection.server, bytes, now.slice)) {
            break;
        }
    }
    leave(connection);
}

void FaultProxy::copy_replies(Connection& connection)
{
    char chunk[64 * 1024];
    for (;;) {
        const auto n = recv(connection.server, chunk, sizeof(chunk), 0);
        if (n <= 0) {
            break;
        }
        const std::string_view bytes(chunk, static_cast<std::size_t>(n));
        if (!forgets(connection, bytes.size()) && !swallow(bytes.size())
            && !pass_on_reply(connection, bytes)) {
            break;
        }
    }
    // A forgotten connection's client does not learn that the server ended it.
    leave(connection, !forgets(connection, 0));
}

// Returns false at the end of the connection.
bool FaultProxy::pass_on_reply(Connection& connection, std::string_view bytes)
{
    wait(fault().latency);
    while (!bytes.empty()) {
        const auto now = fault();
        auto piece = bytes;
        if (now.bytes_per_second != 0) {
            constexpr auto kTick = 20ms;
            const auto ticks = static_cast<std::size_t>(1s / kTick);
            piece = piece.substr(
                0, std::max<std::size_t>(1, now.bytes_per_second / ticks));
            wait(kTick);
        }
        const auto budget = take_budget(piece.size());
        const auto sent = piece.substr(0, budget.value_or(piece.size()));
        if (!send_sliced(connection.client, sent, now.slice)) {
            return false;
        }
        if (budget) {
            connection.reset = true;
            ++resets_;
            return false;
        }
        bytes.remove_prefix(piece.size());
    }
    return true;
}

// If a reset is due within the next `size` bytes, returns the number of bytes
// before it.
std::optional<std::size_t> FaultProxy::take_budget(std::size_t size)
{
    const std::lock_guard lock(mutex_);
    if (!fault_.reset_after) {
        return std::nullopt;
    }
    if (*fault_.reset_after >= size) {
        *fault_.reset_after -= size;
        return std::nullopt;
    }
    const auto left = fault_.reset_after;
    fault_.reset_after.reset();
    return left;
}

// Returns early if the proxy ends.
void FaultProxy::wait(std::chrono::milliseconds time) const
{
    const auto end = Clock::now() + time;
    while (!ending_ && Clock::now() < end) {
        std::this_thread::sleep_for(
            std::min<Clock::duration>(10ms, end - Clock::now()));
    }
}

}  // namespace petstore::e2e
