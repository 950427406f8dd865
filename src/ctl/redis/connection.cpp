#include "connection.h"

#include <poll.h>
#include <utility>

#include "../terminal/interruption.h"
#include "tls_stream.h"

namespace petstore::ctl {

namespace {

using Clock = std::chrono::steady_clock;
using redis::ConnectionError;

// Higher than a worker's, because an operator requests more at once and trusts
// the server. They only guard against servers that are not Redis. The largest
// reply is that to DUMP of a bitmap with 4,000,000,000 bits.
constexpr redis::ReplyLimits kLimits = {4, std::size_t{1} << 20,
                                        std::size_t{512} << 20};
constexpr std::size_t kReadSize = 64 * 1024;

}  // namespace

void wait_for(const redis::ByteStream& stream, short events,
              Clock::time_point until)
{
    pollfd socket = {stream.descriptor(), events, 0};
    while (socket.revents == 0) {
        if (Clock::now() >= until) {
            throw redis::TimedOut("no answer in time");
        }
        Interruption::poll(&socket, 1, until, true);
    }
}

Connection::Connection(std::unique_ptr<redis::ByteStream> stream)
    : stream_(std::move(stream)),
      decoder_(std::make_unique<redis::Decoder>(kLimits))
{
    input_.resize(kReadSize);
}

const redis::Reply& Connection::ask(const redis::Command& command,
                                    Timeout timeout)
{
    const auto until = Clock::now() + timeout;
    std::string bytes;
    command.append_to(bytes);
    std::string_view left = bytes;
    for (;;) {
        left.remove_prefix(write(left, left.size() == bytes.size()));
        if (const redis::Reply* const reply = next()) {
            return *reply;
        }
        const bool writes = !left.empty() || stream_->has_output();
        if (!stream_->has_input()) {
            wait_for(*stream_,
                     static_cast<short>(POLLIN | (writes ? POLLOUT : 0)),
                     until);
        }
        read();
    }
}

std::size_t Connection::write(std::string_view bytes, bool first)
{
    if (bytes.empty() && !stream_->has_output()) {
        return 0;
    }
    try {
        return stream_->write(bytes);
    } catch (const ConnectionError&) {
        const std::string words = last_words();
        if (words.empty()) {
            throw;
        }
        if (first) {
            throw Refused(words);
        }
        throw ConnectionError(words);
    }
}

void Connection::read()
{
    const auto got = stream_->read(input_.data(), input_.size());
    if (!got) {
        return;
    }
    if (*got == 0) {
        throw ConnectionError("Redis closed the connection");
    }
    decoder_->feed(std::string_view(input_).substr(0, *got));
}

const redis::Reply* Connection::next()
{
    const redis::Reply* reply = nullptr;
    switch (decoder_->next(reply)) {
    case redis::Decoder::State::reply:
        return reply;
    case redis::Decoder::State::incomplete:
        return nullptr;
    case redis::Decoder::State::broken:
        break;
    }
    throw ConnectionError("this is not Redis: " + decoder_->problem());
}

// The error that Redis sent before it closed the connection, if any. Waits for
// nothing: the end of what arrived is the end of the connection. Throws
// TlsError if the server ended TLS with a reason: with TLS 1.3, it refuses a
// client certificate only after the handshake.
std::string Connection::last_words()
{
    std::string words;
    try {
        for (;;) {
            while (const redis::Reply* const reply = next()) {
                words = reply->is_error() ? reply->text() : "";
            }
            const auto got = stream_->read(input_.data(), input_.size());
            if (got.value_or(0) == 0) {
                return words;
            }
            decoder_->feed(std::string_view(input_).substr(0, *got));
        }
    } catch (const TlsError&) {
        throw;
    } catch (const ConnectionError&) {
        return words;
    }
}

}  // namespace petstore::ctl
