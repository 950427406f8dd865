#include "http.h"

#include <fcntl.h>

#include "recorder.h"

namespace petstore::e2e {

namespace {

const bool g_curl = curl_global_init(CURL_GLOBAL_ALL) == CURLE_OK;

std::size_t append_body(char* data, std::size_t size, std::size_t count,
                        void* response)
{
    static_cast<Response*>(response)->body.append(data, size * count);
    return size * count;
}

std::size_t append_header(char* data, std::size_t size, std::size_t count,
                          void* target)
{
    auto& response = *static_cast<Response*>(target);
    std::string line(data, size * count);
    while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) {
        line.pop_back();
    }
    if (line.rfind("HTTP/", 0) == 0) {
        // Discards "100 Continue": the final response counts.
        response.headers.clear();
        response.version = line.substr(5, line.find(' ') - 5);
        return size * count;
    }
    const auto colon = line.find(':');
    if (colon != std::string::npos) {
        auto value = line.substr(colon + 1);
        value.erase(0, value.find_first_not_of(' '));
        response.headers.emplace_back(to_lower(line.substr(0, colon)),
                                      std::move(value));
    }
    return size * count;
}

// Otherwise a server started later would inherit the connection and keep it
// open.
int keep_to_ourselves(void*, curl_socket_t fd, curlsocktype)
{
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    return CURL_SOCKOPT_OK;
}

struct Upload {
    const std::string* body;
    std::size_t at = 0;
};

std::size_t read_upload(char* out, std::size_t size, std::size_t count,
                        void* source)
{
    auto& upload = *static_cast<Upload*>(source);
    const auto n = std::min(size * count, upload.body->size() - upload.at);
    upload.body->copy(out, n, upload.at);
    upload.at += n;
    return n;
}

}  // namespace

bool Response::has(const std::string& name) const
{
    return !all(name).empty();
}

std::string Response::header(const std::string& name) const
{
    const auto values = all(name);
    if (values.size() != 1) {
        return "<" + std::to_string(values.size()) + " of " + name + ">";
    }
    return values.front();
}

std::vector<std::string> Response::all(const std::string& name) const
{
    std::vector<std::string> values;
    for (const auto& [key, value] : headers) {
        if (key == name) {
            values.push_back(value);
        }
    }
    return values;
}

nlohmann::json Response::json() const
{
    return nlohmann::json::parse(body, nullptr, false);
}

Http::Http(std::string base_url, std::string key)
    : handle_(curl_easy_init()), base_url_(std::move(base_url)),
      key_(std::move(key))
{
    if (!g_curl || !handle_) {
        throw HarnessError("libcurl fails");
    }
}

Response Http::send(const Request& request)
{
    CURL* curl = handle_.get();
    curl_easy_reset(curl);  // keeps the connection
    Response response;
    Upload upload{request.body ? &*request.body : nullptr};

    curl_slist* list = nullptr;
    auto add = [&list](const std::string& name, const std::string& value) {
        // "Name:" makes libcurl omit a header.
        list = curl_slist_append(
            list, (value.empty() ? name + ":" : name + ": " + value).c_str());
    };
    bool own_authorization = false;
    bool own_expect = false;
    for (const auto& [name, value] : request.headers) {
        add(name, value);
        own_authorization |= to_lower(name) == "authorization";
        own_expect |= to_lower(name) == "expect";
    }
    if (!own_authorization && !key_.empty()) {
        add("Authorization", "Bearer " + key_);
    }
    if (!own_expect) {
        add("Expect", "");
    }
    if (request.chunked) {
        add("Transfer-Encoding", "chunked");
    }

    const std::string url = base_url_ + request.path;
    curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_SOCKOPTFUNCTION, keep_to_ourselves);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS,
                     static_cast<long>(timeout_.count()));
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, protocol_);
    if (request.chunked) {
        curl_easy_setopt(curl, CURLOPT_POST, 1L);
        curl_easy_setopt(curl, CURLOPT_READFUNCTION, read_upload);
        curl_easy_setopt(curl, CURLOPT_READDATA, &upload);
    } else if (request.body) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body->data());
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                         static_cast<curl_off_t>(request.body->size()));
    }
    if (request.method == "HEAD") {
        curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    } else {
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
    }
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, list);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, append_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &response);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, append_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, &response);

    const CURLcode code = curl_easy_perform(curl);
    curl_slist_free_all(list);
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    response.status = static_cast<int>(status);
    if (code != CURLE_OK) {
        if (code == CURLE_OPERATION_TIMEDOUT
            && protocol_ == CURL_HTTP_VERSION_3ONLY && repeated_ < 5) {
            ++repeated_;
            close();
            return send(request);
        }
        if (!tolerant_) {
            throw HarnessError(request.method + " " + request.path + ": "
                               + curl_easy_strerror(code));
        }
        response = {};
        return response;
    }
    record(request, response);
    return response;
}

Response Http::get(const std::string& path, const Headers& headers)
{
    return send({"GET", path, headers});
}

Response Http::head(const std::string& path)
{
    return send({"HEAD", path});
}

Response Http::post(const std::string& path, const std::string& body,
                    Headers headers)
{
    bool typed = false;
    for (const auto& header : headers) {
        typed |= to_lower(header.first) == "content-type";
    }
    if (!typed) {
        headers.emplace_back("Content-Type", "application/json");
    }
    return send({"POST", path, headers, body});
}

Response Http::request(const std::string& method, const std::string& path)
{
    return send({method, path});
}

void Http::close()
{
    handle_.reset(curl_easy_init());
}

std::string next_of(const Response& response)
{
    for (const auto& link : response.all("link")) {
        const auto end = link.find(">; rel=\"next\"");
        if (link.rfind('<', 0) == 0 && end != std::string::npos) {
            return link.substr(1, end - 1);
        }
    }
    return "";
}

std::vector<nlohmann::json> walk(Http& http, std::string path)
{
    std::vector<nlohmann::json> rows;
    while (!path.empty()) {
        const auto response = http.get(path);
        const auto page = response.json();
        if (response.status != 200 || !page.is_array()) {
            throw HarnessError(path + ": " + std::to_string(response.status)
                               + " " + response.body);
        }
        rows.insert(rows.end(), page.begin(), page.end());
        path = next_of(response);
    }
    return rows;
}

}  // namespace petstore::e2e
