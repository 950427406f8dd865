#pragma once

#include <cstdint>
#include <optional>

#include "../api/digest.h"
#include "../store/storage.h"
#include "await.h"
#include "find_key.h"
#include "request_task.h"

namespace petstore::service {

// Finds the API key of a request and checks that it is usable: neither disabled
// nor expired. Answers the request if it is not.
//
// Nothing here asks whether the records are the latest: the account's state in
// Redis, which the caller reads next, has the current epoch; see renew().
class Authentication {
public:
    enum class Record { remembered, fresh };  // fresh: read in this iteration

    class Owner {
    public:
        // The key is usable. Called again after renew(), read_again()
        // and check().
        virtual void on_key(Record record) = 0;

    protected:
        ~Owner() = default;
    };

    // Both borrowed, and part of the same object as this.
    Authentication(RequestTask& task, Owner& owner) noexcept
        : task_(task), owner_(owner)
    {}

    void run();

    // After another wait: the key may have expired.
    void check() { check(Record::remembered); }

    // The account has this epoch, and the key another: reads the records again,
    // unless another request has. During an import, which changes an account
    // thousands of times per second, they may have changed again by the next
    // reply. So the request is refused, but only after redis_timeout, and not
    // before kUsualRenewals attempts: a slow Redis may have taken that time.
    void renew(std::int64_t epoch);
    // Reads the records again although no change is known, and checks them.
    void read_again();
    bool renewed() const noexcept { return renewing_since_.has_value(); }

    // The key has expired, as the limiter's decision shows.
    void refuse() { refuse(task_.now()); }

    // Valid in and after on_key().
    const store::Ref<store::CachedKey>& key() const noexcept { return key_; }

private:
    static constexpr int kUsualRenewals = 8;

    void proceed(FoundKey found);
    void read();
    void take_key(const store::Ref<store::CachedKey>& key);
    void refuse(store::Monotonic asked);
    void check(Record record);
    void take_clock(const store::Done&) { check(); }

    RequestTask& task_;
    Owner& owner_;
    Await<store::Ref<store::CachedKey>, Authentication,
          &Authentication::take_key>
        key_read_{task_, *this};
    Await<store::Done, Authentication, &Authentication::take_clock> clock_read_{
        task_, *this};

    api::Digest digest_{};  // of the API key
    store::Ref<store::CachedKey> key_;
    std::int64_t epoch_ = 0;  // the next record read must have it
    std::optional<store::Monotonic> renewing_since_;
    int renewals_ = 0;
    bool asked_clock_ = false;    // whether the key has expired
    bool read_ = false;           // this request has read the record
    store::Monotonic asked_ = 0;  // when it did
};

}  // namespace petstore::service
