// docs/http.md, "Methods and paths": HTTP/2 and TLS work as in any other nginx
// location.
#include <thread>

#include "support/http2_frames.h"
#include "support/raw_client.h"
#include "support/store.h"

using namespace petstore::e2e;

namespace {

// Sends one request on stream 1, frame by frame, which libcurl cannot.
class FrameClient {
public:
    explicit FrameClient(int port) : client_(port)
    {
        client_.send(kPreface);
        client_.send(http2_frame(kSettings, 0, 0, ""));
    }

    void send(FrameType type, std::uint8_t flags, std::string_view payload)
    {
        client_.send(http2_frame(type, flags, 1, payload));
    }

    // Discards frames until one of this type arrives for the stream.
    void wait_for(FrameType wanted)
    {
        for (;;) {
            const auto head = client_.take(kFrameHead);
            client_.take(number_at(head, 0, 3));
            if (number_at(head, 3, 1) == wanted && number_at(head, 5, 4) == 1) {
                return;
            }
        }
    }

private:
    RawClient client_;
};

NginxOptions with_tls()
{
    NginxOptions options;
    options.tls = true;
    return options;
}

}  // namespace

TEST_CASE("http2: the three operations over TLS")
{
    Store store(with_tls());
    for (const bool two : {true, false}) {
        Http http(store.nginx.tls_url(), store.key.secret);
        if (two) {
            http.use_http2();
        }
        const auto created = http.post(
            "/v1/pets",
            "{\"name\":\"Rex\",\"categoryId\":7,\"status\":\"sold\"}");
        CHECK(created.version == (two ? "2" : "1.1"));
        const auto location = created.header("location");
        expect_json(created, 201, pet_json(two ? 1 : 2, "Rex", "7", "sold"));
        expect_json(http.get(location), 200, created.body);
        CHECK(http.get("/v1/pets?status=sold").json().size() == (two ? 1 : 2));
        expect_error(http.get("/v1/nowhere"), 404, "not_found");
        expect_error(http.request("DELETE", "/v1/pets"), 405,
                     "method_not_allowed");
        CHECK(http.head("/v1/pets/1").header("content-length")
              == std::to_string(http.get("/v1/pets/1").body.size()));
        CHECK(http.request("OPTIONS", "/v1/pets").status == 204);
        expect_error(http.post("/v1/pets", std::string(20000, 'x')), 413,
                     "payload_too_large");
        expect_error(Http(store.nginx.tls_url()).get("/v1/pets"), 401,
                     "missing_api_key");
    }
}

TEST_CASE("http2: bodies of every size and without a length")
{
    NginxOptions options = with_tls();
    options.location = "client_body_buffer_size 1k;";
    Store store(options);
    Http http(store.nginx.tls_url(), store.key.secret);
    http.use_http2();
    const std::string head = "{\"name\":\"n\",\"categoryId\":1,\"x\":\"";
    for (const std::size_t size :
         {100, 1024, 1025, 9000, 16384, 16385, 70000}) {
        INFO(size);
        const auto body =
            head + std::string(size - head.size() - 2, 'x') + "\"}";
        const int expected = size <= 16384 ? 201 : 413;
        CHECK(http.post("/v1/pets", body).status == expected);
        // HTTP/2 has no chunked encoding: libcurl omits the length.
        http.tolerate_failures();
        const auto streamed = http.send({"POST",
                                         "/v1/pets",
                                         {{"Content-Type", "application/json"}},
                                         body,
                                         true});
        CHECK(streamed.status == expected);
    }
    CHECK(walk(store.http, "/v1/pets").size() == 10);
}

TEST_CASE("http2: a refused body does not disturb the streams after it")
{
    Store store(with_tls());
    import_pets(store.redis, 1);
    Http http(store.nginx.tls_url());
    http.use_http2();
    for (int i = 0; i < 20; ++i) {
        CHECK(http.post("/v1/pets", std::string(5000, 'x')).status == 401);
        const auto pet = http.get(
            "/v1/pets/1", {{"Authorization", "Bearer " + store.key.secret}});
        expect_json(pet, 200, pet_json(1, "pet 1", "10", "available"));
    }
}

TEST_CASE("http2: a mirrored create without its body leaves the body alone")
{
    NginxOptions options = with_tls();
    options.server = R"(
        location /mirrored/v1/ {
            mirror /v1/pets;
            mirror_request_body off;
            petstore /mirrored/v1;
        })";
    Store store(options);
    Http http(store.nginx.tls_url(), store.key.secret);
    http.use_http2();
    http.set_timeout(5s);
    // nginx passes such a body on only after the subrequest has started.
    for (int id = 1; id <= 3; ++id) {
        const auto response =
            http.post("/mirrored/v1/pets", "{\"name\":\"n\",\"categoryId\":1}");
        expect_json(response, 201, pet_json(id, "n", "1", "available"));
    }
}

TEST_CASE("http2: a post_action does not read on in a refused body")
{
    const char* buffering = GENERATE("", "client_body_in_file_only clean;");
    CAPTURE(buffering);
    const int port = free_port();
    NginxOptions options;
    options.servers = "server { listen %ADDRESS%:" + std::to_string(port)
                      + " http2; " + buffering + R"(
            location /v1/ { petstore; }
            location /followed/v1/ {
                petstore /followed/v1;
                post_action /v1/pets;
            }
        })";
    Store store(options);
    FrameClient client(port);
    client.send(kHeaders, kEndHeaders,
                hpack_field(":method", "POST") + hpack_field(":scheme", "http")
                    + hpack_field(":authority", "a")
                    + hpack_field(":path", "/followed/v1/pets")
                    + hpack_field("authorization", "Bearer " + store.key.secret)
                    + hpack_field("content-type", "application/json"));
    client.send(kData, 0, std::string(16'000, ' '));
    client.wait_for(kWindow);  // the service has read this part
    // Too large, although this part alone would be a pet.
    const std::string pet = "{\"name\":\"n\",\"categoryId\":1}";
    client.send(kData, kEndStream, pet + std::string(1'000, ' '));
    client.wait_for(kHeaders);
    CHECK(wait_until(
        [&] { return contains(store.nginx.access_log(), "/v1/pets"); }));
    CHECK(store.http.get("/v1/pets").json().empty());
}

TEST_CASE("http2: many streams at the same time")
{
    Store store(with_tls());
    import_pets(store.redis, 64);
    // Sends all requests as streams of one connection.
    struct Multi {
        CURLM* handle = curl_multi_init();
        ~Multi() { curl_multi_cleanup(handle); }
    } multi;
    curl_multi_setopt(multi.handle, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    curl_multi_setopt(multi.handle, CURLMOPT_MAX_HOST_CONNECTIONS, 1L);
    curl_slist* headers = curl_slist_append(
        nullptr, ("Authorization: Bearer " + store.key.secret).c_str());
    std::vector<CURL*> handles;
    std::vector<std::string> bodies(64);
    for (std::size_t i = 0; i < bodies.size(); ++i) {
        CURL* curl = curl_easy_init();
        const auto url =
            store.nginx.tls_url() + "/v1/pets/" + std::to_string(i + 1);
        curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
        curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 0L);
        curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
        curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
        curl_easy_setopt(curl, CURLOPT_PIPEWAIT, 1L);
        curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
        curl_easy_setopt(curl, CURLOPT_TIMEOUT, 30L);
        curl_easy_setopt(curl, CURLOPT_WRITEDATA, &bodies[i]);
        curl_easy_setopt(
            curl, CURLOPT_WRITEFUNCTION,
            +[](char* data, std::size_t size, std::size_t count, void* out) {
                static_cast<std::string*>(out)->append(data, size * count);
                return size * count;
            });
        curl_multi_add_handle(multi.handle, curl);
        handles.push_back(curl);
    }
    int running = 1;
    while (running > 0) {
        curl_multi_perform(multi.handle, &running);
        if (running > 0) {
            curl_multi_poll(multi.handle, nullptr, 0, 1000, nullptr);
        }
    }
    for (std::size_t i = 0; i < handles.size(); ++i) {
        const auto json = nlohmann::json::parse(bodies[i], nullptr, false);
        CHECK((json.is_object() && json["id"] == i + 1));
        curl_multi_remove_handle(multi.handle, handles[i]);
        curl_easy_cleanup(handles[i]);
    }
    curl_slist_free_all(headers);
}
