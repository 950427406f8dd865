#pragma once

#include <string_view>

#include "authentication.h"
#include "await.h"
#include "request_task.h"

namespace petstore::service {

inline constexpr std::string_view kUsageMethods = "GET, HEAD, OPTIONS";

// A request to a location with petstore_usage: what the key's account has used.
// Needs a valid key, of any scope, and is neither charged nor denied.
class GetUsage final : public RequestTask, private Authentication::Owner {
public:
    explicit GetUsage(const Context& context) noexcept;

    void run();

private:
    void on_key(Authentication::Record record) override;
    void take_plans(const store::Done&) { read(); }
    void read();
    void take_usage(const store::SharedUsage& usage);
    bool is_outdated(const api::AccountUsage& usage) const noexcept;
    void show_rate(const api::AccountUsage& usage);

    Authentication authentication_{*this, *this};
    Await<store::Done, GetUsage, &GetUsage::take_plans> plans_read_{*this,
                                                                    *this};
    Await<store::SharedUsage, GetUsage, &GetUsage::take_usage> usage_read_{
        *this, *this};
    Authentication::Record record_ = Authentication::Record::remembered;
};

}  // namespace petstore::service
