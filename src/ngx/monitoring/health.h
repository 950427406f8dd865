#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "../../ngx_base/ngx.h"
#include "../../ngx_base/timer.h"
#include "../../redis/link.h"
#include "../../store/schema.h"
#include "../request/suspension.h"

namespace petstore::ngx {

class ReadyRequest;

// Checks whether the Redis servers of this worker answer, at most once per
// second. Owned by the Worker.
class Readiness {
public:
    // `log` must outlive this object.
    explicit Readiness(ngx_log_t& log) noexcept;
    ~Readiness();
    Readiness(const Readiness&) = delete;
    Readiness& operator=(const Readiness&) = delete;

    // Adds a check that reads `key`, a Redis string, and in a Cluster also a
    // key on each primary. `link` and `schema` must outlive this object. Throws
    // std::bad_alloc.
    void add(redis::Link& link, std::string key, const store::Schema& schema);

    // Calls on_ready() once, in this or a later event-loop iteration but not
    // before this returns, unless forget() is called first. Throws
    // std::bad_alloc.
    void ask(ReadyRequest& request);
    void forget(ReadyRequest& request) noexcept;

private:
    class Check;

    void begin() noexcept;
    void end(bool ready) noexcept;
    void report() noexcept;

    std::vector<std::unique_ptr<Check>> checks_;
    std::vector<ReadyRequest*> waiting_;
    std::size_t outstanding_ = 0;
    bool known_ = false;
    bool ready_ = false;  // so far, while checks are outstanding
    ngx_msec_t checked_at_ = 0;
    ngx_base::PostedEvent<Readiness, &Readiness::report> result_;
};

// A request to `petstore_health ready`. Lives in the pool of the nginx request,
// whose cleanup destroys it; not after the Worker, because nginx frees no
// request of a worker that exits.
class ReadyRequest {
public:
    ReadyRequest(ngx_http_request_t* r, Readiness& readiness) noexcept;
    ~ReadyRequest();
    ReadyRequest(const ReadyRequest&) = delete;

    // Returns the content handler's result.
    ngx_int_t run();

    void on_ready(bool ready) noexcept;

private:
    ngx_http_request_t* const r_;
    ngx_connection_t* const connection_;
    Readiness& readiness_;
    Suspension suspension_;
};

}  // namespace petstore::ngx
