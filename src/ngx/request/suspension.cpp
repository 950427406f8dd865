#include "suspension.h"

namespace petstore::ngx {

// Like ngx_http_limit_req_handler(). A content handler must hold a reference to
// the request; for a phase handler, the phase engine holds it.
bool Suspension::suspend() noexcept
{
    if (suspended_ && !is_taken_over()) {
        return true;
    }
    ngx_event_t* event = r_->connection->read;
    if (event->ready) {
        ngx_post_event(event, &ngx_posted_events);
    } else if (ngx_handle_read_event(event, 0) != NGX_OK) {
        return false;
    }
    r_->read_event_handler = ngx_http_test_reading;
    r_->write_event_handler = ngx_http_request_empty_handler;
    if (phase_ == Phase::content && !suspended_) {
        r_->main->count++;
    }
    suspended_ = true;
    post_action_ = r_->post_action;
    return true;
}

void Suspension::finish(ngx_int_t rc) noexcept
{
    rc_ = rc;
    if (!suspended_) {
        return;
    }
    if (is_taken_over()) {
        suspended_ = false;
        return;
    }
    if (phase_ == Phase::content) {
        ngx_http_finalize_request(r_, rc);
    } else {
        run_phases();
    }
}

// Like ngx_http_limit_req_delay().
void Suspension::run_phases() noexcept
{
    if (ngx_handle_read_event(r_->connection->read, 0) != NGX_OK) {
        ngx_http_finalize_request(r_, NGX_HTTP_INTERNAL_SERVER_ERROR);
        return;
    }
    suspended_ = false;
    r_->read_event_handler = ngx_http_block_reading;
    r_->write_event_handler = ngx_http_core_run_phases;
    ngx_http_core_run_phases(r_);
}

ngx_int_t Suspension::handler_result() const noexcept
{
    if (!suspended_) {
        return rc_;
    }
    return phase_ == Phase::content ? NGX_DONE : NGX_AGAIN;
}

}  // namespace petstore::ngx
