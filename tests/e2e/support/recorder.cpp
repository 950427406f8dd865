// Records the exchanges of the libcurl client, for the tests of the OpenAPI
// document.
#include "recorder.h"

#include <fcntl.h>
#include <unistd.h>

namespace petstore::e2e {

namespace {

int open_record()
{
    const auto name = env_or("PETSTORE_RECORD", "");
    if (name.empty()) {
        return -1;
    }
    const int fd =
        open(name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0) {
        throw HarnessError("cannot write " + name);
    }
    return fd;
}

}  // namespace

void record(const Http::Request& request, const Response& response)
{
    static const int fd = open_record();
    if (fd < 0) {
        return;
    }
    auto headers = Headers();
    for (const auto& header : request.headers) {
        if (to_lower(header.first) != "authorization") {
            headers.push_back(header);
        }
    }
    const nlohmann::json exchange = {
        {"method", request.method},    {"target", request.path},
        {"requestHeaders", headers},   {"status", response.status},
        {"headers", response.headers}, {"body", response.body}};
    // Request headers may contain any bytes.
    auto line =
        exchange.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
        + '\n';
    for (const auto& secret : secrets()) {
        replace_all(line, secret, "<API_KEY>");  // in a query, for example
    }
    // A single write, so that lines of several threads do not mix.
    if (write(fd, line.data(), line.size())
        != static_cast<ssize_t>(line.size())) {
        throw HarnessError("cannot record an exchange");
    }
}

}  // namespace petstore::e2e
