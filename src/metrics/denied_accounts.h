#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace petstore::metrics {

// An account whose requests are denied. Times are Unix seconds of this host.
struct DeniedAccount {
    char id[64] = {};  // truncated, NUL-terminated
    std::uint32_t plan = 0;
    std::uint32_t banned = 0;
    std::uint64_t until = 0;   // the end of the window or of the ban
    std::uint64_t last = 0;    // the latest denied request
    std::uint64_t denied = 0;  // requests in this window or ban

    std::string_view account() const noexcept { return id; }

    // Workers cache the time, so that of one may be a little ahead. Further
    // ahead, the times are those of a clock that has been set back since.
    bool is_of_reset_clock(std::uint64_t now) const noexcept
    {
        return last > now + 60;
    }

    bool has_ended(std::uint64_t now) const noexcept
    {
        return until <= now || is_of_reset_clock(now);
    }
};

// One worker's table of recently denied accounts. Bounded: in its small set, a
// new account replaces one whose window or ban has ended, or else the one
// denied longest ago. One worker writes and all read, without locks. Workers
// that share a table may mix two accounts in one entry, which is still a valid
// DeniedAccount.
class DeniedAccounts {
public:
    static constexpr std::size_t kSets = 8;
    static constexpr std::size_t kSetSize = 4;
    static constexpr std::size_t kSize = kSets * kSetSize;

    // Counts a denied request of `account` and updates its other values.
    void add(std::string_view account, std::uint32_t plan, bool banned,
             std::uint64_t until, std::uint64_t now) noexcept;

    // False if the entry is empty or being written.
    bool read(std::size_t entry, DeniedAccount& account) const noexcept;

private:
    static constexpr std::size_t kWords =
        sizeof(DeniedAccount) / sizeof(std::uint64_t);
    static_assert(sizeof(DeniedAccount) % sizeof(std::uint64_t) == 0);

    // A sequence lock: odd while the entry is being written. A worker that was
    // killed leaves it odd, and the next write to the entry completes it.
    struct Entry {
        std::atomic<std::uint64_t> sequence{0};
        std::array<std::atomic<std::uint64_t>, kWords> words{};
    };

    static DeniedAccount load(const Entry& entry) noexcept;
    static void store(Entry& entry, const DeniedAccount& account) noexcept;

    std::array<Entry, kSize> entries_;
};

}  // namespace petstore::metrics
