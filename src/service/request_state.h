#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "../api/limit.h"
#include "../api/router.h"
#include "../store/clock.h"
#include "../store/keys/key_cache.h"
#include "request.h"

namespace petstore::store {
struct Storage;
}

namespace petstore::service {

class Admission;

// What the headers and the log line of a request report. After an internal
// redirect, the last two remain until another decision or refusal.
struct RequestReport {
    api::Operation operation = api::Operation::none;
    bool wants_document = false;  // GET, HEAD, … of the OpenAPI document
    bool deprecated = false;      // the response announces the operation's end
    api::LimitStatus limit_status = api::LimitStatus::none;
    std::string_view error_code;
};

// The limiter's decision about a client's request. It charges the request once:
// subrequests and internal redirects share the decision.
struct SharedDecision {
    enum class Stage {
        none,
        asked,  // `asker` waits for the limiter; others may wait for `asker`
        made,
        lost,  // never ask again: the request may have been charged
    };

    void ask(Admission& admission) noexcept
    {
        stage = Stage::asked;
        asker = &admission;
    }
    void stop_asking(Stage next = Stage::none) noexcept
    {
        if (asker != nullptr) {
            stage = next;
            asker = nullptr;
        }
    }
    // `when`: when Redis was asked.
    void set_source(store::Storage& of, store::Monotonic when) noexcept
    {
        storage = &of;
        sent = when;
    }
    bool is_of(const store::Storage& other) const noexcept
    {
        return storage == &other;
    }
    void make(const api::Decision& made) noexcept
    {
        value = made;
        stage = Stage::made;
    }

    Stage stage = Stage::none;
    Admission* asker = nullptr;  // set exactly while `asked`
    api::Decision value;         // once `made`
    // Whose account it is about, and when Redis was asked. It proves nothing
    // about the client's key in another storage.
    store::Storage* storage = nullptr;
    store::Monotonic sent = 0;
    bool denial_counted = false;
    // In that storage, of a denial that a dry run has let through, uncounted.
    store::Ref<store::CachedKey> let_through;
    // In that storage, too, the key must be read before `value` is used.
    bool unproven = false;
};

// The API key as the client sent it. Views of the request's header.
struct SentKey {
    std::string_view text;         // empty: none
    std::string_view header_name;  // of the header that has it, or should
    bool repeated = false;         // that header
};

// The API key of a request. Both are empty until it was looked up.
struct KeyLookup {
    store::Ref<const store::CachedKey> valid;
    store::RefusedKey refused;  // without a valid one
};

// How long a request has waited for Redis, from its first command to the latest
// reply.
struct RedisTime {
    std::optional<store::Monotonic> started;  // nullopt: it sent no command
    store::Monotonic passed = 0;              // milliseconds
};

// What is known about a client's request until it is logged. Its subrequests
// and internal redirects share it. The report is that of the main request if
// the service answers it, else that of its latest subrequest.
struct RequestState : RequestReport {
    bool reports_main = false;
    std::optional<SentKey> sent_key;  // once it was read
    KeyLookup key;                    // of the request that is reported
    // Units, set by the first location that asks for a decision; 0 until then.
    std::int64_t cost = 0;
    SharedDecision decision;
    std::optional<api::RateView> rate;  // of the rate headers
    // The windows to show without a decision: those of petstore_usage, which
    // charges nothing and admits to nothing else.
    std::unique_ptr<const api::Decision> windows;
    std::optional<AddressWindow> address;  // once the request counted there
    RedisTime redis_time;
};

}  // namespace petstore::service
