// Sends requests at a fixed rate, each when it is due, however slow the server
// is. Latency is measured from the due time, so a stall counts for every
// request that it delays. Started by tests/bench/paced.py, which reads the
// output.

#include "http.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iterator>
#include <map>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdexcept>
#include <string>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::system_clock;
using Time = Clock::time_point;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr auto reply_timeout = seconds(10);
// Replaced in a request by its number, padded to the same length.
constexpr char placeholder[] = "############";
constexpr std::size_t digits = sizeof placeholder - 1;
constexpr std::size_t fresh_slots = 8192;

volatile std::sig_atomic_t interrupted = 0;

std::int64_t ms(Time time)
{
    return std::chrono::duration_cast<milliseconds>(time.time_since_epoch())
        .count();
}

struct Options {
    int port = 0;
    double rate = 0;  // 0: as fast as the connections allow
    std::size_t connections = 64;
    double seconds = 1;
    double warm_up = 0;  // leading seconds whose latencies do not count
    std::uint64_t first_number = 1;
    std::string requests;
    std::string output;
};

struct Job {
    const Request* request = nullptr;
    std::uint64_t number = 0;
    Time due;
    Time sent;
};

struct Connection {
    enum State { unused, connecting, idle, busy };

    int fd = -1;
    State state = unused;
    std::uint32_t generation = 0;  // identifies events of an earlier socket
    bool used = false;             // has carried a response
    Job job;
    std::string input;
};

// Buckets are exact up to 64 µs, and within 3 % above.
std::size_t latency_bucket(Clock::duration latency)
{
    const auto us = static_cast<std::uint64_t>(std::max<std::int64_t>(
        std::chrono::duration_cast<microseconds>(latency).count(), 1));
    if (us < 64)
        return us;
    const int power = 63 - __builtin_clzll(us);
    return 64 + static_cast<std::size_t>(power - 6) * 32
           + ((us >> (power - 5)) & 31U);
}

struct Second {
    std::map<std::pair<std::string, int>, std::uint64_t> counts;  // by end time
    // By due time.
    std::map<std::size_t, std::uint64_t> latencies;
    std::map<std::pair<int, std::size_t>, std::uint64_t> failed;
};

class Generator {
public:
    explicit Generator(Options options)
        : options_(std::move(options)),
          requests_(read_requests(options_.requests)),
          connections_(options_.connections + fresh_slots),
          number_(options_.first_number),
          output_(std::fopen(options_.output.c_str(), "w")),
          epoll_(epoll_create1(EPOLL_CLOEXEC))
    {
        if (!output_ || epoll_ < 0)
            throw std::runtime_error("cannot open " + options_.output);
        for (std::size_t i = 0; i < connections_.size(); ++i)
            (i < options_.connections ? free_ : free_fresh_).push_back(i);
    }

    void run()
    {
        start_ = Clock::now();
        end_ = start_ + to_duration(options_.seconds);
        Time next_check = start_;
        while (true) {
            const Time now = Clock::now();
            if (interrupted)
                end_ = std::min(end_, now);
            send_due(now);
            if (now >= next_check) {
                fail_old(now);
                next_check = now + milliseconds(500);
            }
            if (now >= end_ && outstanding_ == 0 && backlog_.empty())
                break;
            const Time until = std::min(next_check, next_due());
            wait(now < end_ ? std::min(until, end_) : until, now);
        }
        report();
    }

private:
    static Clock::duration to_duration(double seconds)
    {
        return std::chrono::duration_cast<Clock::duration>(
            std::chrono::duration<double>(seconds));
    }

    Time next_due() const
    {
        if (options_.rate <= 0)
            return start_ + std::chrono::hours(24);
        const auto due =
            start_ + to_duration(static_cast<double>(made_) / options_.rate);
        return due < end_ ? due : end_ + reply_timeout;
    }

    void send_due(Time now)
    {
        while (!backlog_.empty() && !free_.empty()) {
            const Job job = backlog_.front();
            backlog_.pop_front();
            start(job);
        }
        if (options_.rate > 0) {
            while (next_due() <= now && next_due() < end_)
                dispatch(make(next_due()));
        } else {
            while (now < end_ && outstanding_ < options_.connections)
                dispatch(make(now));
        }
        longest_backlog_ = std::max(longest_backlog_, backlog_.size());
    }

    Job make(Time due)
    {
        const Request& request = requests_[made_++ % requests_.size()];
        return {&request, request.numbered ? number_++ : 0, due, {}};
    }

    void dispatch(const Job& job)
    {
        const bool fresh = job.request->fresh;
        if ((fresh ? free_fresh_ : free_).empty()
            || (!fresh && !backlog_.empty()))
            backlog_.push_back(job);
        else
            start(job);
    }

    void start(const Job& job)
    {
        auto& free = job.request->fresh ? free_fresh_ : free_;
        if (free.empty())
            throw std::runtime_error("too many new connections at once");
        const std::size_t index = free.front();
        free.pop_front();
        ++outstanding_;
        Connection& connection = connections_[index];
        connection.job = job;
        if (connection.state == Connection::idle)
            send(index);
        else
            connect(index);
    }

    void connect(std::size_t index)
    {
        Connection& connection = connections_[index];
        ++connects_;
        ++connection.generation;
        connection.used = false;
        connection.input.clear();
        connection.state = Connection::connecting;
        connection.fd =
            socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        const int on = 1;
        setsockopt(connection.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(options_.port));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const int done =
            ::connect(connection.fd, reinterpret_cast<sockaddr*>(&address),
                      sizeof address);
        if (done != 0 && errno != EINPROGRESS)
            return finish(index, {no_connection, true, true, {}});
        watch(index, EPOLL_CTL_ADD, EPOLLOUT);
    }

    void watch(std::size_t index, int action, std::uint32_t events)
    {
        epoll_event event{};
        event.events = events;
        event.data.u64 =
            static_cast<std::uint64_t>(connections_[index].generation) << 32
            | index;
        epoll_ctl(epoll_, action, connections_[index].fd, &event);
    }

    void send(std::size_t index)
    {
        Connection& connection = connections_[index];
        Job& job = connection.job;
        connection.state = Connection::busy;
        job.sent = Clock::now();
        const std::string* text = &job.request->text;
        std::string filled;
        if (job.request->numbered) {
            char number[32];
            std::snprintf(number, sizeof number, "%0*llu",
                          static_cast<int>(digits),
                          static_cast<unsigned long long>(job.number));
            filled = *text;
            std::size_t at = 0;
            while ((at = filled.find(placeholder, at)) != std::string::npos)
                filled.replace(at, digits, number);
            text = &filled;
        }
        const ssize_t sent =
            ::send(connection.fd, text->data(), text->size(), MSG_NOSIGNAL);
        if (sent != static_cast<ssize_t>(text->size()))
            lost(index);
    }

    void lost(std::size_t index)
    {
        Connection& connection = connections_[index];
        if (connection.state == Connection::idle) {
            ++closed_idle_;
            drop(connection);
            return;
        }
        if (connection.state == Connection::connecting)
            return finish(index, {no_connection, true, true, {}});
        // The server may close an idle connection without knowing that a
        // request is on its way: RFC 9112, 9.3.1.
        if (connection.used && connection.input.empty()
            && connection.job.request->repeatable) {
            std::fprintf(output_, "raced %lld %s\n",
                         static_cast<long long>(ms(connection.job.sent)),
                         connection.job.request->kind.c_str());
            drop(connection);
            return connect(index);
        }
        finish(index, {closed, true, true, {}});
    }

    void receive(std::size_t index)
    {
        Connection& connection = connections_[index];
        static char buffer[1 << 16];
        const ssize_t size = recv(connection.fd, buffer, sizeof buffer, 0);
        if (size < 0 && errno == EAGAIN)
            return;
        if (size <= 0)
            return lost(index);
        connection.input.append(buffer, static_cast<std::size_t>(size));
        if (connection.state != Connection::busy) {
            ++unasked_;
            return drop(connection);
        }
        const Response response = parse(connection.input);
        if (response.complete)
            finish(index, response);
    }

    void finish(std::size_t index, const Response& response)
    {
        Connection& connection = connections_[index];
        const Job& job = connection.job;
        const Time now = Clock::now();
        ++second(now).counts[{job.request->kind, response.status}];
        if (job.due >= start_ + to_duration(options_.warm_up))
            count_latency(job, response.status, now);
        const auto sent =
            static_cast<long long>(ms(job.sent == Time{} ? job.due : job.sent));
        if (response.status != job.request->expected)
            std::fprintf(output_, "unexpected %lld %lld %s %s\n", sent,
                         static_cast<long long>(ms(now)),
                         job.request->kind.c_str(),
                         status_name(response.status).c_str());
        if (job.request->numbered && response.status == 201)
            record_create(response.body, job.number, now);
        --outstanding_;
        connection.input.clear();
        connection.used = true;
        if (response.close || job.request->fresh || response.status < 100)
            drop(connection);
        else
            connection.state = Connection::idle;
        (index < options_.connections ? free_ : free_fresh_).push_back(index);
    }

    void count_latency(const Job& job, int status, Time now)
    {
        const std::size_t bucket = latency_bucket(now - job.due);
        if (status == job.request->expected)
            ++second(job.due).latencies[bucket];
        else
            ++second(job.due).failed[{status, bucket}];
    }

    void record_create(const std::string& body, std::uint64_t number, Time now)
    {
        const std::size_t id = body.find("\"id\":");
        std::fprintf(output_, "created %lld %llu %llu\n",
                     static_cast<long long>(ms(now)),
                     id == std::string::npos
                         ? 0ULL
                         : std::strtoull(body.c_str() + id + 5, nullptr, 10),
                     static_cast<unsigned long long>(number));
    }

    static void drop(Connection& connection)
    {
        if (connection.fd >= 0)
            close(connection.fd);
        connection.fd = -1;
        connection.state = Connection::unused;
        connection.input.clear();
    }

    void fail_old(Time now)
    {
        for (std::size_t i = 0; i < connections_.size(); ++i) {
            const auto state = connections_[i].state;
            if (state != Connection::busy && state != Connection::connecting)
                continue;
            const Job& job = connections_[i].job;
            if (now - std::max(job.due, job.sent) > reply_timeout)
                finish(i, {timed_out, true, true, {}});
        }
    }

    void wait(Time until, Time now)
    {
        const auto left =
            std::max(nanoseconds(until - now), nanoseconds(0)).count();
        const timespec timeout{left / 1'000'000'000, left % 1'000'000'000};
        epoll_event events[256];
        const int count =
            epoll_pwait2(epoll_, events, std::size(events), &timeout, nullptr);
        for (int i = 0; i < count; ++i) {
            const auto index =
                static_cast<std::size_t>(events[i].data.u64 & 0xffffffffU);
            Connection& connection = connections_[index];
            if (connection.fd < 0
                || connection.generation != events[i].data.u64 >> 32)
                continue;
            if (connection.state != Connection::connecting) {
                receive(index);
            } else if (events[i].events & (EPOLLERR | EPOLLHUP)) {
                lost(index);
            } else {
                watch(index, EPOLL_CTL_MOD, EPOLLIN | EPOLLRDHUP);
                send(index);
            }
        }
    }

    Second& second(Time time) { return seconds_[ms(time) / 1000]; }

    void report()
    {
        for (const auto& [time, second] : seconds_) {
            const auto at = static_cast<long long>(time);
            for (const auto& [what, count] : second.counts)
                std::fprintf(output_, "second %lld %s %s %llu\n", at,
                             what.first.c_str(),
                             status_name(what.second).c_str(),
                             static_cast<unsigned long long>(count));
            for (const auto& [bucket, count] : second.latencies)
                std::fprintf(output_, "latency %lld %zu %llu\n", at, bucket,
                             static_cast<unsigned long long>(count));
            for (const auto& [what, count] : second.failed)
                std::fprintf(output_, "failed %lld %s %zu %llu\n", at,
                             status_name(what.first).c_str(), what.second,
                             static_cast<unsigned long long>(count));
        }
        const double took =
            std::chrono::duration<double>(Clock::now() - start_).count();
        std::fprintf(
            output_,
            "total requests %llu seconds %.3f connects %llu closed_idle %llu unasked %llu longest_backlog %zu\n",
            static_cast<unsigned long long>(made_), took,
            static_cast<unsigned long long>(connects_),
            static_cast<unsigned long long>(closed_idle_),
            static_cast<unsigned long long>(unasked_), longest_backlog_);
        if (std::fclose(output_) != 0)
            throw std::runtime_error("cannot write " + options_.output);
    }

    const Options options_;
    const std::vector<Request> requests_;
    std::vector<Connection> connections_;
    std::deque<std::size_t> free_, free_fresh_;
    std::deque<Job> backlog_;
    std::map<std::int64_t, Second> seconds_;
    std::uint64_t made_ = 0, number_;
    std::size_t outstanding_ = 0, longest_backlog_ = 0;
    std::uint64_t connects_ = 0, closed_idle_ = 0, unasked_ = 0;
    Time start_, end_;
    std::FILE* output_;
    int epoll_;
};

Options parse_options(int argc, char** argv)
{
    Options options;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string name = argv[i];
        const char* value = argv[i + 1];
        if (name == "--port")
            options.port = std::atoi(value);
        else if (name == "--rate")
            options.rate = std::atof(value);
        else if (name == "--connections")
            options.connections = std::strtoul(value, nullptr, 10);
        else if (name == "--seconds")
            options.seconds = std::atof(value);
        else if (name == "--warm-up")
            options.warm_up = std::atof(value);
        else if (name == "--first-number")
            options.first_number = std::strtoull(value, nullptr, 10);
        else if (name == "--requests")
            options.requests = value;
        else if (name == "--output")
            options.output = value;
        else
            throw std::runtime_error("unknown option " + name);
    }
    return options;
}

}  // namespace

int main(int argc, char** argv)
{
    try {
        std::signal(SIGTERM, [](int) { interrupted = 1; });
        std::signal(SIGINT, [](int) { interrupted = 1; });
        // Timeouts are otherwise rounded up to 50 µs.
        prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
        Generator(parse_options(argc, argv)).run();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "paced: %s\n", error.what());
        return 1;
    }
}
