#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "../api/limit.h"
#include "../api/router.h"

namespace petstore::service {

// The window of a client address, for requests without a valid key.
struct AddressWindow {
    api::RateView rate;
    bool exceeded = false;
};

// One HTTP request. Views are valid as long as the request.
class Request {
public:
    struct Field {
        std::string_view value;
        bool repeated = false;  // there are more fields of that name
    };

    // False for a subrequest.
    virtual bool is_main() const noexcept { return true; }

    virtual api::Method method() const noexcept = 0;
    // The method that the client sent. A subrequest has its own, mostly GET,
    // and an internal redirect may change it.
    virtual api::Method client_method() const noexcept { return method(); }
    virtual std::string_view path() const noexcept = 0;  // decoded
    virtual std::string_view query() const noexcept = 0;
    // "Authorization", "If-Match" and "If-None-Match" must be spelled like
    // this, other names in any case.
    virtual std::optional<Field>
    header(std::string_view name) const noexcept = 0;
    virtual std::int64_t content_length() const noexcept = 0;  // -1: unknown

    // What the request costs, in units, where Settings::cost leaves it to a
    // variable.
    virtual std::int64_t cost() noexcept { return 1; }

    // Counts this request in the window of its client's address.
    virtual AddressWindow count_address() noexcept = 0;

protected:
    ~Request() = default;
};

}  // namespace petstore::service
