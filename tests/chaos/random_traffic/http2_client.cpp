#include "http2_client.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>

#include "e2e/support/http2_frames.h"

namespace petstore::e2e {

namespace {

constexpr auto kNever = 25s;

constexpr std::size_t kMaxFrame = 16384;

std::string setting(std::uint16_t id, std::uint32_t value)
{
    return big_endian(id, 2) + big_endian(value, 4);
}

}  // namespace

Http2Client::Http2Client(World& world, std::vector<Target> targets,
                         std::uint64_t seed, const std::string& name,
                         const std::atomic<bool>& stop)
    : world_(world), targets_(std::move(targets)), random_(seed, name),
      name_(name), requests_(world, random_, name), stop_(stop),
      inflater_(nullptr, nghttp2_hd_inflate_del)
{}

void Http2Client::run()
{
    while (!stop_) {
        target_ = random_.pick(targets_);
        try {
            connection();
        } catch (const HarnessError& problem) {
            complain(problem.what(), nullptr);
        }
        wire_.reset();
        world_.journal.count("connections");
        std::this_thread::sleep_for(random_.millis(0, 30));
    }
}

void Http2Client::complain(const std::string& what, const Stream* stream)
{
    std::string text = what + "\n    by " + target_.name();
    if (stream != nullptr) {
        text += ": " + stream->ask.title()
                + "\n    came: " + std::to_string(stream->response.status);
        for (const auto& [name, value] : stream->response.headers) {
            text += "\\n" + name + ": " + value;
        }
        text += "\\n" + excerpt(stream->response.body, 1000);
    }
    world_.journal.complain(name_, text);
}

// --- one connection ----------------------------------------------------------

void Http2Client::connection()
{
    polite_ = random_.chance(60);
    // Only impolite clients use a small buffer: it makes TCP so slow that nginx
    // gives up.
    wire_ = Wire::open(target_, !polite_ && random_.chance(30));
    if (!wire_) {
        return;
    }
    nghttp2_hd_inflater* fresh = nullptr;
    nghttp2_hd_inflate_new(&fresh);
    inflater_.reset(fresh);
    alive_ = true;
    goaway_ = false;
    next_id_ = 1;
    streams_.clear();
    in_.clear();
    header_block_.clear();
    greet();

    at_once_ = static_cast<std::size_t>(random_.pick({1, 2, 5, 8, 20}));
    int left = random_.between(1, 60);
    const auto until = Clock::now() + random_.millis(200, 4000);
    while (alive_) {
        const bool more =
            !stop_ && !goaway_ && left > 0 && Clock::now() < until;
        if (!more && streams_.empty()) {
            break;
        }
        if (more && streams_.size() < at_once_) {
            open_stream();
            --left;
        } else if (!polite_ && !more) {
            break;  // with streams left open
        }
        send_bodies();
        disturb();
        if (!read_frames()) {
            break;
        }
        check_patience();
    }
    // nginx may close an idle connection without notice, for example in a
    // reload, even if a request is on its way. It must not cut off a response.
    for (const auto& [id, stream] : streams_) {
        if (polite_ && !alive_ && !goaway_ && stream.started) {
            complain("an answer is cut off (" + wire_->ended() + ")", &stream);
        }
    }
    if (random_.chance(40)) {
        frame(kGoaway, 0, 0, big_endian(0, 8));
    }
    random_.chance(40) ? wire_->reset() : wire_->close();
}

void Http2Client::greet()
{
    stream_window_ = static_cast<std::uint32_t>(
        polite_ ? random_.pick({65535, 65535, 65535, 1'000'000, 700})
                : random_.pick({65535, 0, 1, 100, 1'000'000}));
    std::string settings =
        setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, stream_window_);
    if (random_.chance(30)) {
        settings += setting(
            NGHTTP2_SETTINGS_HEADER_TABLE_SIZE,
            static_cast<std::uint32_t>(random_.pick({0, 1, 4096, 65536})));
    }
    if (random_.chance(30)) {
        settings += setting(
            NGHTTP2_SETTINGS_MAX_FRAME_SIZE,
            static_cast<std::uint32_t>(random_.pick({16384, 20000, 16777215})));
    }
    wire_->send(std::string(kPreface));
    frame(kSettings, 0, 0, settings);
    if (polite_ || random_.chance(50)) {
        window(0, 50'000'000);
    }
}

void Http2Client::frame(std::uint8_t type, std::uint8_t flags, std::uint32_t id,
                        const std::string& payload)
{
    if (alive_ && !wire_->send(http2_frame(type, flags, id, payload))) {
        alive_ = false;
        goaway_ = true;  // a refusal may have gone unread
    }
}

void Http2Client::window(std::uint32_t id, std::uint32_t size)
{
    frame(kWindow, 0, id, big_endian(size, 4));
}

std::string Http2Client::block_of(const Ask& ask) const
{
    std::string block = hpack_field(":method", ask.method)
                        + hpack_field(":scheme", target_.tls ? "https" : "http")
                        + hpack_field(":path", ask.path)
                        + hpack_field(":authority", "localhost");
    for (const auto& [name, value] : ask.headers) {
        block += hpack_field(to_lower(name), value);
    }
    return block;
}

void Http2Client::headers(std::uint32_t id, const std::string& block, bool end)
{
    const std::uint8_t flags = end ? kEndStream : 0;
    // nginx rejects some CONTINUATION frames as unexpected.
    if (polite_ || !random_.chance(20) || block.size() < 2) {
        return frame(kHeaders, flags | kEndHeaders, id, block);
    }
    const auto cut = random_.next() % (block.size() - 1) + 1;
    frame(kHeaders, flags, id, block.substr(0, cut));
    frame(kContinuation, kEndHeaders, id, block.substr(cut));
}

void Http2Client::open_stream()
{
    Stream stream;
    stream.ask = requests_.any();
    world_.journal.note(name_, stream.ask.title());
    const std::uint32_t id = next_id_;
    next_id_ += 2;
    std::string block = block_of(stream.ask);
    const bool has_body = stream.ask.body && !stream.ask.body->empty();
    if (has_body && random_.chance(60)) {
        block += hpack_field("content-length",
                             std::to_string(stream.ask.body->size()));
    }
    headers(id, block, !has_body);
    if (has_body) {
        stream.body = *stream.ask.body;
        stream.body_stalls = !polite_ && random_.chance(10);
    }
    // The window is opened later, or bit by bit.
    stream.wants_window = stream_window_ < 65535;
    streams_[id] = std::move(stream);
    if (!polite_ && random_.chance(20)) {
        world_.journal.note(name_, "resets it at once");
        frame(kReset, 0, id, big_endian(NGHTTP2_CANCEL, 4));
        streams_.erase(id);
    }
}

// Sends some bytes of each body. Every body fits nginx's window.
void Http2Client::send_bodies()
{
    for (auto& [id, stream] : streams_) {
        if (stream.body.empty() || (stream.body_stalls && random_.chance(50))) {
            continue;
        }
        const auto most =
            static_cast<int>(std::min(stream.body.size(), kMaxFrame - 256));
        auto size = static_cast<std::size_t>(
            random_.chance(70) ? most : random_.between(1, most));
        const bool all = size == stream.body.size() && !stream.body_stalls;
        // Sometimes sends the end in a separate frame.
        const bool ends = all && !random_.chance(20);
        frame(kData, ends ? kEndStream : 0, id, stream.body.substr(0, size));
        stream.body.erase(0, size);
        if (all && !ends) {
            frame(kData, kEndStream, id, "");
        }
        stream.since = Clock::now();
    }
    for (auto& [id, stream] : streams_) {
        if (stream.wants_window && (polite_ || random_.chance(30))) {
            const bool wide = random_.chance(20);
            window(id, static_cast<std::uint32_t>(
                           wide ? 10'000'000 : random_.between(1, 20'000)));
            stream.wants_window = !wide;
        }
    }
}

// Does something unusual that a client may do.
void Http2Client::disturb()
{
    if (random_.chance(10)) {
        frame(kPing, 0, 0, random_.bytes(8));
    }
    if (random_.chance(5) && !streams_.empty()) {
        const auto id =
            std::next(streams_.begin(), static_cast<std::ptrdiff_t>(
                                            random_.next() % streams_.size()))
                ->first;
        world_.journal.note(name_, "resets " + streams_[id].ask.title());
        frame(kReset, 0, id, big_endian(NGHTTP2_CANCEL, 4));
        streams_.erase(id);
    }
    if (random_.chance(3)) {
        frame(kPriority, 0, next_id_, big_endian(0, 4) + "\x10");
    }
    if (random_.chance(2)) {
        frame(0x42, 0, 0, random_.bytes(10));  // must be ignored
    }
    if (!polite_ && random_.chance(4)) {
        break_rules();
    }
    if (!polite_ && random_.chance(3)) {
        world_.journal.note(name_, "goes with "
                                       + std::to_string(streams_.size())
                                       + " streams open");
        random_.chance(60) ? wire_->reset() : wire_->close();
        alive_ = false;
    }
}

// Does something that a client must not do. nginx may respond in any way.
void Http2Client::break_rules()
{
    const std::uint32_t id =
        streams_.empty() ? next_id_ : streams_.rbegin()->first;
    const int kind = random_.between(0, 15);
    world_.journal.note(name_, "breaks rule " + std::to_string(kind));
    switch (kind) {
    case 0:
        return window(0, 0);
    case 1:
        return window(id, 0);
    case 2:
        return window(id, 0x7FFFFFFF);
    case 3:
        return frame(kData, 0, 1, "late");
    case 4:
        return headers(2, block_of(requests_.any()), true);
    case 5:
        return frame(kPing, 0, 0, "short");
    case 6:
        return frame(kReset, 0, next_id_ + 100, big_endian(8, 4));
    case 7:
        return frame(kSettings, kAck, 0, "x");
    case 8:
        return frame(kSettings, 0, 0,
                     setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0xFFFFFFFF));
    case 9:
        // Makes windows that are in use negative.
        return frame(kSettings, 0, 0,
                     setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0));
    case 10:
        return frame(kContinuation, kEndHeaders, id, "x");
    case 11:
        return frame(kPriority, 0, id, big_endian(id, 4) + "\x10");
    case 12: {
        headers(next_id_, hpack_field("NAME", "x") + random_.bytes(20), true);
        next_id_ += 2;
        return;
    }
    case 13: {
        Ask ask = requests_.any();
        headers(next_id_, block_of(ask) + hpack_field("content-length", "9999"),
                true);
        next_id_ += 2;
        return;
    }
    case 14:
        return frame(kPush, kEndHeaders, id, big_endian(2, 4));
    default:
        wire_->send(
            random_.bytes(static_cast<std::size_t>(random_.between(1, 100))));
    }
}

// --- what comes back ---------------------------------------------------------

bool Http2Client::read_frames()
{
    const auto got = wire_->receive(in_, random_.millis(0, 20));
    while (in_.size() >= kFrameHead) {
        const auto size = number_at(in_, 0, 3);
        if (in_.size() < kFrameHead + size) {
            break;
        }
        const auto type = static_cast<std::uint8_t>(in_[3]);
        const auto flags = static_cast<std::uint8_t>(in_[4]);
        const auto id = number_at(in_, 5, 4);
        const auto payload = in_.substr(kFrameHead, size);
        in_.erase(0, kFrameHead + size);
        on_frame(type, flags, id, payload);
    }
    if (got == Wire::Got::end) {
        alive_ = false;
    }
    return alive_;
}

void Http2Client::on_frame(std::uint8_t type, std::uint8_t flags,
                           std::uint32_t id, const std::string& payload)
{
    switch (type) {
    case kData:
        return on_data(id, flags, payload);
    case kHeaders:
        header_block_ = payload;
        header_flags_ = flags;
        break;
    case kContinuation:
        header_block_ += payload;
        flags |= header_flags_;
        break;
    case kReset:
        if (polite_ && streams_.count(id) != 0) {
            const auto code =
                payload.size() == 4 ? number_at(payload, 0, 4) : 0;
            const Stream& stream = streams_[id];
            // nginx refuses a stream before it starts, or no longer wants the
            // body once the response is complete.
            if (code != NGHTTP2_REFUSED_STREAM && code != NGHTTP2_NO_ERROR
                && !stream.ask.statuses.empty()
                && stream.ask.route->answers == Route::service) {
                complain("a stream is reset with " + std::to_string(code),
                         &stream);
            }
        }
        streams_.erase(id);
        return;
    case kSettings:
        if ((flags & kAck) == 0) {
            frame(kSettings, kAck, 0, "");
        }
        return;
    case kPing:
        return;
    case kGoaway: {
        goaway_ = true;
        const auto last = payload.size() >= 8 ? number_at(payload, 0, 4) : 0;
        const auto code = payload.size() >= 8 ? number_at(payload, 4, 4) : 0;
        // Many reset streams look like a flood to nginx.
        if (polite_ && code != NGHTTP2_NO_ERROR
            && code != NGHTTP2_ENHANCE_YOUR_CALM) {
            complain("GOAWAY with " + std::to_string(code), nullptr);
        }
        streams_.erase(streams_.upper_bound(last), streams_.end());
        return;
    }
    default:
        return;
    }
    if ((flags & kEndHeaders) != 0) {
        on_headers(id, flags);
    }
}

void Http2Client::on_headers(std::uint32_t id, std::uint8_t flags)
{
    // Decoded even if no stream waits for it: the HPACK table belongs to the
    // connection.
    Response response;
    response.version = "2";
    std::string block = std::move(header_block_);
    header_block_.clear();
    auto* at = reinterpret_cast<std::uint8_t*>(block.data());
    std::size_t left = block.size();
    for (;;) {
        nghttp2_nv field;
        int state = 0;
        const auto taken = nghttp2_hd_inflate_hd2(inflater_.get(), &field,
                                                  &state, at, left, 1);
        if (taken < 0) {
            throw HarnessError("a header block that is no HPACK");
        }
        at += taken;
        left -= static_cast<std::size_t>(taken);
        if ((state & NGHTTP2_HD_INFLATE_EMIT) != 0) {
            const std::string name(reinterpret_cast<char*>(field.name),
                                   field.namelen);
            const std::string value(reinterpret_cast<char*>(field.value),
                                    field.valuelen);
            if (name == ":status") {
                response.status = std::atoi(value.c_str());
            } else {
                response.headers.emplace_back(name, value);
            }
        }
        if ((state & NGHTTP2_HD_INFLATE_FINAL) != 0) {
            nghttp2_hd_inflate_end_headers(inflater_.get());
            break;
        }
        if ((state & NGHTTP2_HD_INFLATE_EMIT) == 0 && left == 0) {
            break;
        }
    }
    const auto found = streams_.find(id);
    if (found == streams_.end() || response.status == 100) {
        return;
    }
    Stream& stream = found->second;
    if (stream.started) {
        complain("two headers of one answer", &stream);
    }
    stream.started = true;
    stream.response = std::move(response);
    if ((flags & kEndStream) != 0) {
        finish(id);
    }
}

void Http2Client::on_data(std::uint32_t id, std::uint8_t flags,
                          const std::string& payload)
{
    const auto found = streams_.find(id);
    if (found == streams_.end()) {
        return;
    }
    Stream& stream = found->second;
    stream.response.body += payload;
    stream.since = Clock::now();
    if (polite_ && stream_window_ < 65535) {
        stream.wants_window = true;
    }
    if ((flags & kEndStream) != 0) {
        finish(id);
    }
}

void Http2Client::finish(std::uint32_t id)
{
    const auto found = streams_.find(id);
    Stream& stream = found->second;
    const Response& response = stream.response;
    std::string fault;
    if (!stream.started || response.status < 200) {
        fault = "an answer without a header";
    } else if (response.has("content-length") && stream.ask.method != "HEAD"
               && response.header("content-length")
                      != std::to_string(response.body.size())) {
        fault = "a body of another length";
    } else {
        // A missing body causes 408; one that a broken rule made longer causes
        // 400.
        if (!polite_ && stream.ask.body) {
            stream.ask.statuses.insert({400, 408});
        }
        fault = fault_of(stream.ask, response, world_);
    }
    if (!fault.empty()) {
        complain(fault, &stream);
    }
    streams_.erase(found);
}

void Http2Client::check_patience()
{
    for (const auto& [id, stream] : streams_) {
        if (polite_ && Clock::now() - stream.since > kNever) {
            complain("no answer in time", &stream);
            alive_ = false;
            goaway_ = true;
            return;
        }
    }
}

}  // namespace petstore::e2e
