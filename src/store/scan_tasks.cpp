#include "scan_tasks.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>
#include <vector>

#include "../redis/scan.h"
#include "call.h"

namespace petstore::store {

Task<std::map<std::string, std::string>> read_hash(redis::Link& link,
                                                   const std::string& key)
{
    std::map<std::string, std::string> fields;
    auto scan = redis::Scan::of_hash(key);
    while (!scan.done()) {
        const redis::Reply& reply = co_await ask(link, scan.next());
        const redis::Reply* const entries = scan.take(reply);
        if (entries == nullptr) {
            throw damaged("unexpected reply of Redis to HSCAN");
        }
        for (std::size_t i = 0; i + 1 < entries->size(); i += 2) {
            fields.emplace((*entries)[i].text(), (*entries)[i + 1].text());
        }
    }
    co_return fields;
}

Task<std::set<std::string>> read_set(redis::Link& link, const std::string& key)
{
    std::set<std::string> members;
    auto scan = redis::Scan::of_set(key);
    while (!scan.done()) {
        const redis::Reply& reply = co_await ask(link, scan.next());
        const redis::Reply* const some = scan.take(reply);
        if (some == nullptr) {
            throw damaged("unexpected reply of Redis to SSCAN");
        }
        for (std::size_t i = 0; i < some->size(); ++i) {
            members.emplace((*some)[i].text());
        }
    }
    co_return members;
}

namespace {

std::uint64_t cursor_of(std::string_view text) noexcept
{
    std::uint64_t cursor = 0;
    std::from_chars(text.data(), text.data() + text.size(), cursor);
    return cursor;
}

// A number that grows from cursor to cursor: SCAN counts with the bits in
// reverse, and ends at 0.
std::uint64_t position_of(std::uint64_t cursor) noexcept
{
    std::uint64_t reversed = 0;
    for (int bit = 0; bit < 64; ++bit) {
        reversed = reversed << 1 | (cursor >> bit & 1);
    }
    return cursor == 0 ? std::numeric_limits<std::uint64_t>::max() : reversed;
}

// Where to go on after a piece that ends at `end`. A piece ends after a number
// of entries, so after deletions it reaches further than the piece of which
// some were taken already, and those beyond that must not be passed over.
std::uint64_t next_cursor(const api::ScanPlace& place, std::uint64_t end)
{
    return place.after.empty()
               ? end
               : std::min(place.end, end, [](auto one, auto other) {
                     return position_of(one) < position_of(other);
                 });
}

using Entry = std::pair<std::string, std::string>;

// The entries of a piece that come after `after`, in order.
std::vector<Entry> sorted_after(const redis::Reply& piece, IndexKind kind,
                                const std::string& after)
{
    const std::size_t step = kind == IndexKind::hash ? 2 : 1;
    std::vector<Entry> entries;
    for (std::size_t i = 0; i + step <= piece.size(); i += step) {
        if (piece[i].text() > after) {
            entries.emplace_back(piece[i].text(),
                                 step == 2 ? piece[i + 1].text() : "");
        }
    }
    std::sort(entries.begin(), entries.end());
    return entries;
}

}  // namespace

Task<IndexPage> read_index_page(redis::Link& link, const std::string& key,
                                IndexKind kind, const api::ScanPlace& from,
                                std::size_t most)
{
    IndexPage page;
    api::ScanPlace place = from;
    for (;;) {
        auto scan = redis::Scan::from(kind == IndexKind::hash
                                          ? redis::Scan::of_hash(key)
                                          : redis::Scan::of_set(key),
                                      place.cursor);
        const redis::Reply& reply = co_await ask(link, scan.next());
        const redis::Reply* const piece = scan.take(reply);
        if (piece == nullptr) {
            throw damaged("unexpected reply of Redis to HSCAN or SSCAN");
        }
        const std::uint64_t next =
            next_cursor(place, cursor_of(reply[0].text()));
        for (Entry& entry : sorted_after(*piece, kind, place.after)) {
            if (page.entries.size() == most) {
                page.next = page.after(most - 1);
                co_return page;
            }
            page.entries.push_back(std::move(entry));
            page.pieces.push_back({place.cursor, next});
        }
        if (next == 0) {
            co_return page;
        }
        place = {next, 0, ""};
        if (page.entries.size() == most) {
            page.next = place;
            co_return page;
        }
    }
}

}  // namespace petstore::store
