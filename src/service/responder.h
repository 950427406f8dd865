#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "../store/pets/response_cache.h"

namespace petstore::service {

// A response without the headers that all responses have. Views must be valid
// until Responder::respond() returns; those marked "constant", forever.
struct Response {
    int status = 200;
    std::string_view body;
    std::shared_ptr<const store::CachedResponse> cached;  // instead of `body`

    std::string_view allow;         // constant
    std::string_view etag;          // constant; with it, clients may cache
    std::string_view authenticate;  // WWW-Authenticate, of the Settings
    std::string link;
    std::string location;
    std::int64_t retry_after = 0;  // seconds; 0 for none
    bool replayed = false;         // Idempotent-Replayed
};

// Ends the request, which may be gone when these return.
class Responder {
public:
    virtual void respond(const Response& response) noexcept = 0;

    // With a 500, because of an exception.
    virtual void fail() noexcept = 0;

protected:
    ~Responder() = default;
};

}  // namespace petstore::service
