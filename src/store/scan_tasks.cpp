#include "scan_tasks.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>

#include "../redis/scan.h"
#include "call.h"

namespace petstore::store {

namespace {

// A failover changes the server of a key once or twice.
constexpr int kTries = 10;

// Changes if commands for the key may have reached another server.
std::pair<std::uint64_t, std::uint64_t> server_of(const redis::Link& link,
                                                  const std::string& key)
{
    return {link.connection_generation(key), link.reorderings(key)};
}

std::uint64_t cursor_of(std::string_view text) noexcept
{
    std::uint64_t cursor = 0;
    std::from_chars(text.data(), text.data() + text.size(), cursor);
    return cursor;
}

// The entries of a piece. `reply` is that to scan.next().
const redis::Reply& entries_of(redis::Scan& scan, const redis::Reply& reply)
{
    const redis::Reply* const entries = scan.take(reply);
    if (entries == nullptr) {
        throw damaged("unexpected reply of Redis to HSCAN or SSCAN");
    }
    return *entries;
}

template <typename Entries>
Task<Entries> read_whole(redis::Link& link, std::string key,
                         redis::Scan (*scan_of)(std::string),
                         void (*add)(const redis::Reply& piece, Entries& to))
{
    Entries entries;
    const ReadPiece read = [&](api::ScanPlace from) -> Task<PieceEnd> {
        const bool first = from.cursor == 0;
        if (first) {
            entries.clear();
        }
        auto scan = redis::Scan::from(scan_of(key), from.cursor);
        const redis::Reply& reply = co_await ask(link, scan.next());
        add(entries_of(scan, reply), entries);
        const auto cursor = cursor_of(reply[0].text());
        if (cursor == 0) {
            co_return PieceEnd{std::nullopt, first};
        }
        co_return PieceEnd{api::ScanPlace{cursor, 0, ""}};
    };
    co_await read_in_pieces(link, key, read);
    co_return entries;
}

void add_fields(const redis::Reply& piece,
                std::map<std::string, std::string>& to)
{
    for (std::size_t i = 0; i + 1 < piece.size(); i += 2) {
        to.emplace(piece[i].text(), piece[i + 1].text());
    }
}

void add_members(const redis::Reply& piece, std::set<std::string>& to)
{
    for (std::size_t i = 0; i < piece.size(); ++i) {
        to.emplace(piece[i].text());
    }
}

}  // namespace

Task<> read_in_pieces(redis::Link& link, const std::string& key,
                      const ReadPiece& read)
{
    for (int tries = 0; tries < kTries; ++tries) {
        const auto server = server_of(link, key);
        bool valid = true;
        std::optional<api::ScanPlace> place(std::in_place);
        while (place && valid) {
            PieceEnd end = co_await read(*place);
            valid = end.certain || server_of(link, key) == server;
            place = std::move(end.next);
        }
        if (valid) {
            co_return;
        }
    }
    throw refused(Refusal::server_changes, api::ErrorCode::service_unavailable,
                  "the server of the Redis key " + key
                      + " changes repeatedly: try again later");
}

Task<std::map<std::string, std::string>> read_hash(redis::Link& link,
                                                   std::string key)
{
    return read_whole(link, std::move(key), redis::Scan::of_hash, add_fields);
}

Task<std::set<std::string>> read_set(redis::Link& link, std::string key)
{
    return read_whole(link, std::move(key), redis::Scan::of_set, add_members);
}

namespace {

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

Task<IndexPage> read_index_page(redis::Link& link, std::string key,
                                IndexKind kind, api::ScanPlace place,
                                std::size_t most)
{
    IndexPage page;
    for (;;) {
        auto scan = redis::Scan::from(kind == IndexKind::hash
                                          ? redis::Scan::of_hash(key)
                                          : redis::Scan::of_set(key),
                                      place.cursor);
        const redis::Reply& reply = co_await ask(link, scan.next());
        const redis::Reply& piece = entries_of(scan, reply);
        const std::uint64_t next =
            next_cursor(place, cursor_of(reply[0].text()));
        for (Entry& entry : sorted_after(piece, kind, place.after)) {
            if (page.entries.size() == most) {
                page.next = page.after(most - 1);
                co_return page;
            }
            page.entries.push_back(std::move(entry));
            page.pieces.push_back({place.cursor, next});
        }
        if (next == 0) {
            page.whole = place.cursor == 0 && place.after.empty();
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
