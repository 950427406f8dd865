#pragma once

#include <cstddef>
#include <string_view>

#include "../../redis/in_flight.h"
#include "../../redis/link.h"
#include "../schema.h"

namespace petstore::store {

// Receives the names of an account that LabelReader has read.
class LabelObserver {
public:
    virtual void on_names(std::string_view account,
                          std::string_view external_id,
                          std::string_view label) noexcept = 0;

protected:
    ~LabelObserver() = default;
};

// Reads labels and external ids of accounts for the status page. Must stay
// alive until its reads have ended.
class LabelReader {
public:
    // Borrows all. `link`: that of the records.
    LabelReader(redis::Link& link, const Schema& schema,
                LabelObserver& observer) noexcept;
    ~LabelReader();

    // Calls on_names(), possibly before this returns. Does not call it if there
    // is no such account, if the read fails, if kMostReads wait for Redis, or
    // if out of memory.
    void read(std::string_view account) noexcept;

private:
    class Read;
    static constexpr std::size_t kMostReads = 64;

    redis::Link& link_;
    const Schema& schema_;
    LabelObserver& observer_;
    redis::InFlight<Read> reads_;
};

}  // namespace petstore::store
