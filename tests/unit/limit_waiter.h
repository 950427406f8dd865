#pragma once

#include <optional>
#include <string>

#include "recorded_damage.h"
#include "store/accounts/limit_queue.h"

// A request that waits for the limiter, and its result.
struct Waiter final : petstore::store::LimitObserver,
                      petstore::store::Waiter<petstore::store::LimitAnswer> {
    using Answer = petstore::store::LimitAnswer;

    petstore::store::LimitQueue::Asker asker() { return {*this, *this}; }

    void on_limit_sent() noexcept override { ++sent; }
    void
    on_result(const petstore::store::Outcome<Answer>& outcome) noexcept override
    {
        ++calls;
        if (outcome.failed()) {
            failure = *outcome.failure();
            return;
        }
        kind = outcome.value().kind;
        if (kind == Answer::Kind::decided) {
            const auto& decision = outcome.value().decision;
            admitted = decision.verdict == petstore::api::Verdict::admitted;
            remaining = decision.minute.remaining();
        }
    }

    // Whether it failed, possibly charged or certainly not.
    bool failed(bool in_doubt) const
    {
        return failure
               && failure->error.code
                      == petstore::api::ErrorCode::service_unavailable
               && failure->in_doubt == in_doubt;
    }
    bool not_counted() const
    {
        return failed(false)
               && failure->error.message.text()
                      == "The request could not be counted. Please try again later.";
    }

    int sent = 0;
    int calls = 0;
    std::optional<Answer::Kind> kind;
    bool admitted = false;
    std::int64_t remaining = -1;
    std::optional<petstore::store::Failure> failure;
};

struct RecordedLimitLog final : petstore::store::EventLog {
    void report(petstore::store::Event event) noexcept override
    {
        using petstore::store::Event;
        unexpected += event == Event::unexpected_limiter_reply;
        elsewhere += event == Event::limits_elsewhere;
    }

    int unexpected = 0;
    int elsewhere = 0;
};
