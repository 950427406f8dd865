#include "json.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace petstore::api {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kNotJson = "The body is not valid JSON.";

constexpr bool is_json_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// Feeds a body to nlohmann's lexer, dropping digits that cannot change the
// result. The lexer rejects a number outside the range of double as a syntax
// error, but 1e999 is valid JSON and allowed in an ignored member. 21 digits
// exceed any int64; 2 exponent digits keep the rest finite.
class NumberTrimmer {
public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    NumberTrimmer(const char* position, const char* end)
        : position_(position), end_(end)
    {}

    reference operator*() const { return *position_; }
    bool operator==(const NumberTrimmer& other) const
    {
        return position_ == other.position_;
    }
    bool operator!=(const NumberTrimmer& other) const
    {
        return !(*this == other);
    }

    NumberTrimmer& operator++()
    {
        consume(*position_++);
        while (digits_ == most_ && position_ != end_ && is_digit(*position_)) {
            ++position_;
        }
        return *this;
    }

private:
    enum class State { outside, string, escape };
    static constexpr int kMostDigits = 21;
    static constexpr int kMostExponentDigits = 2;

    static bool is_digit(char c) { return c >= '0' && c <= '9'; }

    void consume(char c)
    {
        if (state_ == State::escape) {
            state_ = State::string;
        } else if (state_ == State::string) {
            if (c == '"') {
                state_ = State::outside;
            } else if (c == '\\') {
                state_ = State::escape;
            }
        } else if (is_digit(c)) {
            ++digits_;
        } else {
            digits_ = 0;
            if (c == '"') {
                state_ = State::string;
            } else if (c != '-' && c != '+') {
                most_ =
                    c == 'e' || c == 'E' ? kMostExponentDigits : kMostDigits;
            }
        }
    }

    const char* position_;
    const char* end_;
    State state_ = State::outside;
    int digits_ = 0;
    int most_ = kMostDigits;
};

// The member names of all open objects. Names are sorted when their object
// ends: unlike a hash table, no choice of names makes that slow.
class OpenNames {
public:
    void begin_object() { objects_.push_back(names_.size()); }

    void add(std::string_view name)
    {
        names_.push_back({bytes_.size(), name.size()});
        bytes_.append(name);
    }

    // False if the object had a duplicate name.
    bool end_object()
    {
        const auto first =
            names_.begin() + static_cast<std::ptrdiff_t>(objects_.back());
        objects_.pop_back();
        std::sort(first, names_.end(), [this](const Name& a, const Name& b) {
            return text(a) < text(b);
        });
        const bool unique =
            std::adjacent_find(first, names_.end(),
                               [this](const Name& a, const Name& b) {
                                   return text(a) == text(b);
                               })
            == names_.end();
        names_.erase(first, names_.end());
        return unique;
    }

private:
    struct Name {
        std::size_t begin;
        std::size_t size;
    };

    std::string_view text(const Name& name) const
    {
        return std::string_view(bytes_).substr(name.begin, name.size);
    }

    std::string bytes_;
    std::vector<Name> names_;
    std::vector<std::size_t> objects_;
};

// Handler for nlohmann's SAX interface, which dictates the function names.
// Reports field errors only if the whole body is valid JSON.
class NewPetReader {
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

    bool start_object(std::size_t)
    {
        names_.begin_object();
        return depth_ == 0 ? enter() : value() && enter();
    }

    bool key(std::string& name)
    {
        names_.add(name);
        if (depth_ == 1) {
            field_ = begin_field(name);
        }
        return true;
    }

    bool end_object()
    {
        --depth_;
        return names_.end_object()
               || fail("The body has an object with a duplicate name.");
    }

    bool start_array(std::size_t) { return value() && enter(); }

    bool end_array()
    {
        --depth_;
        return true;
    }

    template <typename Exception>
    bool parse_error(std::size_t, const std::string&, const Exception&)
    {
        return fail(kNotJson);
    }

    std::string_view syntax_problem() const { return problem_; }

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
    Field field() const { return depth_ == 1 ? field_ : Field::none; }

    bool value()
    {
        return depth_ > 0 || fail("The body must be a JSON object.");
    }

    bool enter()
    {
        return ++depth_ <= kMaxJsonDepth
               || fail("The body is nested too deeply.");
    }

    bool fail(std::string_view problem)
    {
        problem_ = problem;
        return false;
    }

    NewPet pet_;
    bool has_id_ = false;
    PetId id_ = 0;  // 0 unless valid
    Seen name_;
    Seen category_;
    Seen status_;
    Field field_ = Field::none;
    int depth_ = 0;
    OpenNames names_;
    std::string_view problem_ = kNotJson;
};

// Gives the body to the reader; nullopt if it is JSON.
std::optional<Error> read_json(std::string_view body, NewPetReader& reader)
{
    if (std::all_of(body.begin(), body.end(), is_json_space)) {
        return Error{ErrorCode::missing_body, "The request needs a body."};
    }
    // nlohmann's lexer skips a byte order mark and stops at a NUL.
    if (body.substr(0, kByteOrderMark.size()) == kByteOrderMark
        || body.find('\0') != std::string_view::npos) {
        return Error{ErrorCode::invalid_json, std::string(kNotJson)};
    }
    const char* const end = body.data() + body.size();
    if (!nlohmann::json::sax_parse(NumberTrimmer(body.data(), end),
                                   NumberTrimmer(end, end), &reader)) {
        return Error{ErrorCode::invalid_json,
                     std::string(reader.syntax_problem())};
    }
    return std::nullopt;
}

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
