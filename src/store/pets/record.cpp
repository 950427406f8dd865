#include "record.h"

#include "../../api/text.h"

namespace petstore::store {

std::string encode_record(const api::NewPet& pet)
{
    std::string record;
    record.reserve(pet.name.size() + 22);
    record += static_cast<char>(pet.status);
    api::append_int(record, pet.category_id);
    record += ':';
    record += pet.name;
    return record;
}

std::optional<api::PetView> decode_record(api::PetId id,
                                          std::string_view record) noexcept
{
    const std::size_t colon = record.find(':');
    if (colon == std::string_view::npos || colon < 2) {
        return std::nullopt;
    }
    const auto status = api::status_of_letter(record[0]);
    const std::string_view category = record.substr(1, colon - 1);
    const std::string_view name = record.substr(colon + 1);
    if (!status || !api::parse_int64(category) || name.empty()
        || !api::is_utf8(name)) {
        return std::nullopt;
    }
    return api::PetView{id, name, category, *status};
}

api::PetView split_record(api::PetId id, std::string_view record) noexcept
{
    const std::size_t colon = record.find(':');
    return {id, record.substr(colon + 1), record.substr(1, colon - 1),
            static_cast<api::Status>(record[0])};
}

}  // namespace petstore::store
