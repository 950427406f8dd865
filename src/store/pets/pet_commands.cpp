#include "pet_commands.h"

#include <algorithm>

#include "../../api/text.h"
#include "../scripts.h"

namespace petstore::store {

namespace {

// Clients can forge cursors beyond the last pet. No pet has a position this
// large, and below it neither sums here nor Lua's numbers overflow.
constexpr Position kLastStart = std::int64_t{1} << 52;

// How many bits of a bitmap one call searches: 1 MB, which takes about 100 µs
// if none is set.
constexpr Position kSearchSpan = std::int64_t{1} << 23;

// The last bit that a search after `after` examines, which is the last of its
// byte.
constexpr Position search_end(Position after) noexcept
{
    return (std::min(after, kLastStart) + kSearchSpan) | 7;
}

// What an unfiltered page reads from one bucket: positions [first, end).
struct Slice {
    std::int64_t bucket;
    Position first;
    Position end;
};

// Includes the row after the page.
Slice slice_of(const PageQuery& query, std::size_t index) noexcept
{
    const Position first = std::min(query.after, kLastStart) + 1;
    const Position end = first + query.limit + 1;
    const std::int64_t bucket =
        bucket_of(first) + static_cast<std::int64_t>(index);
    return {bucket, std::max(first, position_at(bucket, 0)),
            std::min(end, position_at(bucket + 1, 0))};
}

}  // namespace

redis::Command PetCommands::version() const
{
    redis::Command command("MGET");
    command.key(schema_.pet_count()).key(schema_.changes());
    return command;
}

redis::Command PetCommands::ids() const
{
    redis::Command command("MGET");
    command.key(schema_.changes()).key(schema_.segments());
    return command;
}

redis::Command PetCommands::change_log(std::int64_t entries) const
{
    redis::Command command("LRANGE");
    command.key(schema_.change_log()).arg(-entries).arg(-1);
    return command;
}

redis::Command PetCommands::get(Position position) const
{
    redis::Command command("LINDEX");
    command.key(schema_.bucket(bucket_of(position))).arg(row_of(position));
    return command;
}

redis::Command PetCommands::bucket(std::int64_t number) const
{
    redis::Command command("LRANGE");
    // One more than there may be shows damage. All could be more than a link
    // takes, which would cost its connection.
    command.key(schema_.bucket(number)).arg(0).arg(kBucketSize);
    return command;
}

std::vector<redis::Command> PetCommands::list_all(const PageQuery& query) const
{
    std::vector<redis::Command> commands;
    for (std::size_t i = 0;; ++i) {
        const Slice slice = slice_of(query, i);
        if (slice.first >= slice.end) {
            return commands;
        }
        commands.emplace_back("LRANGE")
            .key(schema_.bucket(slice.bucket))
            .arg(row_of(slice.first))
            .arg(row_of(slice.end - 1));
    }
}

redis::Command PetCommands::list_by_status(const PageQuery& query,
                                           Position count) const
{
    const api::Status status = query.status.value();
    const char letter = static_cast<char>(status);
    redis::Command command(scripts().list_by_status, 1);
    command.key(schema_.status_bitmap(status));
    command.arg(std::min(query.after, kLastStart))
        .arg(query.limit + 1)
        .arg(schema_.catalogue())
        .own({&letter, 1})
        .arg(search_end(query.after));
    if (count > search_end(query.after)) {
        command.arg(1);
    }
    return command;
}

redis::Command PetCommands::set_status(api::PetId id, api::Status status) const
{
    redis::Command command(scripts().set_status, 5);
    command.key(schema_.changes())
        .key(schema_.status_bitmap(api::Status::available))
        .key(schema_.status_bitmap(api::Status::pending))
        .key(schema_.status_bitmap(api::Status::sold))
        .key(schema_.change_log());
    const char letter = static_cast<char>(status);
    command.arg(id).own({&letter, 1}).arg(schema_.catalogue());
    return command;
}

redis::Command PetCommands::count() const
{
    redis::Command command("GET");
    command.key(schema_.pet_count());
    return command;
}

redis::Command PetCommands::clear_caches() const
{
    redis::Command command(scripts().clear_caches, 4);
    command.key(schema_.changes())
        .key(schema_.pet_count())
        .key(schema_.change_log())
        .key(schema_.segments());
    return command;
}

std::int64_t PageReader::bucket(std::size_t index) const noexcept
{
    return slice_of(query_, index).bucket;
}

bool PageReader::add(std::size_t index, const redis::Reply& reply)
{
    damaged_bucket_ = bucket(query_.status ? 0 : index);
    if (!reply.is(redis::Type::array)) {
        return false;
    }
    return query_.status ? index == calls_++ && add_filtered(reply)
                         : add_slice(index, reply);
}

bool PageReader::add_slice(std::size_t index, const redis::Reply& reply)
{
    const Slice slice = slice_of(query_, index);
    const auto wanted = static_cast<std::size_t>(slice.end - slice.first);
    if (reply.size() > wanted) {
        return false;
    }
    for (std::size_t i = 0; i < reply.size(); ++i) {
        const redis::Reply& record = reply[i];
        if (!record.is(redis::Type::string)) {
            return false;
        }
        if (!ended_
            && !add_row(slice.first + static_cast<Position>(i),
                        record.text())) {
            return false;
        }
    }
    // The buckets of a page are not read atomically: the next one may already
    // hold pets created after this one was read.
    ended_ = ended_ || reply.size() < wanted;
    return true;
}

bool PageReader::add_filtered(const redis::Reply& reply)
{
    const std::size_t end = reply.size() / 2 * 2;
    ended_ = reply.size() != end;
    if (ended_
        && (!reply[end].is(redis::Type::integer)
            || reply[end].integer() != 0)) {
        return false;
    }
    Position before = searched_;
    for (std::size_t i = 0; i < end; i += 2) {
        if (!reply[i].is(redis::Type::integer) || reply[i].integer() <= before
            || !reply[i + 1].is(redis::Type::string)) {
            return false;
        }
        before = reply[i].integer();
        damaged_bucket_ = bucket_of(before);
        if (!add_row(before, reply[i + 1].text())) {
            return false;
        }
    }
    // The last rows may come from a range of records that extends beyond the
    // search.
    searched_ = std::max(before, search_end(searched_));
    return true;
}

std::optional<PageQuery> PageReader::rest(Position count) const noexcept
{
    if (!query_.status || next_ != 0 || ended_ || searched_ >= count) {
        return std::nullopt;
    }
    PageQuery rest = query_;
    rest.after = searched_;
    rest.limit -= static_cast<int>(rows_.size());
    return rest;
}

bool PageReader::add_row(Position position, std::string_view record)
{
    if (rows_.size() == static_cast<std::size_t>(query_.limit)) {
        next_ = position;
        return true;
    }
    const auto pet = decode_record(0, record);
    if (!pet || (query_.status && pet->status != *query_.status)) {
        return false;
    }
    rows_.push_back({position, records_.size(), record.size()});
    records_.append(record);
    return true;
}

Position PageReader::missing(Position count) const noexcept
{
    if (query_.status || next_ != 0
        || query_.after >= count - static_cast<Position>(rows_.size())) {
        return 0;
    }
    return query_.after + static_cast<Position>(rows_.size()) + 1;
}

void PageReader::drop_after(Position count) noexcept
{
    while (!rows_.empty() && rows_.back().position > count) {
        rows_.pop_back();
    }
    if (next_ > count) {
        next_ = 0;
    }
}

PageReader::Page PageReader::finish(const PetIds& ids, Form form)
{
    const bool array = form == Form::array;
    Page page;
    page.more = next_ != 0;
    page.next = next_;
    page.body.reserve(records_.size() + rows_.size() * (api::kMaxPetFrame + 1)
                      + 2);
    if (array) {
        page.body += '[';
    }
    bool first = true;
    PetIds::Walk walk(ids);
    for (const Row& row : rows_) {
        page.last = row.position;
        page.last_id = walk.id_at(row.position);
        if (array && !first) {
            page.body += ',';
        }
        api::append_pet_json(
            page.body,
            split_record(page.last_id, std::string_view(records_).substr(
                                           row.offset, row.size)));
        if (!array) {
            page.body += '\n';
        }
        first = false;
    }
    if (array) {
        page.body += ']';
    }
    return page;
}

}  // namespace petstore::store
