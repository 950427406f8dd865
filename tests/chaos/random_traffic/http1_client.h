#pragma once

#include "requests.h"
#include "wire.h"

namespace petstore::e2e {

// An HTTP/1 client that opens connections, one after the other, until stopped.
// If it is polite, every response must arrive and be right; otherwise it
// leaves, stalls or sends nonsense.
class Http1Client {
public:
    Http1Client(World& world, std::vector<Target> targets, std::uint64_t seed,
                const std::string& name, const std::atomic<bool>& stop);

    void run();

private:
    struct Sent {
        Ask ask;
        bool last = false;  // the server closes after its answer
    };
    // How a request is put on the wire.
    struct Manner {
        std::string version = "1.1";
        bool chunked = false;
        bool expect = false;
        bool close = false;
        bool absolute = false;
    };

    void polite();
    void leave();
    void stall();
    void nonsense();

    Manner manner();
    std::string head_of(const Ask& ask, const Manner& manner) const;
    std::string body_of(const Ask& ask, const Manner& manner);
    std::string request_of(const Ask& ask, const Manner& manner);
    bool send_somehow(Wire& wire, const std::string& bytes);
    bool expect_then_send(Wire& wire, Ask& ask, const Manner& manner);
    bool read_answers(Wire& wire, std::vector<Sent>& sent, bool fresh);
    void pause(Wire& wire, std::chrono::milliseconds time);
    void complain(const std::string& what, const std::string& request,
                  const std::string& answer);

    World& world_;
    std::vector<Target> targets_;
    Random random_;
    std::string name_;
    Requests requests_;
    const std::atomic<bool>& stop_;

    Target target_;
    std::string buffer_;  // received, not taken yet
    std::string sent_;    // on this connection, for the report
};

// Takes one complete response from the front; false if it is incomplete.
// `ended`: the connection has ended. Throws HarnessError if it is not HTTP.
bool take_response(std::string& bytes, bool head, bool ended,
                   Response& response);

}  // namespace petstore::e2e
