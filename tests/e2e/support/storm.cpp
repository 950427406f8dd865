#include "storm.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

namespace petstore::e2e {

namespace {

constexpr auto kPatience = 180s;

std::string_view header(std::string_view head, std::string_view name)
{
    const std::string line = "\r\n" + std::string(name) + ": ";
    const auto at = head.find(line);
    if (at == std::string_view::npos
        || head.find(line, at + 1) != std::string_view::npos) {
        return {};
    }
    const auto begin = at + line.size();
    return head.substr(begin, head.find("\r\n", begin) - begin);
}

long long number(std::string_view head, std::string_view name)
{
    const std::string text(header(head, name));
    char* end = nullptr;
    const long long value = std::strtoll(text.c_str(), &end, 10);
    return text.empty() || *end != '\0' ? -1 : value;
}

struct Connection {
    std::uint32_t index = 0;
    int port = 0;
    int fd = -1;
    int awaited = 0;
    std::string out;
    std::string in;
};

class Run {
public:
    Run(Storm& storm, std::size_t requests,
        const std::function<bool(const Answer&)>& enough)
        : storm_(storm), left_(requests), enough_(enough),
          epoll_(epoll_create1(EPOLL_CLOEXEC))
    {}

    ~Run()
    {
        for (const auto& connection : connections_) {
            if (connection.fd >= 0) {
                close(connection.fd);
            }
        }
        close(epoll_);
    }

    std::vector<Answer> operator()()
    {
        // Alternates between hosts, so that even few requests reach all of
        // them.
        for (int i = 0; i < storm_.connections; ++i) {
            for (const int port : storm_.ports) {
                Connection connection;
                connection.index =
                    static_cast<std::uint32_t>(connections_.size());
                connection.port = port;
                open(connection);
                connections_.push_back(std::move(connection));
            }
        }
        for (auto& connection : connections_) {
            ask(connection);
        }
        const auto deadline = Clock::now() + kPatience;
        std::vector<epoll_event> events(256);
        while (open_requests_ > 0) {
            const int n = epoll_wait(epoll_, events.data(),
                                     static_cast<int>(events.size()), 1000);
            if (Clock::now() > deadline) {
                throw HarnessError("the storm does not end");
            }
            for (int i = 0; i < n; ++i) {
                auto& connection = connections_[events[i].data.u32];
                if (connection.awaited > 0) {
                    receive(connection);
                }
            }
        }
        return std::move(answers_);
    }

private:
    void open(Connection& connection)
    {
        connection.fd = connect_tcp(connection.port);
        if (connection.fd < 0) {
            throw HarnessError("nobody listens on "
                               + std::to_string(connection.port));
        }
        fcntl(connection.fd, F_SETFL, O_NONBLOCK);
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u32 = connection.index;
        epoll_ctl(epoll_, EPOLL_CTL_ADD, connection.fd, &event);
    }

    // Sends requests up to the pipeline's limit.
    void ask(Connection& connection)
    {
        if (connection.awaited > 0) {
            return;
        }
        connection.out.clear();
        while (connection.awaited < storm_.pipeline && left_ > 0) {
            connection.out += storm_.request;
            ++connection.awaited;
            ++open_requests_;
            --left_;
        }
        send(connection);
    }

    void send(Connection& connection)
    {
        // Small enough for the socket's buffer. Reading reveals an error as the
        // end of the connection.
        const auto n = ::send(connection.fd, connection.out.data(),
                              connection.out.size(), 0);
        if (n >= 0 && static_cast<std::size_t>(n) < connection.out.size()) {
            throw HarnessError("a storm's requests do not fit a socket");
        }
    }

    void receive(Connection& connection)
    {
        char chunk[65536];
        const auto n = recv(connection.fd, chunk, sizeof(chunk), 0);
        if (n < 0 && errno == EAGAIN) {
            return;
        }
        if (n <= 0) {
            repeat(connection);
            return;
        }
        connection.in.append(chunk, static_cast<std::size_t>(n));
        while (connection.awaited > 0 && take(connection)) {
        }
        ask(connection);
    }

    void repeat(Connection& connection)
    {
        if (!connection.in.empty() || storm_.pipeline > 1) {
            throw HarnessError("a connection ended in an answer: "
                               + connection.in);
        }
        ++storm_.repeated;
        close(connection.fd);
        open(connection);
        send(connection);
    }

    // Takes one complete response from the received bytes.
    bool take(Connection& connection)
    {
        const std::string_view in = connection.in;
        const auto end = in.find("\r\n\r\n");
        if (end == std::string_view::npos) {
            return false;
        }
        const auto head = in.substr(0, end + 2);
        Answer answer;
        answer.port = connection.port;
        answer.status = std::atoi(connection.in.c_str() + 9);
        const long long length =
            answer.status == 204 ? 0 : number(head, "Content-Length");
        if (length < 0) {
            throw HarnessError("no length: " + connection.in);
        }
        const auto size = end + 4 + static_cast<std::size_t>(length);
        if (in.size() < size) {
            return false;
        }
        answer.limit = number(head, "X-RateLimit-Limit");
        answer.remaining = number(head, "X-RateLimit-Remaining");
        answer.reset = number(head, "X-RateLimit-Reset");
        answer.retry_after = number(head, "Retry-After");
        answer.worker = number(head, "X-Worker");
        if (answer.status >= 400) {
            const auto body = in.substr(end + 4, size - end - 4);
            const auto code = body.find("\"code\":\"");
            if (code != std::string_view::npos) {
                answer.code =
                    body.substr(code + 8, body.find('"', code + 8) - code - 8);
            }
        }
        const bool closes = header(head, "Connection") == "close";
        connection.in.erase(0, size);
        --connection.awaited;
        --open_requests_;
        if (enough_ && enough_(answer)) {
            left_ = 0;
        }
        answers_.push_back(std::move(answer));
        if (closes) {
            if (connection.awaited > 0) {
                throw HarnessError("closed with requests on their way");
            }
            close(connection.fd);
            open(connection);
        }
        return true;
    }

    Storm& storm_;
    std::size_t left_;
    const std::function<bool(const Answer&)>& enough_;
    int epoll_;
    std::vector<Connection> connections_;
    std::size_t open_requests_ = 0;
    std::vector<Answer> answers_;
};

}  // namespace

std::vector<Answer> Storm::run(std::size_t requests)
{
    return run(requests, nullptr);
}

std::vector<Answer>
Storm::run_until(const std::function<bool(const Answer&)>& enough)
{
    return run(static_cast<std::size_t>(-1), enough);
}

std::vector<Answer> Storm::run(std::size_t requests,
                               const std::function<bool(const Answer&)>& enough)
{
    return Run(*this, requests, enough)();
}

Meanwhile::Meanwhile(std::chrono::milliseconds pause,
                     std::function<void()> what)
    : what_(std::move(what)), thread_([this, pause] {
          std::unique_lock lock(mutex_);
          while (!ending_) {
              lock.unlock();
              try {
                  what_();
              } catch (...) {
                  lock.lock();
                  problem_ = std::current_exception();
                  return;
              }
              lock.lock();
              ++times_;
              changed_.wait_for(lock, pause, [this] { return ending_; });
          }
      })
{}

Meanwhile::~Meanwhile()
{
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) {
        thread_.join();
    }
}

void Meanwhile::end()
{
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) {
        thread_.join();
    }
    if (problem_) {
        std::rethrow_exception(std::exchange(problem_, nullptr));
    }
}

int Meanwhile::times() const
{
    const std::lock_guard lock(mutex_);
    return times_;
}

}  // namespace petstore::e2e
