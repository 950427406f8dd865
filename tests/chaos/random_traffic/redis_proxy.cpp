#include "redis_proxy.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "redis_lies.h"

namespace petstore::e2e {

namespace {

const std::string kProxy = "proxy";

// While more bytes than this are unsent to one side, the other is not read.
constexpr std::size_t kBuffer = 4 * 1024 * 1024;

int listen_on(const sockaddr* address, socklen_t size)
{
    const int fd = socket(address->sa_family,
                          SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (bind(fd, address, size) != 0 || listen(fd, 64) != 0) {
        close(fd);
        throw HarnessError("the proxy cannot listen");
    }
    return fd;
}

bool would_block()
{
    return errno == EAGAIN || errno == EINTR;
}

}  // namespace

RedisProxy::RedisProxy(const RedisServer& redis, Journal& journal)
    : redis_(redis), journal_(journal), path_(dir_ / "proxy.sock")
{
    listen();
    if (pipe2(wake_, O_CLOEXEC | O_NONBLOCK) != 0) {
        throw HarnessError("no pipe");
    }
    thread_ = std::thread([this] { run(); });
}

RedisProxy::~RedisProxy()
{
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    wake();
    thread_.join();
    for (auto& connection : connections_) {
        end(connection);
    }
    for (const int fd : {listeners_[0], listeners_[1], wake_[0], wake_[1]}) {
        close(fd);
    }
}

void RedisProxy::listen()
{
    sockaddr_un local{};
    local.sun_family = AF_UNIX;
    std::strncpy(local.sun_path, path_.c_str(), sizeof(local.sun_path) - 1);
    listeners_[0] =
        listen_on(reinterpret_cast<sockaddr*>(&local), sizeof(local));
    chmod(path_.c_str(), 0777);

    sockaddr_in loopback{};
    loopback.sin_family = AF_INET;
    loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(loopback);
    listeners_[1] = listen_on(reinterpret_cast<sockaddr*>(&loopback), size);
    getsockname(listeners_[1], reinterpret_cast<sockaddr*>(&loopback), &size);
    port_ = ntohs(loopback.sin_port);
}

std::string RedisProxy::tcp_url() const
{
    return "redis://127.0.0.1:" + std::to_string(port_);
}

void RedisProxy::misbehave(std::uint64_t seed, bool may_lie)
{
    {
        const std::lock_guard lock(mutex_);
        random_ = Random(seed, kProxy);
        misbehaving_ = true;
        may_lie_ = may_lie;
        next_faults_ = Clock::now();
    }
    wake();
}

void RedisProxy::behave()
{
    {
        const std::lock_guard lock(mutex_);
        misbehaving_ = false;
        close_all_ = true;
        faults_ = {};
    }
    wake();
    wait_until([this] {
        const std::lock_guard lock(mutex_);
        return !close_all_;
    });
}

void RedisProxy::wake() const
{
    static_cast<void>(::write(wake_[1], "", 1));
}

// --- the schedule ------------------------------------------------------------

void RedisProxy::change_faults()
{
    if (!misbehaving_ || Clock::now() < next_faults_) {
        return;
    }
    // Every other period is calm, and long enough for a worker to recover.
    const bool was_calm = std::strcmp(faults_.name, "calm") == 0;
    next_faults_ =
        Clock::now()
        + (was_calm ? random_.millis(20, 500) : random_.millis(300, 1500));

    Faults calm;
    calm.name = "calm";
    calm.lie = may_lie_ ? random_.pick({0, 2, 5}) : 0;
    Faults slow;
    slow.name = "slow";
    slow.delay = 60;
    slow.delay_ms = random_.pick({2, 5, 20, 60, 700});
    Faults sliced;
    sliced.name = "sliced";
    sliced.slice = 50;
    sliced.delay = 10;
    sliced.delay_ms = 3;
    Faults frozen;
    frozen.name = "frozen";
    frozen.freeze = 10;
    frozen.freeze_ms = 800;
    Faults closing;
    closing.name = "closing";
    closing.close = random_.pick({1, 3, 10, 40});
    closing.refuse = random_.pick({0, 0, 0, 50, 100});
    Faults lying;
    lying.name = "lying";
    lying.lie = random_.pick({20, 50, 100, 300});
    lying.slice = random_.pick({0, 20});

    const int kind = random_.between(1, 100);
    faults_ = !was_calm    ? calm
              : kind <= 15 ? slow
              : kind <= 35 ? sliced
              : kind <= 40 ? frozen
              : kind <= 52 ? closing
              : may_lie_   ? lying
              : kind <= 70 ? slow
                           : sliced;
    journal_.note(kProxy, std::string(faults_.name) + ", delay "
                              + std::to_string(faults_.delay_ms) + " ms, close "
                              + std::to_string(faults_.close) + " %, refuse "
                              + std::to_string(faults_.refuse) + " %, lie "
                              + std::to_string(faults_.lie) + " ‰");
}

// --- the loop ----------------------------------------------------------------

int RedisProxy::wait_time() const
{
    auto next = Clock::now() + 1s;
    if (misbehaving_) {
        next = std::min(next, next_faults_);
    }
    for (const auto& connection : connections_) {
        if (connection.frozen_until > Clock::now()) {
            next = std::min(next, connection.frozen_until);
        } else if (!connection.to_client.empty()) {
            next = std::min(next, connection.to_client.front().due);
        }
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        next - Clock::now());
    return std::max(0, static_cast<int>(left.count()) + 1);
}

void RedisProxy::run()
{
    std::vector<pollfd> polled;
    std::vector<Connection*> owners;
    for (;;) {
        polled.clear();
        owners.clear();
        int timeout = 0;
        {
            const std::lock_guard lock(mutex_);
            if (ending_) {
                return;
            }
            polled.push_back({wake_[0], POLLIN, 0});
            polled.push_back({listeners_[0], POLLIN, 0});
            polled.push_back({listeners_[1], POLLIN, 0});
            const auto now = Clock::now();
            for (auto& connection : connections_) {
                const bool frozen = connection.frozen_until > now;
                const bool due = !connection.to_client.empty()
                                 && connection.to_client.front().due <= now;
                short client = 0;
                short server = 0;
                if (!frozen) {
                    client = connection.to_server.size() < kBuffer ? POLLIN : 0;
                    client |= due ? POLLOUT : 0;
                    server = connection.server_ended ? 0 : POLLIN;
                    server |= connection.to_server.empty() ? 0 : POLLOUT;
                }
                // poll() always reports hang-ups. Sockets not of interest are
                // left out, or this loop would spin.
                polled.push_back(
                    {client != 0 ? connection.client : -1, client, 0});
                polled.push_back(
                    {server != 0 ? connection.server : -1, server, 0});
                owners.push_back(&connection);
            }
            timeout = wait_time();
        }
        poll(polled.data(), polled.size(), timeout);

        const std::lock_guard lock(mutex_);
        char ignored[64];
        while (read(wake_[0], ignored, sizeof(ignored)) > 0) {
        }
        change_faults();
        for (std::size_t i = 0; i < owners.size(); ++i) {
            Connection& connection = *owners[i];
            const pollfd& client = polled[3 + 2 * i];
            const pollfd& server = polled[4 + 2 * i];
            if ((client.revents & ~POLLOUT) != 0) {
                from_client(connection);
            }
            if (!connection.ended && (server.revents & ~POLLOUT) != 0) {
                from_server(connection);
            }
            if (!connection.ended && connection.frozen_until <= Clock::now()) {
                write(connection);
            }
        }
        if (close_all_) {
            for (auto& connection : connections_) {
                end(connection);
            }
        }
        connections_.remove_if(
            [](const Connection& connection) { return connection.ended; });
        close_all_ = false;
        accept(listeners_[0]);
        accept(listeners_[1]);
    }
}

void RedisProxy::accept(int listener)
{
    for (;;) {
        const int client =
            accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (client < 0) {
            return;
        }
        const int server =
            random_.chance(faults_.refuse) ? -1 : connect_unix(redis_.socket());
        if (server < 0) {
            close(client);
            continue;
        }
        fcntl(server, F_SETFL, O_NONBLOCK);
        const int on = 1;
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        Connection connection;
        connection.client = client;
        connection.server = server;
        // Lies about what a worker reads only with empty caches.
        if (misbehaving_ && may_lie_ && random_.chance(60)) {
            connection.first_lies = random_.between(1, 6);
        }
        connections_.push_back(std::move(connection));
        ++open_;
        journal_.count("redis connections");
    }
}

void RedisProxy::end(Connection& connection, bool reset)
{
    if (connection.ended) {
        return;
    }
    connection.ended = true;
    if (reset) {
        const linger now{1, 0};
        setsockopt(connection.client, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    }
    close(connection.client);
    close(connection.server);
    --open_;
}

void RedisProxy::from_client(Connection& connection)
{
    char chunk[65536];
    const auto n = recv(connection.client, chunk, sizeof(chunk), 0);
    if (n <= 0) {
        if (n == 0 || !would_block()) {
            end(connection);
        }
        return;
    }
    const auto size = static_cast<std::size_t>(n);
    connection.to_server.append(chunk, size);
    connection.requests.append(chunk, size);
    Value command;
    try {
        while (take_value(connection.requests, command)) {
            connection.asked.push_back(
                command.items.empty() ? "?" : command.items[0].text);
        }
    } catch (const HarnessError& problem) {
        journal_.complain(kProxy, "nginx sent " + std::string(problem.what()));
        end(connection);
    }
}

void RedisProxy::from_server(Connection& connection)
{
    char chunk[65536];
    const auto n = recv(connection.server, chunk, sizeof(chunk), 0);
    if (n <= 0) {
        if (n == 0 || !would_block()) {
            connection.server_ended = true;
            connection.to_client.push_back({Clock::now(), "", true, false});
        }
        return;
    }
    connection.replies.append(chunk, static_cast<std::size_t>(n));
    for (;;) {
        std::string rest = connection.replies;
        Value value;
        if (rest.empty() || !take_value(rest, value)) {
            return;
        }
        auto reply = connection.replies.substr(0, connection.replies.size()
                                                      - rest.size());
        connection.replies = std::move(rest);
        pass_on(connection, std::move(reply));
    }
}

// Applies the schedule to a reply.
void RedisProxy::pass_on(Connection& connection, std::string reply)
{
    std::string name = "?";
    if (!connection.asked.empty()) {
        name = std::move(connection.asked.front());
        connection.asked.pop_front();
    }
    journal_.count("redis replies");

    auto due = Clock::now();
    if (random_.chance(faults_.delay)) {
        due += random_.millis(0, faults_.delay_ms);
    }
    if (!connection.to_client.empty()) {
        due = std::max(due, connection.to_client.back().due);
    }
    if (random_.chance(faults_.freeze)) {
        connection.frozen_until =
            Clock::now() + random_.millis(10, faults_.freeze_ms);
    }
    if (random_.chance(faults_.close)) {
        const bool cut = random_.chance(50);
        if (cut) {
            queue(connection, reply.substr(0, random_.next() % reply.size()),
                  due);
        }
        connection.to_client.push_back({due, "", true, random_.chance(50)});
        journal_.count("replies closed upon");
        return;
    }
    // Raises the chance for rare commands: most replies are the limiter's, and
    // pages are read once and cached.
    const bool rare = name == "LRANGE" || name == "LINDEX" || name == "EVAL";
    const int chance = std::min(faults_.lie * (rare ? 20 : 1), 500);
    const bool first = rare && connection.first_lies > 0;
    connection.first_lies -= first ? 1 : 0;
    if (!first && random_.between(1, 1000) > chance) {
        return queue(connection, reply, due);
    }
    const Lie lie = lie_instead_of(name, reply, random_);
    journal_.note(kProxy, "lies to " + name + ": " + lie.name);
    journal_.count("lies");
    journal_.count("lies to " + name);
    queue(connection, lie.bytes, due);
    if (lie.close) {
        connection.to_client.push_back({due, "", true, false});
    }
}

void RedisProxy::queue(Connection& connection, const std::string& bytes,
                       Clock::time_point due)
{
    if (!random_.chance(faults_.slice)) {
        connection.to_client.push_back({due, bytes});
        return;
    }
    const bool fine = random_.chance(30) && bytes.size() < 400;
    for (std::size_t at = 0; at < bytes.size();) {
        const auto left = static_cast<int>(bytes.size() - at);
        const auto size = static_cast<std::size_t>(
            fine ? 1 : random_.between(1, std::max(1, left)));
        connection.to_client.push_back({due, bytes.substr(at, size)});
        at += size;
        due += std::chrono::microseconds(random_.between(100, 2000));
    }
}

void RedisProxy::write(Connection& connection)
{
    while (!connection.to_server.empty()) {
        const auto n = send(connection.server, connection.to_server.data(),
                            connection.to_server.size(), 0);
        if (n < 0) {
            if (!would_block()) {
                end(connection);
                return;
            }
            break;
        }
        connection.to_server.erase(0, static_cast<std::size_t>(n));
    }
    while (!connection.to_client.empty()
           && connection.to_client.front().due <= Clock::now()) {
        Chunk& chunk = connection.to_client.front();
        if (chunk.close) {
            end(connection, chunk.reset);
            return;
        }
        const auto n =
            send(connection.client, chunk.bytes.data(), chunk.bytes.size(), 0);
        if (n < 0) {
            if (!would_block()) {
                end(connection);
                return;
            }
            break;
        }
        chunk.bytes.erase(0, static_cast<std::size_t>(n));
        if (chunk.bytes.empty()) {
            connection.to_client.pop_front();
        }
    }
}

}  // namespace petstore::e2e
