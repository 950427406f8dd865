#include "busy_accounts.h"

#include <algorithm>
#include <functional>

#include "../api/utf8.h"

namespace petstore::metrics {

namespace {

constexpr std::uint64_t kMinute = 60;

template <std::size_t Size>
void set(std::array<std::atomic<char>, Size>& to,
         std::string_view text) noexcept
{
    for (std::size_t i = 0; i < Size; ++i) {
        const char c = i < text.size() && i + 1 < Size ? text[i] : '\0';
        to[i].store(c, std::memory_order_relaxed);
    }
}

template <std::size_t Size>
void get(const std::array<std::atomic<char>, Size>& from,
         char (&text)[Size]) noexcept
{
    for (std::size_t i = 0; i < Size; ++i) {
        text[i] = from[i].load(std::memory_order_relaxed);
    }
}

// As much of a text as fits, in whole characters.
std::size_t printable(std::string_view text, char* to,
                      std::size_t room) noexcept
{
    std::size_t length = 0;
    while (!text.empty()) {
        const std::size_t size = api::code_point_size(text);
        const std::size_t taken = std::max<std::size_t>(size, 1);
        if (length + taken > room) {
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
    return length;
}

}  // namespace

// A sequence lock: readers discard what they have read if the version is odd or
// has changed meanwhile. Writers hold the table's lock; one that was killed
// leaves an odd version, which the next one completes.
class BusyAccounts::Writing {
public:
    explicit Writing(Entry& entry) noexcept
        : version_(entry.version),
          odd_(version_.load(std::memory_order_relaxed) | 1)
    {
        version_.store(odd_, std::memory_order_relaxed);
        // With the fence in read(): whoever reads what is stored from now on,
        // then reads this version or a later one.
        std::atomic_thread_fence(std::memory_order_release);
    }
    // Release: whoever reads this version, reads all that was stored before.
    ~Writing() { version_.store(odd_ + 1, std::memory_order_release); }
    Writing(const Writing&) = delete;

private:
    std::atomic<std::uint32_t>& version_;
    const std::uint32_t odd_;
};

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
    // Of several workers, one begins the minute. Others may still be in the
    // minute before: each caches the time.
    if (latest < minute
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
                                          std::uint64_t now) noexcept
{
    const std::uint64_t hash = hash_of(account);
    const std::uint64_t minute = now / kMinute;
    Counted result = Counted::no;
    Entry* const first = set_of(hash);
    for (Entry* entry = first; entry < first + kSetSize; ++entry) {
        if (entry->hash.load(std::memory_order_acquire) == hash) {
            count(*entry, minute);
            return Counted::yes;
        }
        if (entry->minute.load(std::memory_order_relaxed) + 1 < minute) {
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
    const Writing writing(entry);
    entry.hash.store(0, std::memory_order_relaxed);  // count() has no lock
    set(entry.id, account);
    set(entry.external_id, external_id);
    set(entry.label, {});
    entry.label_read = 0;
    entry.plan.store(plan, std::memory_order_relaxed);
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

bool BusyAccounts::wants_label(std::size_t entry, std::uint64_t now,
                               BusyAccount& account) noexcept
{
    auto& last = entries_[entry].label_read;
    if (last + kMinute > now || !read(entry, now, account)) {
        return false;
    }
    last = now;
    return true;
}

void BusyAccounts::set_label(std::string_view account,
                             std::string_view label) noexcept
{
    const std::uint64_t hash = hash_of(account);
    Entry* const entry = find(hash);
    if (entry == nullptr) {
        return;
    }
    char text[sizeof(BusyAccount::label)];
    const std::size_t length = printable(label, text, sizeof(text) - 1);
    const Writing writing(*entry);
    set(entry->label, {text, length});
}

bool BusyAccounts::read(std::size_t entry, std::uint64_t now,
                        BusyAccount& account) const noexcept
{
    const Entry& source = entries_[entry];
    // Acquire and the fence: see Writing.
    const auto before = source.version.load(std::memory_order_acquire);
    get(source.id, account.id);
    get(source.external_id, account.external_id);
    get(source.label, account.label);
    account.plan = source.plan.load(std::memory_order_relaxed);
    account.per_minute = recent(source, now);
    std::atomic_thread_fence(std::memory_order_acquire);
    return before % 2 == 0 && account.per_minute > 0
           && source.version.load(std::memory_order_relaxed) == before;
}

}  // namespace petstore::metrics
