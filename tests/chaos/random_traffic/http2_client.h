#pragma once

#include <cstdint>
#include <map>

#include "requests.h"
#include "wire.h"

struct nghttp2_hd_inflater;

namespace petstore::e2e {

// An HTTP/2 client that writes its own frames, so that it can do what libraries
// prevent. Opens connections, one after the other, until stopped.
class Http2Client {
public:
    Http2Client(World& world, std::vector<Target> targets, std::uint64_t seed,
                const std::string& name, const std::atomic<bool>& stop);

    void run();

private:
    struct Stream {
        Ask ask;
        std::string body;          // not sent yet
        bool body_stalls = false;  // stops sending it
        bool wants_window = false;
        bool started = false;  // the final header has arrived
        Response response;
        Clock::time_point since = Clock::now();
    };

    void connection();
    void greet();
    void open_stream();
    void send_bodies();
    void disturb();
    void break_rules();
    bool read_frames();  // false: the connection is over
    void on_frame(std::uint8_t type, std::uint8_t flags, std::uint32_t id,
                  const std::string& payload);
    void on_headers(std::uint32_t id, std::uint8_t flags);
    void on_data(std::uint32_t id, std::uint8_t flags,
                 const std::string& payload);
    void finish(std::uint32_t id);
    void check_patience();

    void frame(std::uint8_t type, std::uint8_t flags, std::uint32_t id,
               const std::string& payload);
    void window(std::uint32_t id, std::uint32_t size);
    void headers(std::uint32_t id, const std::string& block, bool end);
    std::string block_of(const Ask& ask) const;
    void complain(const std::string& what, const Stream* stream);

    World& world_;
    std::vector<Target> targets_;
    Random random_;
    std::string name_;
    Requests requests_;
    const std::atomic<bool>& stop_;

    // The state of one connection.
    Target target_;
    std::unique_ptr<Wire> wire_;
    std::unique_ptr<nghttp2_hd_inflater, void (*)(nghttp2_hd_inflater*)>
        inflater_;
    bool alive_ = false;
    bool polite_ = true;   // follows the rules
    bool goaway_ = false;  // received
    std::uint32_t next_id_ = 1;
    std::size_t at_once_ = 1;
    std::uint32_t stream_window_ = 65535;
    std::map<std::uint32_t, Stream> streams_;
    std::string in_;
    std::string header_block_;
    std::uint8_t header_flags_ = 0;
};

}  // namespace petstore::e2e
