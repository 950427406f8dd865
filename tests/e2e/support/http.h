#pragma once

#include <curl/curl.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "util.h"

namespace petstore::e2e {

struct Response {
    int status = 0;
    std::string version;  // "1.1", "2", "3"
    std::vector<std::pair<std::string, std::string>>
        headers;  // lower-case names
    std::string body;

    bool has(const std::string& name) const;
    // The value of a header that occurs exactly once; otherwise a text that no
    // server sends.
    std::string header(const std::string& name) const;
    std::vector<std::string> all(const std::string& name) const;
    nlohmann::json json() const;  // discarded if the body is not JSON
};

using Headers = std::vector<std::pair<std::string, std::string>>;

// An ordinary client based on libcurl. Each object keeps one connection.
class Http {
public:
    explicit Http(std::string base_url, std::string key = "");

    // One request. A header with an empty value is omitted, even if libcurl
    // would add it.
    struct Request {
        std::string method = "GET";
        std::string path;
        Headers headers = {};
        std::optional<std::string> body = {};
        bool chunked = false;
    };
    Response send(const Request& request);

    Response get(const std::string& path, const Headers& headers = {});
    Response head(const std::string& path);
    Response post(const std::string& path, const std::string& body,
                  Headers headers = {});
    Response request(const std::string& method, const std::string& path);

    void use_key(std::string key) { key_ = std::move(key); }
    void use_http2() { protocol_ = CURL_HTTP_VERSION_2TLS; }
    // With curl 8.14 and nginx 1.26, one in some 1,500 requests never arrives
    // under load, whatever serves the location. So it is repeated over another
    // connection.
    void use_http3()
    {
        protocol_ = CURL_HTTP_VERSION_3ONLY;
        timeout_ = 10s;
    }
    void close();  // the next request opens a new one
    void set_timeout(std::chrono::milliseconds timeout) { timeout_ = timeout; }

    // Returns status 0 instead of throwing if there is no response.
    void tolerate_failures() { tolerant_ = true; }

private:
    struct Cleanup {
        void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
    };
    std::unique_ptr<CURL, Cleanup> handle_;
    std::string base_url_;
    std::string key_;
    std::chrono::milliseconds timeout_ = 60s;
    long protocol_ = CURL_HTTP_VERSION_1_1;
    bool tolerant_ = false;
    int repeated_ = 0;  // over HTTP/3
};

// Follows Link: rel="next" from `path` to the end. Returns all rows in order.
std::vector<nlohmann::json> walk(Http& http, std::string path);

// The target of Link: <…>; rel="next", or "".
std::string next_of(const Response& response);

}  // namespace petstore::e2e
