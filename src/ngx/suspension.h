#pragma once

#include "../ngx_base/ngx.h"

namespace petstore::ngx {

// The only place where a request is suspended, to wait for Redis or for its
// body, and resumed. Lives as long as the handler's part of the request.
class Suspension {
public:
    enum class Phase { content, precontent };

    Suspension(ngx_http_request_t* r, Phase phase) noexcept
        : r_(r), phase_(phase)
    {}

    // From the handler: nginx waits for finish(), and notices if the client
    // leaves. Again after is_taken_over() if nginx calls the same handler for
    // the post_action. False if that cannot be set up.
    bool suspend() noexcept;

    // nginx gave the suspended request to another handler, for post_action when
    // the client left. Nothing may be sent then, and finish() leaves it alone:
    // the reference that this handler held is now the other's.
    bool is_taken_over() const noexcept
    {
        return suspended_ && r_->post_action != post_action_;
    }

    // The handler is done. In the content phase `rc` finalizes the request; in
    // the precontent phase, nginx calls the phase's handlers again, and `rc` is
    // what this one has to return. If the request is suspended, it may be gone
    // when this returns.
    void finish(ngx_int_t rc) noexcept;

    // What the handler returns to nginx. NGX_DONE, after which nginx does not
    // touch the request, if it was freed instead of finished or suspended.
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
