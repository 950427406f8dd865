#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "http.h"
#include "threaded_server.h"

namespace petstore::e2e {

// The service behind a proxy: an HTTP/1.1 or FastCGI server at own_address()
// with one thread per connection, which records requests.
class BackEnd {
public:
    struct Request {
        std::string method;
        std::string target;
        std::string version;  // "1.1"
        Headers headers;      // lower-case names
        std::string body;

        bool has(const std::string& name) const;
        // As Response::header().
        std::string header(const std::string& name) const;
    };
    // A response with status 101 turns the connection into an echo.
    using Script = std::function<Response(const Request&)>;
    enum class Protocol { http, fastcgi };

    // Without a script: 200 with "back end" as its body.
    explicit BackEnd(Script script = {}, Protocol protocol = Protocol::http);

    std::string address() const;  // host:port

    // Complete requests so far, in the order of arrival.
    std::vector<Request> requests() const;
    std::size_t count() const { return requests().size(); }
    // The latest one.
    Request last() const;

    // Holds back all responses until release().
    void hold() { server_.hold(); }
    void release() { server_.release(); }

private:
    class Reader;

    void serve(int fd);
    bool read_http(Reader& reader, Request& request) const;
    bool read_fastcgi(Reader& reader, Request& request) const;
    std::string encode(const Request& request, const Response& response) const;

    const Script script_;
    const Protocol protocol_;
    const int port_;
    mutable std::mutex mutex_;
    std::vector<Request> requests_;  // under the mutex
    ThreadedServer server_;
};

}  // namespace petstore::e2e
