#pragma once

#include <cstddef>
#include <string_view>

#include "../../redis/in_flight.h"
#include "../../redis/link.h"
#include "../schema.h"

namespace petstore::store {

class Labels {
public:
    virtual void on_names(std::string_view account,
                          std::string_view external_id,
                          std::string_view label) noexcept = 0;

protected:
    ~Labels() = default;
};

// Reads labels and external ids of accounts for the status page. Must stay
// alive until its reads have ended.
class LabelReader {
public:
    // Borrows all. `link`: that of the records.
    LabelReader(redis::Link& link, const Schema& schema,
                Labels& labels) noexcept;
    ~LabelReader();

    // Says what they are, unless the read fails or there is no such
    // account. Does nothing if too many reads wait for Redis, or if out of
    // memory.
    void read(std::string_view account) noexcept;

private:
    class Read;
    static constexpr std::size_t kMostReads = 64;

    redis::Link& link_;
    const Schema& schema_;
    Labels& labels_;
    redis::InFlight<Read> reads_;
};

}  // namespace petstore::store
