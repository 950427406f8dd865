#include "blocking_connection.h"

#include <chrono>
#include <utility>

namespace petstore::redis {

namespace {

// Higher than a worker's, because an operator requests more at once and trusts
// the server. They only guard against servers that are not Redis. The largest
// reply is that to DUMP of a bitmap with 4,000,000,000 bits.
constexpr ReplyLimits kLimits = {4, std::size_t{1} << 20,
                                 std::size_t{512} << 20};
constexpr std::size_t kReadSize = 64 * 1024;

}  // namespace

BlockingConnection::BlockingConnection(std::unique_ptr<ByteStream> stream)
    : stream_(std::move(stream)), decoder_(std::make_unique<Decoder>(kLimits))
{
    input_.resize(kReadSize);
}

void BlockingConnection::flush()
{
    std::string_view left = output_;
    while (!left.empty()) {
        try {
            left.remove_prefix(stream_->write(left));
        } catch (const ConnectionError& error) {
            if (left.size() == output_.size()) {
                throw NotSent(error.what());
            }
            throw;
        }
    }
    output_.clear();
}

const Reply& BlockingConnection::get()
{
    using Clock = std::chrono::steady_clock;
    flush();
    const auto start = Clock::now();
    for (;;) {
        const Reply* reply = nullptr;
        switch (decoder_->next(reply)) {
        case Decoder::State::reply:
            return *reply;
        case Decoder::State::broken:
            throw ConnectionError("this is not Redis: " + decoder_->problem());
        case Decoder::State::incomplete:
            break;
        }
        if (timeout_.count() != 0 && Clock::now() - start > timeout_) {
            throw ConnectionError("no answer in time");
        }
        const std::size_t got = stream_->read(input_.data(), input_.size());
        if (got == 0) {
            throw ConnectionError("Redis closed the connection");
        }
        decoder_->feed(std::string_view(input_).substr(0, got));
    }
}

}  // namespace petstore::redis
