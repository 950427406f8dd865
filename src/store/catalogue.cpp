#include "catalogue.h"

#include <algorithm>
#include <limits>

#include "../api/text.h"
#include "record.h"

namespace petstore::store {

namespace {

constexpr std::int64_t kIdempotencySeconds = 24 * 60 * 60;

// A cursor is no secret, so anyone can ask for a page behind the largest id.
// Neither sums nor Lua's numbers must overflow there; no pet is that far.
constexpr api::PetId kLastStart = std::int64_t{1} << 52;

// What a page without a filter reads of one bucket: [first, end).
struct Slice {
    std::int64_t bucket;
    api::PetId first;
    api::PetId end;
};

// The rows of the page and one more, which tells whether there is a next page.
Slice slice_of(const api::ListQuery& query, std::size_t index) noexcept
{
    const api::PetId first = std::min(query.after, kLastStart) + 1;
    const api::PetId end = first + query.limit + 1;
    const std::int64_t bucket =
        bucket_of(first) + static_cast<std::int64_t>(index);
    const api::PetId opening = bucket * kBucketSize + 1;
    return {bucket, std::max(first, opening),
            std::min(end, opening + kBucketSize)};
}

}  // namespace

resp::Command Catalogue::version() const
{
    resp::Command command("MGET");
    command.own(schema_.last_pet_id()).own(schema_.changes());
    return command;
}

resp::Command Catalogue::get(api::PetId id) const
{
    resp::Command command("LINDEX");
    command.own(schema_.bucket(bucket_of(id))).arg(position_of(id));
    return command;
}

resp::Command Catalogue::bucket(std::int64_t number) const
{
    resp::Command command("LRANGE");
    command.own(schema_.bucket(number)).arg(0).arg(-1);
    return command;
}

std::vector<resp::Command>
Catalogue::list_all(const api::ListQuery& query) const
{
    std::vector<resp::Command> commands;
    for (std::size_t i = 0;; ++i) {
        const Slice slice = slice_of(query, i);
        if (slice.first >= slice.end) {
            return commands;
        }
        commands.emplace_back("LRANGE")
            .own(schema_.bucket(slice.bucket))
            .arg(position_of(slice.first))
            .arg(position_of(slice.end - 1));
    }
}

resp::Command Catalogue::list_by_status(const api::ListQuery& query,
                                        bool eval) const
{
    const api::Status status = query.status.value();
    const char letter = static_cast<char>(status);
    resp::Command command = call(scripts::list_by_status(), 1, eval);
    command.own(schema_.status_bitmap(status));
    command.arg(std::min(query.after, kLastStart))
        .arg(query.limit + 1)
        .arg(schema_.catalogue())
        .own({&letter, 1});
    return command;
}

resp::Command Catalogue::create(const api::NewPet& pet,
                                std::string_view account,
                                const std::optional<Idempotency>& idempotency,
                                bool eval) const
{
    resp::Command command =
        call(scripts::create_pet(), idempotency ? 4 : 3, eval);
    command.own(schema_.last_pet_id())
        .own(schema_.changes())
        .own(schema_.status_bitmap(pet.status));
    if (idempotency) {
        command.own(schema_.idempotency(account, idempotency->key));
    }
    command.own(encode_record(pet)).arg(schema_.catalogue());
    if (idempotency) {
        command.own(api::to_hex(api::bytes_of(idempotency->body)))
            .arg(kIdempotencySeconds);
    }
    return command;
}

Catalogue::Created Catalogue::parse_created(const resp::Reply& reply) noexcept
{
    const Created invalid{Created::Result::invalid, 0};
    if (reply.size() != 2 || !reply[0].is(resp::Type::integer)
        || !reply[1].is(resp::Type::integer)) {
        return invalid;
    }
    const api::PetId id = reply[0].integer();
    switch (reply[1].integer()) {
    case 0:
        return id > 0 ? Created{Created::Result::created, id} : invalid;
    case 1:
        return id > 0 ? Created{Created::Result::replayed, id} : invalid;
    case 2:
        return {Created::Result::key_reused, 0};
    default:
        return invalid;
    }
}

resp::Command Catalogue::set_status(api::PetId id, api::Status status,
                                    bool eval) const
{
    resp::Command command = call(scripts::set_status(), 4, eval);
    command.own(schema_.changes())
        .own(schema_.status_bitmap(api::Status::available))
        .own(schema_.status_bitmap(api::Status::pending))
        .own(schema_.status_bitmap(api::Status::sold));
    const char letter = static_cast<char>(status);
    command.arg(id).own({&letter, 1}).arg(schema_.catalogue());
    return command;
}

resp::Command Catalogue::last_id() const
{
    resp::Command command("GET");
    command.own(schema_.last_pet_id());
    return command;
}

resp::Command Catalogue::clear_caches(bool eval) const
{
    resp::Command command = call(scripts::clear_caches(), 2, eval);
    command.own(schema_.changes()).own(schema_.last_pet_id());
    return command;
}

std::int64_t PageReader::bucket(std::size_t index) const noexcept
{
    return slice_of(query_, index).bucket;
}

bool PageReader::add(std::size_t index, const resp::Reply& reply)
{
    damaged_bucket_ = bucket(index);
    if (!reply.is(resp::Type::array)) {
        return false;
    }
    return query_.status ? index == 0 && add_filtered(reply)
                         : add_slice(index, reply);
}

bool PageReader::add_slice(std::size_t index, const resp::Reply& reply)
{
    const Slice slice = slice_of(query_, index);
    const auto wanted = static_cast<std::size_t>(slice.end - slice.first);
    if (reply.size() > wanted) {
        return false;
    }
    for (std::size_t i = 0; i < reply.size(); ++i) {
        const resp::Reply& record = reply[i];
        if (!record.is(resp::Type::string)) {
            return false;
        }
        if (!ended_
            && !add_row(slice.first + static_cast<api::PetId>(i),
                        record.text())) {
            return false;
        }
    }
    // The buckets of a page are not read at one moment: what the next one holds
    // may be younger than this end.
    ended_ = ended_ || reply.size() < wanted;
    return true;
}

bool PageReader::add_filtered(const resp::Reply& reply)
{
    if (reply.size() % 2 != 0) {
        return false;
    }
    api::PetId before = query_.after;
    for (std::size_t i = 0; i < reply.size(); i += 2) {
        if (!reply[i].is(resp::Type::integer) || reply[i].integer() <= before
            || !reply[i + 1].is(resp::Type::string)) {
            return false;
        }
        const api::PetId id = before = reply[i].integer();
        damaged_bucket_ = bucket_of(id);
        if (!add_row(id, reply[i + 1].text())) {
            return false;
        }
    }
    return true;
}

bool PageReader::add_row(api::PetId id, std::string_view record)
{
    if (rows_.size() == static_cast<std::size_t>(query_.limit)) {
        reach_ = id;
        return true;
    }
    const auto pet = decode_record(id, record);
    if (!pet || (query_.status && pet->status != *query_.status)) {
        return false;
    }
    rows_.push_back({id, records_.size(), record.size()});
    records_.append(record);
    return true;
}

api::PetId PageReader::missing(api::PetId last_id) const noexcept
{
    if (query_.status || reach_ != 0
        || query_.after >= last_id - static_cast<api::PetId>(rows_.size())) {
        return 0;
    }
    return query_.after + static_cast<api::PetId>(rows_.size()) + 1;
}

PageReader::Page PageReader::finish(Form form)
{
    // Beyond its record a pet costs its names of members, digits and commas.
    constexpr std::size_t kFrame = 80;
    const bool array = form == Form::array;
    Page page;
    page.more = reach_ != 0;
    page.reach = reach_;
    page.body.reserve(records_.size() + rows_.size() * kFrame + 2);
    if (array) {
        page.body += '[';
    }
    bool first = true;
    for (const Row& row : rows_) {
        page.last = row.id;
        if (array && !first) {
            page.body += ',';
        }
        api::append_pet_json(
            page.body, split_record(row.id, std::string_view(records_).substr(
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
