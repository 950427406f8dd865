#pragma once

#include <string>
#include <utility>
#include <variant>

#include "catch.h"
#include "fake_alarm.h"
#include "service/admin/admin_call.h"

// The clock of an alarm.
class AlarmClock final : public petstore::store::Clock {
public:
    explicit AlarmClock(const FakeAlarm& alarm) : alarm_(alarm) {}
    petstore::store::Monotonic monotonic() const noexcept override
    {
        return alarm_.time;
    }
    petstore::api::Millis host_time() const noexcept override { return 0; }

private:
    const FakeAlarm& alarm_;
};

// A request to the admin API.
inline petstore::service::AdminCall call(petstore::api::Operation operation,
                                         const std::string& body = "",
                                         const std::string& id = "")
{
    namespace api = petstore::api;
    petstore::service::AdminCall made;
    made.operation = operation;
    made.id = id;
    made.caller_account_id = "own-account";
    made.caller_key_id = "own-key";
    if (api::has_admin_body(operation)) {
        made.body =
            std::get<api::AdminBody>(api::parse_admin_body(operation, body));
    }
    return made;
}

// With an Idempotency-Key.
inline petstore::service::AdminCall once(petstore::service::AdminCall made,
                                         const std::string& key = "k1",
                                         const std::string& request = "r1")
{
    made.once = {petstore::api::sha256(key), petstore::api::sha256(request)};
    return made;
}
