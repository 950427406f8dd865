#pragma once

#include <optional>
#include <vector>

#include "reader.h"

namespace petstore::store {

// Whether a catalogue that was told to be empty is, or has lost the keys that
// tell. Looks for the first pet, then for the last id again: a pet that is
// there with no last id behind it was not created a moment ago, since a create
// is one step. Deletes itself once both replies came.
class Reader::VacancyCheck final : public ReplyHandler {
public:
    explicit VacancyCheck(Reader& owner) noexcept : owner_(owner) {}

    void begin() noexcept;

    // A request that was told of no pets.
    void add(const ReadKey& key, ReadWaiter& waiter)
    {
        waiters_.push_back({key, &waiter});
    }

    void on_reply(const resp::Reply& reply) noexcept override;
    void on_loss(Loss loss) noexcept override;

private:
    struct Waiting {
        ReadKey key;
        ReadWaiter* waiter;
    };

    void take_first_pet(const resp::Reply& reply);
    void take_last_id(const resp::Reply& reply);
    void end_if_complete() noexcept;
    ReadResult answer(const ReadKey& key) const;

    Reader& owner_;
    std::vector<Waiting> waiters_;
    std::optional<api::Error> error_;
    bool has_pets_ = false;
    int sent_ = 0;
    int seen_ = 0;
    // A command can be lost before send() returns: not the time to go.
    bool sending_ = false;
};

}  // namespace petstore::store
