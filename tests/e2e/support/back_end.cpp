#include "back_end.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>

namespace petstore::e2e {

namespace {

// FastCGI record types.
enum RecordType { kBeginRequest = 1, kEndRequest = 3, kParams = 4, kStdin = 5 };
constexpr char kStdout = 6;

unsigned byte(const std::string& text, std::size_t at)
{
    return static_cast<unsigned char>(text.at(at));
}

std::string record(char type, const std::string& content)
{
    std::string text(8, '\0');
    text[0] = 1;
    text[1] = type;
    text[3] = 1;
    text[4] = static_cast<char>(content.size() >> 8);
    text[5] = static_cast<char>(content.size() & 255);
    return text + content;
}

// Reads the length of a name or value in a parameters record.
std::size_t take_length(const std::string& text, std::size_t& at)
{
    std::size_t length = byte(text, at++);
    if (length > 127) {
        length = (length & 127) << 24 | byte(text, at) << 16
                 | byte(text, at + 1) << 8 | byte(text, at + 2);
        at += 3;
    }
    return length;
}

std::string header_name(std::string parameter)
{
    std::replace(parameter.begin(), parameter.end(), '_', '-');
    return to_lower(parameter.substr(5));  // without HTTP_
}

}  // namespace

// Reads a connection's bytes. Methods return false at its end.
class BackEnd::Reader {
public:
    explicit Reader(int fd) : fd_(fd) {}

    bool take(std::size_t size, std::string& text)
    {
        while (buffer_.size() < size) {
            if (!receive_some(fd_, buffer_)) {
                return false;
            }
        }
        text = buffer_.substr(0, size);
        buffer_.erase(0, size);
        return true;
    }

    bool take_line(std::string& line)
    {
        auto end = buffer_.find("\r\n");
        for (; end == std::string::npos; end = buffer_.find("\r\n")) {
            if (!receive_some(fd_, buffer_)) {
                return false;
            }
        }
        line = buffer_.substr(0, end);
        buffer_.erase(0, end + 2);
        return true;
    }

    // Echoes all input.
    void echo()
    {
        while (send_all(fd_, std::exchange(buffer_, {}))
               && receive_some(fd_, buffer_)) {
        }
    }

private:
    const int fd_;
    std::string buffer_;
};

bool BackEnd::Request::has(const std::string& name) const
{
    return std::any_of(headers.begin(), headers.end(),
                       [&](const auto& each) { return each.first == name; });
}

std::string BackEnd::Request::header(const std::string& name) const
{
    Response message;
    message.headers = headers;
    return message.header(name);
}

BackEnd::BackEnd(Script script, Protocol protocol)
    : script_(
        script
            ? std::move(script)
            : [](const Request&) { return Response{200, "1.1", {}, "back end"}; }),
      protocol_(protocol), port_(free_port()),
      server_(listen_tcp(port_), [this](int fd) { serve(fd); })
{}

std::string BackEnd::address() const
{
    return own_address() + ":" + std::to_string(port_);
}

std::vector<BackEnd::Request> BackEnd::requests() const
{
    const std::lock_guard lock(mutex_);
    return requests_;
}

BackEnd::Request BackEnd::last() const
{
    const std::lock_guard lock(mutex_);
    if (requests_.empty()) {
        throw HarnessError("nothing has reached the back end");
    }
    return requests_.back();
}

void BackEnd::serve(int fd)
{
    Reader reader(fd);
    for (bool going = true; going;) {
        Request request;
        going = protocol_ == Protocol::http ? read_http(reader, request)
                                            : read_fastcgi(reader, request);
        if (!going) {
            break;
        }
        {
            const std::lock_guard lock(mutex_);
            requests_.push_back(request);
        }
        server_.wait_while_held();
        const Response response = script_(request);
        going =
            send_all(fd, encode(request, response)) && request.version == "1.1";
        if (going && response.status == 101) {
            reader.echo();
            break;
        }
    }
}

bool BackEnd::read_http(Reader& reader, Request& request) const
{
    std::string line;
    if (!reader.take_line(line)) {
        return false;
    }
    const auto words = split(line, ' ');
    request.method = words.at(0);
    request.target = words.at(1);
    request.version = words.at(2).substr(5);
    for (;;) {
        if (!reader.take_line(line)) {
            return false;
        }
        if (line.empty()) {
            break;
        }
        const auto colon = line.find(": ");
        request.headers.emplace_back(to_lower(line.substr(0, colon)),
                                     line.substr(colon + 2));
    }
    if (!request.has("transfer-encoding")) {
        return !request.has("content-length")
               || reader.take(std::stoul(request.header("content-length")),
                              request.body);
    }
    for (;;) {
        std::string chunk;
        if (!reader.take_line(line)
            || !reader.take(std::stoul(line, nullptr, 16), chunk)
            || !reader.take_line(line)) {
            return false;
        }
        if (chunk.empty()) {
            return true;
        }
        request.body += chunk;
    }
}

bool BackEnd::read_fastcgi(Reader& reader, Request& request) const
{
    std::string parameters;
    for (;;) {
        std::string head;
        std::string content;
        std::string padding;
        if (!reader.take(8, head)
            || !reader.take(byte(head, 4) << 8 | byte(head, 5), content)
            || !reader.take(byte(head, 6), padding)) {
            return false;
        }
        if (byte(head, 1) == kParams) {
            parameters += content;
        } else if (byte(head, 1) == kStdin) {
            request.body += content;
            if (content.empty()) {
                break;
            }
        }
    }
    for (std::size_t at = 0; at < parameters.size();) {
        const auto name_size = take_length(parameters, at);
        const auto value_size = take_length(parameters, at);
        const auto name = parameters.substr(at, name_size);
        const auto value = parameters.substr(at + name_size, value_size);
        at += name_size + value_size;
        if (name == "REQUEST_METHOD") {
            request.method = value;
        } else if (name == "REQUEST_URI") {
            request.target = value;
        } else if (name.rfind("HTTP_", 0) == 0) {
            request.headers.emplace_back(header_name(name), value);
        }
    }
    return true;
}

std::string BackEnd::encode(const Request& request,
                            const Response& response) const
{
    const bool http = protocol_ == Protocol::http;
    std::string text = http ? "HTTP/1.1 " : "Status: ";
    text += std::to_string(response.status) + " As Told\r\n";
    for (const auto& [name, value] : response.headers) {
        text += name + ": " + value + "\r\n";
    }
    if (response.status != 101 && response.status != 204
        && response.status != 304) {
        text +=
            "Content-Length: " + std::to_string(response.body.size()) + "\r\n";
    }
    text += "\r\n";
    if (request.method != "HEAD") {
        text += response.body;
    }
    return http ? text
                : record(kStdout, text) + record(kStdout, "")
                      + record(kEndRequest, std::string(8, '\0'));
}

}  // namespace petstore::e2e
