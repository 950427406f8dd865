// The requests of a plan, and their responses.

#pragma once

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <strings.h>
#include <vector>

// In place of a status if there was no response.
enum Failure { no_connection = 1, closed, timed_out, malformed };
constexpr const char* failure_names[] = {"", "no-connection", "closed",
                                         "timed-out", "malformed"};

inline std::string status_name(int status)
{
    return status < 100 ? failure_names[status] : std::to_string(status);
}

struct Request {
    std::string kind;
    int expected = 0;
    bool fresh = false;       // on a new connection, closed afterwards
    bool numbered = false;    // creates a pet; the text has placeholders
    bool repeatable = false;  // safe to repeat, by HTTP
    std::string text;
};

// For each request, the file has a line "KIND STATUS FLAGS LENGTH" followed by
// LENGTH bytes of text.
inline std::vector<Request> read_requests(const std::string& name)
{
    std::ifstream file(name, std::ios::binary);
    std::vector<Request> requests;
    Request request;
    std::string flags;
    std::size_t length = 0;
    while (file >> request.kind >> request.expected >> flags >> length) {
        file.get();  // the end of the line
        request.fresh = flags.find('f') != std::string::npos;
        request.numbered = flags.find('n') != std::string::npos;
        request.repeatable = flags.find('r') != std::string::npos;
        request.text.resize(length);
        file.read(request.text.data(), static_cast<std::streamsize>(length));
        requests.push_back(request);
    }
    if (requests.empty())
        throw std::runtime_error("no requests in " + name);
    return requests;
}

struct Response {
    int status = 0;
    bool complete = false;
    bool close = false;
    std::string body;
};

inline Response parse(const std::string& input)
{
    Response response;
    const std::size_t head = input.find("\r\n\r\n");
    if (head == std::string::npos)
        return response;
    response.status = malformed;
    response.complete = true;
    if (input.compare(0, 7, "HTTP/1.") != 0)
        return response;
    std::size_t length = 0;
    bool has_length = false;
    for (std::size_t line = input.find("\r\n") + 2; line < head + 2;
         line = input.find("\r\n", line) + 2) {
        const char* text = input.c_str() + line;
        if (strncasecmp(text, "content-length:", 15) == 0) {
            length = std::strtoul(text + 15, nullptr, 10);
            has_length = true;
        } else if (strncasecmp(text, "connection: close", 17) == 0) {
            response.close = true;
        }
    }
    const std::size_t end = head + 4 + length;
    response.complete = input.size() >= end;
    if (response.complete && has_length && input.size() == end) {
        response.status = std::atoi(input.c_str() + 9);
        response.body = input.substr(head + 4);
    }
    return response;
}
