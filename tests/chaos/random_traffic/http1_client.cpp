#include "http1_client.h"

namespace petstore::e2e {

namespace {

// Longer than every timeout that applies to a polite client: a response not
// received by then never comes.
constexpr auto kNever = 25s;

std::string without_secrets(std::string text)
{
    for (const auto& secret : secrets()) {
        replace_all(text, secret, "SECRET");
    }
    return text;
}

[[noreturn]] void no_http(const std::string& why, const std::string& bytes)
{
    throw HarnessError(why + ": " + excerpt(bytes, 600));
}

// Takes a line without its line end; false if it is incomplete.
bool take_line(const std::string& bytes, std::size_t& at, std::string& line)
{
    const auto end = bytes.find("\r\n", at);
    if (end == std::string::npos) {
        return false;
    }
    line = bytes.substr(at, end - at);
    at = end + 2;
    return true;
}

bool take_chunks(const std::string& bytes, std::size_t& at, std::string& body)
{
    std::string line;
    for (;;) {
        if (!take_line(bytes, at, line)) {
            return false;
        }
        if (line.empty()
            || line.find_first_not_of("0123456789abcdefABCDEF")
                   != std::string::npos) {
            no_http("no chunk size \"" + line + "\"", bytes);
        }
        const auto size = std::stoul(line, nullptr, 16);
        if (bytes.size() < at + size + 2) {
            return false;
        }
        body.append(bytes, at, size);
        at += size;
        if (bytes.compare(at, 2, "\r\n") != 0) {
            no_http("a chunk is longer than its size", bytes);
        }
        at += 2;
        if (size == 0) {
            return true;
        }
    }
}

}  // namespace

bool take_response(std::string& bytes, bool head, bool ended,
                   Response& response)
{
    response = {};
    std::size_t at = 0;
    std::string line;
    if (!take_line(bytes, at, line)) {
        return false;
    }
    if (line.rfind("HTTP/1.1 ", 0) != 0 || line.size() < 12) {
        no_http("no status line", bytes);
    }
    response.version = "1.1";
    response.status = std::atoi(line.c_str() + 9);
    if (response.status < 100 || response.status > 599) {
        no_http("no status", bytes);
    }
    for (;;) {
        if (!take_line(bytes, at, line)) {
            return false;
        }
        if (line.empty()) {
            break;
        }
        const auto colon = line.find(": ");
        if (colon == std::string::npos || colon == 0) {
            no_http("no header \"" + line + "\"", bytes);
        }
        response.headers.emplace_back(to_lower(line.substr(0, colon)),
                                      line.substr(colon + 2));
    }
    const auto lengths = response.all("content-length");
    const bool chunked = response.has("transfer-encoding");
    if (lengths.size() + (chunked ? 1 : 0) > 1) {
        no_http("more than one length", bytes);
    }
    if (head || response.status < 200 || response.status == 204
        || response.status == 304) {
        bytes.erase(0, at);
        return true;
    }
    if (chunked) {
        if (!take_chunks(bytes, at, response.body)) {
            return false;
        }
    } else if (!lengths.empty()) {
        const auto size = std::stoul(lengths.front());
        if (bytes.size() < at + size) {
            return false;
        }
        response.body = bytes.substr(at, size);
        at += size;
    } else {
        if (!ended) {
            return false;
        }
        response.body = bytes.substr(at);
        at = bytes.size();
    }
    bytes.erase(0, at);
    return true;
}

Http1Client::Http1Client(World& world, std::vector<Target> targets,
                         std::uint64_t seed, const std::string& name,
                         const std::atomic<bool>& stop)
    : world_(world), targets_(std::move(targets)), random_(seed, name),
      name_(name), requests_(world, random_, name), stop_(stop)
{}

void Http1Client::run()
{
    while (!stop_) {
        target_ = random_.pick(targets_);
        buffer_.clear();
        sent_.clear();
        const int kind = random_.between(1, 100);
        try {
            if (kind <= 50) {
                polite();
            } else if (kind <= 84) {
                leave();
            } else if (kind <= 88) {
                stall();
            } else {
                nonsense();
            }
        } catch (const HarnessError& problem) {
            complain(problem.what(), sent_, buffer_);
        }
        world_.journal.count("connections");
        std::this_thread::sleep_for(random_.millis(0, 20));
    }
}

void Http1Client::complain(const std::string& what, const std::string& request,
                           const std::string& answer)
{
    world_.journal.complain(
        name_, what + "\n    by " + target_.name() + ": "
                   + excerpt(without_secrets(request), 1500)
                   + "\n    came: " + excerpt(without_secrets(answer), 1500));
}

// --- requests on the wire ----------------------------------------------------

Http1Client::Manner Http1Client::manner()
{
    Manner manner;
    manner.chunked = random_.chance(30);
    manner.expect = random_.chance(8);
    manner.close = random_.chance(6);
    manner.absolute = random_.chance(4);
    if (random_.chance(5)) {
        manner.version = "1.0";
        manner.chunked = false;
        manner.expect = false;
    }
    return manner;
}

std::string Http1Client::head_of(const Ask& ask, const Manner& manner) const
{
    std::string head = ask.method + " "
                       + (manner.absolute ? "http://localhost" : "") + ask.path
                       + " HTTP/" + manner.version + "\r\nHost: localhost\r\n";
    for (const auto& [name, value] : ask.headers) {
        head += name + ": " + value + "\r\n";
    }
    if (ask.body) {
        head += manner.chunked
                    ? "Transfer-Encoding: chunked\r\n"
                    : "Content-Length: " + std::to_string(ask.body->size())
                          + "\r\n";
        if (manner.expect) {
            head += "Expect: 100-continue\r\n";
        }
    }
    if (manner.close) {
        head += "Connection: close\r\n";
    } else if (manner.version == "1.0") {
        head += "Connection: keep-alive\r\n";
    }
    return head + "\r\n";
}

std::string Http1Client::body_of(const Ask& ask, const Manner& manner)
{
    if (!ask.body || !manner.chunked) {
        return ask.body.value_or("");
    }
    std::string bytes;
    for (std::size_t at = 0; at < ask.body->size();) {
        const auto left = static_cast<int>(ask.body->size() - at);
        const auto size =
            static_cast<std::size_t>(random_.between(1, std::min(left, 4000)));
        char line[40];
        std::snprintf(line, sizeof(line), "%zx%s\r\n", size,
                      random_.chance(10) ? ";extension=x" : "");
        bytes += line + ask.body->substr(at, size) + "\r\n";
        at += size;
    }
    return bytes + "0\r\n" + (random_.chance(5) ? "Trailer: x\r\n" : "")
           + "\r\n";
}

std::string Http1Client::request_of(const Ask& ask, const Manner& manner)
{
    return head_of(ask, manner) + body_of(ask, manner);
}

// Waits until something arrives, at most for `time`. Keeps what arrives.
void Http1Client::pause(Wire& wire, std::chrono::milliseconds time)
{
    wire.receive(buffer_, time);
}

bool Http1Client::send_somehow(Wire& wire, const std::string& bytes)
{
    sent_ += bytes;
    if (random_.chance(60)) {
        return wire.send(bytes);
    }
    const bool single = random_.chance(20) && bytes.size() < 1500;
    const bool pauses = random_.chance(30);
    for (std::size_t at = 0; at < bytes.size();) {
        const auto size =
            static_cast<std::size_t>(single ? 1 : random_.between(1, 600));
        if (!wire.send(std::string_view(bytes).substr(at, size))) {
            return false;
        }
        at += size;
        if (pauses && random_.chance(single ? 2 : 30)) {
            pause(wire, random_.millis(0, 15));
        }
    }
    return true;
}

// --- polite clients ----------------------------------------------------------

// Sends the body once the server asks for it. False if the server responds
// instead.
bool Http1Client::expect_then_send(Wire& wire, Ask& ask, const Manner& manner)
{
    const auto head = head_of(ask, manner);
    sent_ += head;
    if (!wire.send(head)) {
        return false;
    }
    const auto until = Clock::now() + kNever;
    const std::string go = "HTTP/1.1 100 Continue\r\n\r\n";
    while (buffer_.size() < go.size()) {
        const auto got = wire.receive(buffer_, 100ms);
        if (got == Wire::Got::end || Clock::now() > until) {
            return false;
        }
    }
    if (buffer_.compare(0, go.size(), go) != 0) {
        return false;
    }
    buffer_.erase(0, go.size());
    return send_somehow(wire, body_of(ask, manner));
}

void Http1Client::polite()
{
    const auto wire = Wire::open(target_);
    if (!wire) {
        return;
    }
    bool fresh = true;
    for (int batch = random_.between(1, 4); batch > 0 && !stop_; --batch) {
        std::vector<Sent> sent;
        std::string bytes;
        bool going = true;
        for (int i = random_.between(1, 5); i > 0 && going; --i) {
            Sent next{requests_.any()};
            const Manner how = manner();
            world_.journal.note(name_, next.ask.title());
            next.last = how.close;
            going = !how.close;
            if (how.expect && next.ask.body && sent.empty()) {
                // A refused body need not be sent: nginx closes the connection
                // then.
                next.last = !expect_then_send(*wire, next.ask, how);
                sent.push_back(std::move(next));
                break;
            }
            bytes += request_of(next.ask, how);
            sent.push_back(std::move(next));
        }
        if (!bytes.empty()) {
            send_somehow(*wire, bytes);  // a refusal may arrive before the end
        }
        if (!read_answers(*wire, sent, fresh)) {
            return;
        }
        fresh = false;
    }
}

// Returns false if the connection has ended. The first request on a connection
// must always be answered; later ones may meet nginx closing an idle
// connection.
bool Http1Client::read_answers(Wire& wire, std::vector<Sent>& sent, bool fresh)
{
    const auto until = Clock::now() + kNever;
    bool ended = false;
    std::size_t answered = 0;
    for (auto& [ask, last] : sent) {
        Response response;
        do {
            while (!take_response(buffer_, ask.method == "HEAD", ended,
                                  response)) {
                if (ended) {
                    if (!buffer_.empty()) {
                        complain("an answer is cut off", sent_, buffer_);
                    } else if (fresh && answered == 0) {
                        complain("no answer on a fresh connection ("
                                     + wire.ended() + ")",
                                 sent_, "");
                    }
                    return false;
                }
                if (Clock::now() > until) {
                    complain("no answer in time to " + ask.title(), sent_,
                             buffer_);
                    return false;
                }
                ended = wire.receive(buffer_, 200ms) == Wire::Got::end;
            }
        } while (response.status == 100);
        ++answered;
        const auto fault = fault_of(ask, response, world_);
        if (!fault.empty()) {
            std::string answer = std::to_string(response.status);
            for (const auto& [name, value] : response.headers) {
                answer += "\n" + name + ": " + value;
            }
            complain(fault + ": " + ask.title(), sent_,
                     answer + "\n" + response.body);
        }
        if (last || response.header("connection") == "close") {
            return false;
        }
    }
    if (!buffer_.empty()) {
        complain("more than the answers that were asked for", sent_, buffer_);
        return false;
    }
    return !ended;
}

// --- the others --------------------------------------------------------------

// Leaves at some point between the first byte sent and the last byte received.
void Http1Client::leave()
{
    const auto wire = Wire::open(target_, random_.chance(20));
    if (!wire) {
        return;
    }
    std::string bytes;
    std::string titles;
    for (int i = random_.pick({1, 1, 1, 2, 5}); i > 0; --i) {
        const Ask ask = requests_.any();
        bytes += request_of(ask, manner());
        titles += (titles.empty() ? "" : ", ") + ask.title();
    }
    std::string how = "leaves after ";
    if (random_.chance(40)) {
        bytes.resize(random_.next() % bytes.size() + 1);
        how += "part of ";
    }
    random_.chance(70) ? wire->send(bytes) : send_somehow(*wire, bytes);

    switch (random_.between(0, 5)) {
    case 0:
    case 1:
        break;  // at once
    case 2:
        pause(*wire, random_.millis(0, 3));
        how += "some ms, ";
        break;
    case 3:
        pause(*wire, random_.millis(1, 300));
        how += "some more ms, ";
        break;
    case 4:
        wire->finish_sending();
        pause(*wire, random_.millis(0, 400));
        how += "half-close, ";
        break;
    default:
        wire->finish_sending();
        how += "half-close at once, ";
    }
    world_.journal.note(name_, how + titles);
    random_.chance(60) ? wire->reset() : wire->close();
}

// Requests more than the socket can buffer and does not read, or stops in the
// middle of a body.
void Http1Client::stall()
{
    const auto wire = Wire::open(target_, true);
    if (!wire) {
        return;
    }
    const auto time = random_.millis(100, 2600);
    if (random_.chance(50)) {
        Ask ask = requests_.any();
        while (!ask.body) {
            ask = requests_.any();
        }
        auto bytes = request_of(ask, manner());
        bytes.resize(bytes.size() - std::min(bytes.size(), std::size_t{3}));
        world_.journal.note(name_, "stalls in a body: " + ask.title());
        wire->send(bytes);
        std::string ignored;
        wire->receive(ignored, time);
    } else {
        std::string bytes;
        for (int i = 0; i < 30; ++i) {
            bytes += request_of(requests_.any(), {});
        }
        world_.journal.note(name_, "does not read 30 answers");
        wire->send(bytes);
        const auto until = Clock::now() + time;
        while (!stop_ && Clock::now() < until) {
            std::this_thread::sleep_for(10ms);
        }
        if (random_.chance(50)) {
            std::string some;
            wire->receive(some, 1ms);
        }
    }
    random_.chance(50) ? wire->reset() : wire->close();
}

// Sends what no client would. Uses a real key only in well-formed headers,
// because nginx logs malformed lines.
void Http1Client::nonsense()
{
    const auto wire = Wire::open(target_);
    if (!wire) {
        return;
    }
    const std::string pets =
        routes().empty() ? "/" : random_.pick(routes()).prefix + "/pets";
    const auto role = random_.pick({Role::good, Role::limited, Role::toggled});
    const std::string post = "POST " + pets
                             + " HTTP/1.1\r\nHost: a\r\n"
                               "Authorization: "
                             + world_.authorization(role, random_) + "\r\n";
    const std::string bytes = random_.pick<std::string>({
        "GET " + pets + "\r\n",  // HTTP/0.9
        "GET " + pets + " HTTP/1.1\r\n\r\n",
        "GET " + pets + " HTTP/3.7\r\nHost: a\r\n\r\n",
        "GET http://localhost" + pets + " HTTP/1.1\r\nHost: b\r\n\r\n",
        "GET " + pets + "?" + std::string(9000, 'a')
            + " HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET " + pets + " HTTP/1.1\r\nHost: a\r\nX: " + std::string(9000, 'b')
            + "\r\n\r\n",
        "GET " + pets
            + " HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x\r\n"
              "Authorization: Bearer y\r\n\r\n",
        post + "Content-Length: x\r\n\r\n",
        post
            + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
              "0\r\n\r\n",
        post + "Transfer-Encoding: gzip\r\n\r\n",
        post + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
        post + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}xx\r\n0\r\n\r\n",
        post + "Transfer-Encoding: chunked\r\n\r\n-5\r\nabc",
        post + "Content-Length: 99999999999\r\n\r\nabc",
        post + "Content-Length: 5\r\nConnection: close\r\n\r\nabcdefgh",
        "TRACE " + pets + " HTTP/1.1\r\nHost: a\r\n\r\n",
        "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /v1/../../x HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /v1/pets/%00 HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET " + pets + "#x HTTP/1.1\r\nHost: a b\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "\r\n\r\n\r\nGET " + pets + " HTTP/1.0\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        random_.bytes(static_cast<std::size_t>(random_.between(1, 2000))),
    });
    world_.journal.note(name_, "nonsense: " + excerpt(bytes, 60));
    sent_ = bytes;
    // The second copy must not be taken for part of the first.
    wire->send(random_.chance(30) ? bytes + bytes : bytes);
    pause(*wire, random_.millis(0, 200));
    random_.chance(40) ? wire->reset() : wire->close();
}

}  // namespace petstore::e2e
