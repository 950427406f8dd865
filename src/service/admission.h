#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "../api/digest.h"
#include "../store/storage.h"
#include "task.h"

namespace petstore::service {

// Prepares a request while it waits for admission, and runs it once admitted.
class AdmissionClient {
public:
    // The key is valid and the limiter is about to be asked. The client can now
    // determine what it will read.
    virtual void prepare() {}

    // The limiter's command was sent; reads sent now are executed after it, in
    // the same round trip. May be skipped.
    virtual void on_limit_sent() {}

    // Data read after that command are at least as new as `version`.
    virtual void on_limit_decided(const store::Version& version)
    {
        static_cast<void>(version);
    }

    virtual void on_admitted() = 0;

protected:
    ~AdmissionClient() = default;
};

// Admits or refuses a request: key → ban → limits → rate headers. A refused
// request is answered here; its client is not called.
class Admission final : private store::KeyWaiter,
                        private store::LimitWaiter,
                        private store::MarkerWaiter,
                        private store::ClockWaiter,
                        private store::DenialWaiter {
public:
    // Both borrowed, and part of the same object as this.
    Admission(Task& task, AdmissionClient& client) noexcept
        : task_(task), client_(client)
    {}

    void run();

    // Call when the request is being freed. No further subrequest may then wait
    // for this decision; those that already do are resumed with the limiter's
    // reply.
    void abandon() noexcept;

    // Valid once admitted.
    const store::CachedKey& key() const noexcept { return *key_; }

    // The catalogue's version, if the limiter's reply contained it.
    const std::optional<store::Version>& version() const noexcept
    {
        return version_;
    }

private:
    bool may_wait();
    void load_key();
    void on_key(const store::KeyResult& result) noexcept override;
    void refresh_key(std::int64_t epoch);
    void forget_key();
    void refuse_key(const store::RefusedKey& key);
    void refuse_address(const api::RateView& rate);

    void ask_clock();
    void on_clock(const std::optional<api::Error>& failure) noexcept override;

    void on_marker(Marker marker) noexcept override;
    void on_marker_error(const redis::Reply& error) noexcept override;
    void on_no_marker(redis::NoReply cause) noexcept override;
    void refuse_uncounted();

    enum class Record { remembered, fresh };  // fresh: read in this iteration
    void check_limits(Record record);
    bool deny_from_memory();
    void on_limit_sent() noexcept override;
    void on_limit(const store::LimitResult& result,
                  std::int64_t index) noexcept override;
    void on_limit_error(const redis::Reply& error) noexcept override;
    void on_limit_no_reply(redis::NoReply cause) noexcept override;
    template <typename Body>
    void end_limit_check(Body&& body) noexcept;
    void take_result(const store::LimitResult& result, std::int64_t index);

    void apply_decision(const api::Decision& decision);
    void count_denial(const api::Decision& decision);
    void account_banned(const store::Account& account,
                        const store::AccountStatus& status) noexcept override;
    void on_denial_counted(const api::Decision& decision) noexcept override;
    void deny(const api::Decision& decision);

    Task& task_;
    AdmissionClient& client_;

    api::Digest digest_{};  // of the API key
    store::Ref<store::CachedKey> key_;
    std::int64_t epoch_ = 0;  // the next record read must have it
    int refreshes_ = 0;
    bool placed_ = false;        // accounts live where the limiter is asked
    bool asked_clock_ = false;   // whether the key has expired
    store::Monotonic sent_ = 0;  // when the limiter was asked
    std::vector<Admission*> followers_;  // subrequests that share the decision
    std::optional<store::Version> version_;
};

}  // namespace petstore::service
