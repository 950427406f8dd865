#include "denied_accounts.h"

#include <functional>

namespace petstore::metrics {

DeniedAccount DeniedAccounts::load(const Entry& entry) noexcept
{
    std::uint64_t words[kWords];
    for (std::size_t i = 0; i < kWords; ++i) {
        words[i] = entry.words[i].load(std::memory_order_relaxed);
    }
    DeniedAccount account;
    std::memcpy(&account, words, sizeof(account));
    return account;
}

void DeniedAccounts::store(Entry& entry, const DeniedAccount& account) noexcept
{
    std::uint64_t words[kWords];
    std::memcpy(words, &account, sizeof(account));
    const auto sequence = entry.sequence.load(std::memory_order_relaxed) | 1;
    entry.sequence.store(sequence, std::memory_order_relaxed);
    // With the fence in read(): whoever reads a word stored below, then reads
    // this sequence or a later one.
    std::atomic_thread_fence(std::memory_order_release);
    for (std::size_t i = 0; i < kWords; ++i) {
        entry.words[i].store(words[i], std::memory_order_relaxed);
    }
    // Release: whoever reads this sequence, reads these words or later ones.
    entry.sequence.store(sequence + 1, std::memory_order_release);
}

void DeniedAccounts::add(std::string_view account, std::uint32_t plan,
                         bool banned, std::uint64_t until,
                         std::uint64_t now) noexcept
{
    DeniedAccount wanted;
    account = account.substr(0, sizeof(wanted.id) - 1);
    std::memcpy(wanted.id, account.data(), account.size());

    const std::size_t set = std::hash<std::string_view>()(account) % kSets;
    Entry* const first = &entries_[set * kSetSize];
    Entry* entry = first;
    std::uint64_t least = UINT64_MAX;
    for (Entry* p = first; p < first + kSetSize; ++p) {
        const DeniedAccount present = load(*p);
        if (present.account() == account) {
            entry = p;
            // The end of one window or ban may vary by the rounding of clocks.
            const bool same = present.banned == (banned ? 1U : 0U)
                              && present.until + 1 >= until
                              && !present.is_of_reset_clock(now);
            wanted.denied = same ? present.denied : 0;
            break;
        }
        const std::uint64_t age = present.has_ended(now) ? 0 : present.last;
        if (age < least) {
            least = age;
            entry = p;
        }
    }
    wanted.plan = plan;
    wanted.banned = banned ? 1 : 0;
    wanted.until = until;
    wanted.last = now;
    ++wanted.denied;
    store(*entry, wanted);
}

bool DeniedAccounts::read(std::size_t entry,
                          DeniedAccount& account) const noexcept
{
    const Entry& source = entries_[entry];
    // Acquire and the fence: see store().
    const auto before = source.sequence.load(std::memory_order_acquire);
    if (before == 0 || before % 2 != 0) {
        return false;
    }
    account = load(source);
    std::atomic_thread_fence(std::memory_order_acquire);
    return source.sequence.load(std::memory_order_relaxed) == before;
}

}  // namespace petstore::metrics
