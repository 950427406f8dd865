#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <variant>
#include <vector>

#include "../api/error.h"
#include "answer_cache.h"
#include "catalogue.h"
#include "link.h"

namespace petstore::store {

using ReadResult = std::variant<std::shared_ptr<const Answer>, api::Error>;

// A request that waits for a read.
class ReadWaiter {
public:
    virtual void on_read(const ReadResult& result) noexcept = 0;

protected:
    ~ReadWaiter() = default;
};

// One worker's reads of the catalogue. Answers come from memory as long as the
// catalogue's version, brought by the limiter's reply, says that they are
// current; requests that want what is being read already wait for that read.
class Reader {
public:
    Reader(TurnLink& link, const Catalogue& catalogue, std::size_t cache_bytes);

    // The answer from memory if it is current at `now`, or if `now` alone tells
    // it; nullptr otherwise.
    std::shared_ptr<const Answer> find(const ReadKey& key, const Version& now);

    // Whether a pet cannot exist as yet.
    static bool is_beyond(const ReadKey& key, const Version& now) noexcept
    {
        return key.is_pet() && key.id > now.last_id;
    }

    // Reads ahead, in the same write as the limiter's command and behind it:
    // nothing when there is an answer in memory, current or not, or a read on
    // its way, or when the pet did not exist a moment ago. Returns whether a
    // read was begun; then confirm() has to follow.
    bool read_ahead(const ReadKey& key);

    // The limiter's reply came: what was read ahead is at least as new.
    void confirm(const ReadKey& key, const Version& now);

    // Joins a read on its way that is new enough, or begins one. The waiter is
    // called once, perhaps before this returns. Without a version it is read
    // anew, and not kept.
    void read(const ReadKey& key, const std::optional<Version>& now,
              ReadWaiter& waiter);

private:
    class Load;
    friend class Load;

    Load* start(const ReadKey& key);
    void forget_if_lost();

    TurnLink& link_;
    const Catalogue& catalogue_;
    AnswerCache cache_;
    std::uint64_t session_ = 0;
    api::PetId newest_ = 0;  // the last id seen
    // The newest read on its way for each key; loads own themselves.
    std::unordered_map<ReadKey, Load*, ReadKey::Hash> loads_;
};

}  // namespace petstore::store
