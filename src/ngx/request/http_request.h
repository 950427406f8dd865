#pragma once

#include "../../ngx_base/ngx.h"
#include "../../service/request.h"
#include "../config/config.h"

namespace petstore::ngx {

// Adapts an nginx request to the service's interface.
class HttpRequest final : public service::Request {
public:
    // Both must outlive this object. `conf` belongs to the request's current
    // location.
    HttpRequest(ngx_http_request_t* r, const LocConf& conf) noexcept
        : r_(r), conf_(conf)
    {}

    bool is_main() const noexcept override { return r_ == r_->main; }
    api::Method method() const noexcept override;
    api::Method client_method() const noexcept override;
    std::string_view path() const noexcept override;
    std::string_view query() const noexcept override;
    std::optional<Field> header(std::string_view name) const noexcept override;
    std::int64_t content_length() const noexcept override;
    std::int64_t cost() noexcept override;
    service::AddressWindow count_address() noexcept override;

private:
    ngx_http_request_t* const r_;
    const LocConf& conf_;
};

}  // namespace petstore::ngx
