#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace petstore::metrics {

// An account that has sent requests lately.
struct BusyAccount {
    // NUL-terminated. Ids and external ids have no more bytes.
    char id[72] = {};
    char external_id[136] = {};
    // UTF-8 without control characters, truncated. Empty until it is read.
    char label[128] = {};
    std::uint32_t plan = 0;  // of its last request, as in Directory::plans
    double per_minute = 0;   // its requests to this host, at present
};

// The accounts with the most requests, in shared memory. Workers count without
// a lock, so a few requests may be missing when a minute ends or names are
// set. All other functions need the lock of the memory's owner. Bounded: a set
// has room for few accounts, and a new one replaces the one with the fewest
// requests in this minute and the last.
class BusyAccounts {
public:
    static constexpr std::size_t kSets = 16;
    static constexpr std::size_t kSetSize = 4;
    static constexpr std::size_t kSize = kSets * kSetSize;

    using List = std::array<BusyAccount, kSize>;

    enum class Counted {
        yes,
        no_but_there_is_room,  // an entry without recent requests
        no,
    };

    // Counts a request of the account. `now` is Unix seconds, as below.
    Counted count(std::string_view account, std::uint32_t plan,
                  std::uint64_t now) noexcept;

    // Adds an account with one request, unless it is there.
    void add(std::string_view account, std::string_view external_id,
             std::uint32_t plan, std::uint64_t now) noexcept;

    // Whether the names of the entry's account should be read: never done, or
    // not for a minute. Then counts as being read.
    bool wants_names(std::size_t entry, std::uint64_t now,
                     BusyAccount& account) noexcept;

    // The label is any text. Ignored if the account is not there.
    void set_names(std::string_view account, std::string_view external_id,
                   std::string_view label) noexcept;

    // False, with 0 requests per minute, if the entry has no recent ones.
    bool read(std::size_t entry, std::uint64_t now,
              BusyAccount& account) const noexcept;
    List read_all(std::uint64_t now) const noexcept;

private:
    struct Entry {
        // Of the account. 0: empty, or being written, perhaps by a worker that
        // was killed.
        std::atomic<std::uint64_t> hash{0};
        std::atomic<std::uint64_t> minute{0};    // the latest with a request
        std::atomic<std::uint32_t> requests{0};  // in that minute
        std::atomic<std::uint32_t> before{0};    // in the minute before
        std::atomic<std::uint32_t> plan{0};
        BusyAccount account;           // plan and per_minute are not used
        std::uint64_t names_read = 0;  // when, in Unix seconds
    };

    static std::uint64_t hash_of(std::string_view account) noexcept;
    static void count(Entry& entry, std::uint64_t minute) noexcept;
    static double recent(const Entry& entry, std::uint64_t now) noexcept;
    Entry* set_of(std::uint64_t hash) noexcept;
    Entry* find(std::uint64_t hash) noexcept;  // nullptr if it is not there

    std::array<Entry, kSize> entries_;
};

}  // namespace petstore::metrics
