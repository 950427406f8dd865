#include "blocking_connection.h"

#include <cerrno>
#include <hiredis/hiredis.h>
#include <new>
#include <sys/socket.h>
#include <sys/time.h>
#include <system_error>
#include <utility>

namespace petstore::redis {

namespace {

// Wider than a worker's, because an operator asks for more at once and trusts
// the server. They only guard against servers that are not Redis.
constexpr ReplyLimits kLimits = {4, std::size_t{1} << 20,
                                 std::size_t{64} << 20};
constexpr std::size_t kReadSize = 64 * 1024;

timeval to_timeval(BlockingConnection::Timeout timeout)
{
    timeval value = {};
    value.tv_sec = static_cast<time_t>(timeout.count() / 1000);
    value.tv_usec = static_cast<suseconds_t>(timeout.count() % 1000 * 1000);
    return value;
}

std::string reason_of(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK
               ? "no answer in time"
               : std::generic_category().message(error);
}

}  // namespace

struct BlockingConnection::Context {
    // Owns the hiredis context and its socket.
    explicit Context(redisContext* made) : hiredis(made)
    {
        if (!hiredis) {
            throw std::bad_alloc();
        }
        if (hiredis->err) {
            const std::string why = hiredis->errstr;
            redisFree(hiredis);
            throw ConnectionError(why);
        }
    }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    ~Context() { redisFree(hiredis); }

    redisContext* hiredis;
};

BlockingConnection::BlockingConnection(std::unique_ptr<Context> context)
    : context_(std::move(context)), decoder_(std::make_unique<Decoder>(kLimits))
{
    input_.resize(kReadSize);
}

BlockingConnection::BlockingConnection(BlockingConnection&&) noexcept = default;
BlockingConnection::~BlockingConnection() = default;

BlockingConnection BlockingConnection::tcp(const std::string& host, int port,
                                           Timeout timeout)
{
    return BlockingConnection(std::make_unique<Context>(
        redisConnectWithTimeout(host.c_str(), port, to_timeval(timeout))));
}

BlockingConnection BlockingConnection::unix_socket(const std::string& path,
                                                   Timeout timeout)
{
    return BlockingConnection(std::make_unique<Context>(
        redisConnectUnixWithTimeout(path.c_str(), to_timeval(timeout))));
}

void BlockingConnection::set_timeout(Timeout timeout)
{
    if (redisSetTimeout(context_->hiredis, to_timeval(timeout)) != REDIS_OK) {
        throw ConnectionError(context_->hiredis->errstr);
    }
}

int BlockingConnection::descriptor() const noexcept
{
    return context_->hiredis->fd;
}

void BlockingConnection::flush()
{
    std::string_view left = output_;
    while (!left.empty()) {
        // A lost connection is an error to report, not a SIGPIPE.
        const ssize_t sent =
            send(context_->hiredis->fd, left.data(), left.size(), MSG_NOSIGNAL);
        if (sent >= 0) {
            left.remove_prefix(static_cast<std::size_t>(sent));
        } else if (errno != EINTR) {
            const std::string reason = reason_of(errno);
            if (left.size() == output_.size()) {
                throw NotSent(reason);
            }
            throw ConnectionError(reason);
        }
    }
    output_.clear();
}

const Reply& BlockingConnection::get()
{
    flush();
    for (;;) {
        const Reply* reply = nullptr;
        switch (decoder_->next(reply)) {
        case Decoder::State::reply:
            return *reply;
        case Decoder::State::broken:
            throw ConnectionError("this is no Redis: " + decoder_->problem());
        case Decoder::State::incomplete:
            break;
        }
        const ssize_t got =
            recv(context_->hiredis->fd, input_.data(), input_.size(), 0);
        if (got == 0) {
            throw ConnectionError("Redis closed the connection");
        }
        if (got > 0) {
            decoder_->feed(std::string_view(input_).substr(
                0, static_cast<std::size_t>(got)));
        } else if (errno != EINTR) {
            throw ConnectionError(reason_of(errno));
        }
    }
}

}  // namespace petstore::redis
