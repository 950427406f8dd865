#pragma once

#include "../../ngx_base/ngx.h"

namespace petstore::ngx {

// Suspends a request while it waits for Redis or for its body, and resumes it;
// no other code does. Lives as long as the handler's part of the request.
class Suspension {
public:
    enum class Phase { content, precontent };

    Suspension(ngx_http_request_t* r, Phase phase) noexcept
        : r_(r), phase_(phase)
    {}

    // Call from the handler: nginx then waits for finish(), and detects if the
    // client disconnects. Call again after is_taken_over() if nginx calls the
    // same handler for the post_action. False if that cannot be set up.
    bool suspend() noexcept;

    // Whether nginx passed the suspended request to another handler: to the
    // post_action, after the client disconnected. Nothing may be sent then, and
    // finish() leaves the request alone, because the other handler now owns
    // this one's reference.
    bool is_taken_over() const noexcept
    {
        return suspended_ && r_->post_action != post_action_;
    }

    // The handler is done. In the content phase, `rc` finalizes the request. In
    // the precontent phase, nginx calls the phase's handlers again, and this
    // one must return `rc`. If the request was suspended, it may be gone when
    // this returns.
    void finish(ngx_int_t rc) noexcept;

    // The value that the handler returns to nginx. NGX_DONE, after which nginx
    // does not touch the request, if it was freed instead of finished or
    // suspended.
    ngx_int_t handler_result() const noexcept;

private:
    void run_phases() noexcept;

    ngx_http_request_t* const r_;
    const Phase phase_;
    bool suspended_ = false;
    unsigned post_action_ = 0;  // r_->post_action when it was suspended
    ngx_int_t rc_ = NGX_DONE;
};

}  // namespace petstore::ngx
