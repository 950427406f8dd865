#include "json.h"

#include <limits>
#include <utility>

#include "json_reader.h"

namespace petstore::api {
namespace {

// Handler for nlohmann's SAX interface, which dictates the function names.
// Reports field errors only if the whole body is valid JSON.
class NewPetReader : public JsonStructure {
public:
    bool null() { return value(); }
    bool boolean(bool) { return value(); }
    bool binary(std::vector<std::uint8_t>&) { return value(); }
    bool number_float(double, const std::string&) { return value(); }

    bool number_integer(std::int64_t number)
    {
        // Called only for numbers with a minus sign, so 0 here was "-0".
        if (field() == Field::category && number < 0) {
            pet_.category_id = number;
            category_.valid = true;
        }
        return value();
    }

    bool number_unsigned(std::uint64_t number)
    {
        constexpr auto kMax = static_cast<std::uint64_t>(
            std::numeric_limits<std::int64_t>::max());
        if (field() == Field::category && number <= kMax) {
            pet_.category_id = static_cast<std::int64_t>(number);
            category_.valid = true;
        } else if (field() == Field::id && number <= kMax) {
            id_ = static_cast<PetId>(number);
        }
        return value();
    }

    bool string(std::string& text)
    {
        if (field() == Field::name) {
            pet_.name = std::move(text);
            name_.valid = true;
        } else if (field() == Field::status) {
            if (const auto status = parse_status(text)) {
                pet_.status = *status;
                status_.valid = true;
            }
        }
        return value();
    }

    bool start_object(std::size_t) { return enter_object(); }

    bool key(std::string& name)
    {
        add_name(name);
        if (depth() == 1) {
            field_ = begin_field(name);
        }
        return true;
    }

    bool end_object() { return leave_object(); }
    bool start_array(std::size_t) { return enter_array(); }
    bool end_array() { return leave_array(); }

    bool has_id() const noexcept { return has_id_; }
    PetId id() const noexcept { return id_; }

    std::variant<NewPet, Error> result()
    {
        if (!name_.present) {
            return Error{ErrorCode::missing_field, "name is required."};
        }
        if (!category_.present) {
            return Error{ErrorCode::missing_field, "categoryId is required."};
        }
        if (!name_.valid) {
            return Error{ErrorCode::invalid_field, "name must be a string."};
        }
        if (const char* problem = name_problem(pet_.name)) {
            return Error{ErrorCode::invalid_field,
                         std::string("name ") + problem + '.'};
        }
        if (!category_.valid) {
            return Error{
                ErrorCode::invalid_field,
                "categoryId must be a 64-bit integer in plain decimal digits."};
        }
        if (status_.present && !status_.valid) {
            return Error{ErrorCode::invalid_field,
                         "status must be available, pending or sold."};
        }
        return std::move(pet_);
    }

private:
    enum class Field { none, id, name, category, status };
    struct Seen {
        bool present = false;
        bool valid = false;
    };

    Field begin_field(std::string_view name)
    {
        if (name == "id") {
            has_id_ = true;
            return Field::id;
        }
        if (name == "name") {
            name_.present = true;
            return Field::name;
        }
        if (name == "categoryId") {
            category_.present = true;
            return Field::category;
        }
        if (name == "status") {
            status_.present = true;
            return Field::status;
        }
        return Field::none;
    }

    // The field that the next value belongs to; none for nested values.
    Field field() const { return depth() == 1 ? field_ : Field::none; }

    NewPet pet_;
    bool has_id_ = false;
    PetId id_ = 0;  // 0 unless valid
    Seen name_;
    Seen category_;
    Seen status_;
    Field field_ = Field::none;
};

}  // namespace

std::variant<NewPet, Error> parse_new_pet(std::string_view body)
{
    NewPetReader reader;
    if (auto error = read_json(body, reader)) {
        return std::move(*error);
    }
    if (reader.has_id()) {
        return Error{ErrorCode::read_only_field,
                     "id is assigned by the service and must not be sent."};
    }
    return reader.result();
}

std::variant<NewPet, Error> parse_exported_pet(std::string_view line, PetId& id)
{
    NewPetReader reader;
    if (auto error = read_json(line, reader)) {
        return std::move(*error);
    }
    id = reader.id();
    return reader.result();
}

}  // namespace petstore::api
