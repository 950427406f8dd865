#include "bucket.h"

#include "../../api/text.h"

namespace petstore::store {

namespace {

constexpr std::size_t index_of(api::Status status)
{
    switch (status) {
    case api::Status::pending:
        return 1;
    case api::Status::sold:
        return 2;
    case api::Status::available:
        break;
    }
    return 0;
}

}  // namespace

std::optional<Bucket> Bucket::parse(const redis::Reply& reply)
{
    if (!reply.is(redis::Type::array)
        || reply.size() > static_cast<std::size_t>(kBucketSize)) {
        return std::nullopt;
    }
    Bucket bucket;
    std::string& text = bucket.text_;
    for (std::size_t i = 0; i < reply.size(); ++i) {
        const auto pet = decode_record(0, reply[i].text());
        if (!pet) {
            return std::nullopt;
        }
        text += static_cast<char>(pet->status);
        text += static_cast<char>(pet->category.size());
        text += pet->category;
        api::append_json_text(text, pet->name);
        bucket.ends_[i + 1] = static_cast<std::uint32_t>(text.size());
        bucket.statuses_[index_of(pet->status)].add(bucket.size_++);
    }
    text.shrink_to_fit();
    return bucket;
}

RowSet Bucket::rows(std::optional<api::Status> status) const noexcept
{
    return status ? statuses_[index_of(*status)] : RowSet::range(0, size_);
}

char* Bucket::write_pet(char* to, int row, api::PetId id) const noexcept
{
    const char* const begin = text_.data() + ends_[row];
    const char* const category = begin + 2;
    const char* const name = category + begin[1];
    const char* const end = text_.data() + ends_[row + 1];
    return api::write_escaped_pet_json(
        to, {id,
             {name, static_cast<std::size_t>(end - name)},
             {category, static_cast<std::size_t>(name - category)},
             static_cast<api::Status>(*begin)});
}

}  // namespace petstore::store
