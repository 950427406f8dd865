#include "blocking_connection.h"

#include <utility>

namespace petstore::redis {

namespace {

// Higher than a worker's, because an operator requests more at once and trusts
// the server. They only guard against servers that are not Redis. The largest
// reply is that to DUMP of a bitmap with 4,000,000,000 bits.
constexpr ReplyLimits kLimits = {4, std::size_t{1} << 20,
                                 std::size_t{512} << 20};
constexpr std::size_t kReadSize = 64 * 1024;

// For the reply to the PING after a pause.
constexpr std::chrono::seconds kPatience(1);

}  // namespace

BlockingConnection::BlockingConnection(std::unique_ptr<ByteStream> stream)
    : stream_(std::move(stream)), decoder_(std::make_unique<Decoder>(kLimits))
{
    input_.resize(kReadSize);
}

void BlockingConnection::flush()
{
    if (output_.empty()) {
        return;
    }
    if (reopen_ && due_ == 0 && Clock::now() - wrote_at_ >= kTrusted) {
        prove();
    }
    wrote_at_ = Clock::now();
    std::string_view left = output_;
    while (!left.empty()) {
        const bool untouched = left.size() == output_.size();
        try {
            left.remove_prefix(stream_->write(left));
        } catch (const TimedOut& error) {
            if (untouched) {
                throw NotSent(error.what());
            }
            throw;
        } catch (const ConnectionError& error) {
            const std::string words = last_words();
            if (untouched && !words.empty()) {
                throw Refused(words);
            }
            if (untouched) {
                throw NotSent(error.what());
            }
            throw ConnectionError(words.empty() ? error.what() : words);
        }
    }
    output_.clear();
    due_ += std::exchange(appended_, 0);
}

void BlockingConnection::prove()
{
    std::string output;
    output.swap(output_);
    const std::size_t appended = std::exchange(appended_, 0);
    const Timeout timeout = timeout_;
    wrote_at_ = Clock::now();
    try {
        set_timeout(kPatience);
        append(Command("PING"));
        get();
        set_timeout(timeout);
    } catch (const ConnectionError&) {
        replace();
    }
    output_ = std::move(output);
    appended_ = appended;
}

void BlockingConnection::replace()
{
    try {
        BlockingConnection next = reopen_();
        stream_ = std::move(next.stream_);
        decoder_ = std::move(next.decoder_);
        timeout_ = next.timeout_;
        due_ = 0;
    } catch (const ConnectionError& error) {
        throw NotSent(error.what());
    }
}

// The error that Redis sent before it closed the connection, if any. Waits for
// nothing: the end of what arrived is the end of the connection.
std::string BlockingConnection::last_words() noexcept
{
    std::string words;
    try {
        for (;;) {
            const Reply* reply = nullptr;
            switch (decoder_->next(reply)) {
            case Decoder::State::reply:
                words = reply->is_error() ? reply->text() : "";
                continue;
            case Decoder::State::broken:
                return words;
            case Decoder::State::incomplete:
                break;
            }
            const std::size_t got = stream_->read(input_.data(), input_.size());
            if (got == 0) {
                return words;
            }
            decoder_->feed(std::string_view(input_).substr(0, got));
        }
    } catch (const std::exception&) {
        return words;
    }
}

const Reply& BlockingConnection::get()
{
    flush();
    const auto start = Clock::now();
    for (;;) {
        const Reply* reply = nullptr;
        switch (decoder_->next(reply)) {
        case Decoder::State::reply:
            --due_;
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
