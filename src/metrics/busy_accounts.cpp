#include "busy_accounts.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "../api/utf8.h"
#include "printable.h"

namespace petstore::metrics {

namespace {

constexpr std::uint64_t kMinute = 60;

// Workers cache the time, so one may be in the minute after or before that of
// another. Further ahead, it is that of a clock that has been set back since.
bool is_of_reset_clock(std::uint64_t minute, std::uint64_t now_minute) noexcept
{
    return minute > now_minute + 1;
}

// As much of a text as fits, in whole characters; filled with NUL.
template <std::size_t Size>
void set_label_text(char (&to)[Size], std::string_view text) noexcept
{
    std::size_t length = 0;
    while (!text.empty()) {
        const std::size_t size = api::code_point_size(text);
        const std::size_t taken = std::max<std::size_t>(size, 1);
        if (length + taken >= Size) {
            break;
        }
        const bool is_control =
            static_cast<unsigned char>(text[0]) < ' ' || text[0] == '\x7f';
        if (size == 0 || is_control) {
            to[length] = '?';
        } else {
            text.copy(to + length, size);
        }
        length += taken;
        text.remove_prefix(taken);
    }
    std::memset(to + length, 0, Size - length);
}

}  // namespace

std::uint64_t BusyAccounts::hash_of(std::string_view account) noexcept
{
    return std::hash<std::string_view>()(account) | 1;  // never 0
}

BusyAccounts::Entry* BusyAccounts::set_of(std::uint64_t hash) noexcept
{
    return &entries_[(hash >> 8) % kSets * kSetSize];
}

// Relaxed: a reader that sees a new minute with old counts shows a wrong rate
// once, on the status page only.
void BusyAccounts::count(Entry& entry, std::uint64_t minute) noexcept
{
    auto latest = entry.minute.load(std::memory_order_relaxed);
    // Of several workers, one begins the minute.
    if ((latest < minute || is_of_reset_clock(latest, minute))
        && entry.minute.compare_exchange_strong(latest, minute,
                                                std::memory_order_relaxed)) {
        const auto ended =
            entry.requests.exchange(0, std::memory_order_relaxed);
        entry.before.store(latest + 1 == minute ? ended : 0,
                           std::memory_order_relaxed);
    }
    entry.requests.fetch_add(1, std::memory_order_relaxed);
}

// Requests per minute: of the minute before counts what lies within the last 60
// seconds, if they were spread evenly.
double BusyAccounts::recent(const Entry& entry, std::uint64_t now) noexcept
{
    const auto minute = entry.minute.load(std::memory_order_relaxed);
    if (is_of_reset_clock(minute, now / kMinute)) {
        return 0;
    }
    now = std::max(now, minute * kMinute);  // another worker's time is ahead
    const std::uint64_t age = now / kMinute - minute;
    const double left =
        1 - static_cast<double>(now % kMinute) / static_cast<double>(kMinute);
    const auto requests =
        static_cast<double>(entry.requests.load(std::memory_order_relaxed));
    const auto before =
        static_cast<double>(entry.before.load(std::memory_order_relaxed));
    return age == 0 ? requests + before * left : age == 1 ? requests * left : 0;
}

BusyAccounts::Counted BusyAccounts::count(std::string_view account,
                                          std::uint32_t plan,
                                          std::uint64_t now) noexcept
{
    const std::uint64_t hash = hash_of(account);
    const std::uint64_t minute = now / kMinute;
    Counted result = Counted::no;
    Entry* const first = set_of(hash);
    for (Entry* entry = first; entry < first + kSetSize; ++entry) {
        if (entry->hash.load(std::memory_order_acquire) == hash) {
            count(*entry, minute);
            if (entry->plan.load(std::memory_order_relaxed) != plan) {
                entry->plan.store(plan, std::memory_order_relaxed);
            }
            return Counted::yes;
        }
        const auto latest = entry->minute.load(std::memory_order_relaxed);
        if (latest + 1 < minute || is_of_reset_clock(latest, minute)) {
            result = Counted::no_but_there_is_room;
        }
    }
    return result;
}

void BusyAccounts::add(std::string_view account, std::string_view external_id,
                       std::uint32_t plan, std::uint64_t now) noexcept
{
    const std::uint64_t hash = hash_of(account);
    if (find(hash) != nullptr) {
        return;  // another worker was faster
    }
    Entry* const first = set_of(hash);
    Entry& entry = *std::min_element(first, first + kSetSize,
                                     [now](const Entry& a, const Entry& b) {
                                         return recent(a, now) < recent(b, now);
                                     });
    // The entry is empty if this worker is killed before it is complete. A
    // request of the account that was here may still be counted in it.
    entry.hash.exchange(0, std::memory_order_acquire);
    set_printable(entry.account.id, account);
    set_printable(entry.account.external_id, external_id);
    set_printable(entry.account.label, {});
    entry.plan.store(plan, std::memory_order_relaxed);
    entry.names_read = 0;
    entry.minute.store(now / kMinute, std::memory_order_relaxed);
    entry.requests.store(1, std::memory_order_relaxed);
    entry.before.store(0, std::memory_order_relaxed);
    // Release: count() in another worker must not begin a minute in the counts
    // of the account that was here before.
    entry.hash.store(hash, std::memory_order_release);
}

BusyAccounts::Entry* BusyAccounts::find(std::uint64_t hash) noexcept
{
    Entry* const first = set_of(hash);
    Entry* const found =
        std::find_if(first, first + kSetSize, [hash](const Entry& entry) {
            return entry.hash.load(std::memory_order_relaxed) == hash;
        });
    return found == first + kSetSize ? nullptr : found;
}

bool BusyAccounts::wants_names(std::size_t entry, std::uint64_t now,
                               BusyAccount& account) noexcept
{
    auto& last = entries_[entry].names_read;
    const bool lately = last + kMinute > now && last < now + kMinute;
    if (lately || !read(entry, now, account)) {
        return false;
    }
    last = now;
    return true;
}

void BusyAccounts::set_names(std::string_view account,
                             std::string_view external_id,
                             std::string_view label) noexcept
{
    const std::uint64_t hash = hash_of(account);
    Entry* const entry = find(hash);
    if (entry == nullptr) {
        return;
    }
    entry->hash.exchange(0, std::memory_order_acquire);  // as in add()
    set_printable(entry->account.external_id, external_id);
    set_label_text(entry->account.label, label);
    entry->hash.store(hash, std::memory_order_release);
}

bool BusyAccounts::read(std::size_t entry, std::uint64_t now,
                        BusyAccount& account) const noexcept
{
    const Entry& source = entries_[entry];
    account = source.account;
    account.plan = source.plan.load(std::memory_order_relaxed);
    account.per_minute = source.hash.load(std::memory_order_relaxed) == 0
                             ? 0
                             : recent(source, now);
    return account.per_minute > 0;
}

BusyAccounts::List BusyAccounts::read_all(std::uint64_t now) const noexcept
{
    List all;
    for (std::size_t i = 0; i < kSize; ++i) {
        read(i, now, all[i]);
    }
    return all;
}

}  // namespace petstore::metrics
