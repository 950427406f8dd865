#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "error.h"
#include "json.h"
#include "text.h"

// What the parsers of JSON bodies share; they are SAX parsers, because
// nlohmann's documents allocate where they are destroyed.

namespace petstore::api {

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
inline constexpr std::string_view kNotJson = "The body is not valid JSON.";

inline bool is_json_space(char c)
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

// The part of a SAX handler that does not depend on the fields: requires one
// object, without duplicate names, that is not nested too deeply. nlohmann's
// interface dictates the names of the functions in the classes derived from it.
class JsonStructure {
public:
    template <typename Exception>
    bool parse_error(std::size_t, const std::string&, const Exception&)
    {
        return fail(kNotJson);
    }

    std::string_view syntax_problem() const { return problem_; }

protected:
    // Before a value of any kind.
    bool value()
    {
        return depth_ > 0 || fail("The body must be a JSON object.");
    }

    bool enter_object()
    {
        names_.begin_object();
        return depth_ == 0 ? enter() : value() && enter();
    }
    bool leave_object()
    {
        --depth_;
        return names_.end_object()
               || fail("The body has an object with a duplicate name.");
    }
    bool enter_array() { return value() && enter(); }
    bool leave_array()
    {
        --depth_;
        return true;
    }
    void add_name(std::string_view name) { names_.add(name); }

    // 1 between the braces of the body.
    int depth() const noexcept { return depth_; }

private:
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

    int depth_ = 0;
    OpenNames names_;
    std::string_view problem_ = kNotJson;
};

// Gives the body to the reader; nullopt if it is JSON.
template <typename Reader>
std::optional<Error> read_json(std::string_view body, Reader& reader)
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

}  // namespace petstore::api
