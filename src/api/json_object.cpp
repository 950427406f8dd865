#include "json_object.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "json.h"
#include "text.h"

namespace petstore::api {

namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kNotJson = "The body is not valid JSON.";

bool is_json_space(char c)
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
    // Reserves enough for a pet.
    OpenNames()
    {
        names_.reserve(4);
        bytes_.reserve(32);
    }

    void begin_object() { objects_[open_++] = names_.size(); }

    void add(std::string_view name)
    {
        names_.push_back({bytes_.size(), name.size()});
        bytes_.append(name);
    }

    // False if the object had a duplicate name.
    bool end_object()
    {
        const auto first =
            names_.begin() + static_cast<std::ptrdiff_t>(objects_[--open_]);
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
    std::array<std::size_t, kMaxJsonDepth> objects_{};  // their first names
    std::size_t open_ = 0;
};

// Handler for nlohmann's SAX interface, which dictates the function names; its
// documents would allocate where they are destroyed. Requires one object,
// without duplicate names, that is not nested too deeply.
class ObjectReader {
public:
    using Kind = JsonMember::Kind;
    using Names = std::initializer_list<std::string_view>;

    ObjectReader(Names wanted) : wanted_(wanted)
    {
        members_.reserve(wanted.size());
    }

    template <typename Exception>
    bool parse_error(std::size_t, const std::string&, const Exception&)
    {
        return fail(kNotJson);
    }

    bool null() { return take(Kind::null); }
    bool boolean(bool flag)
    {
        if (is_member()) {
            members_.back().flag = flag;
        }
        return take(Kind::boolean);
    }
    bool binary(std::vector<std::uint8_t>&) { return take(Kind::other); }
    bool number_float(double, const std::string&) { return take(Kind::other); }

    // Called only for numbers with a minus sign, so 0 was "-0".
    bool number_integer(std::int64_t number)
    {
        return number < 0 ? take_number(number) : take(Kind::other);
    }
    bool number_unsigned(std::uint64_t number)
    {
        constexpr auto kMax = static_cast<std::uint64_t>(
            std::numeric_limits<std::int64_t>::max());
        return number <= kMax ? take_number(static_cast<std::int64_t>(number))
                              : take(Kind::other);
    }

    bool string(std::string& text)
    {
        if (is_member()) {
            members_.back().text = std::move(text);
        } else if (is_in_texts()) {
            members_.back().texts.push_back(std::move(text));
            return true;
        }
        return take(Kind::text);
    }

    bool start_object(std::size_t)
    {
        // The body itself is no value of a member.
        if ((depth_ != 0 && !take(Kind::other)) || !enter()) {
            return false;
        }
        names_.begin_object();
        return true;
    }
    bool key(std::string& name)
    {
        names_.add(name);
        if (depth_ == 1) {
            is_stored_ = wanted_.size() == 0
                         || std::find(wanted_.begin(), wanted_.end(), name)
                                != wanted_.end();
            if (is_stored_) {
                members_.emplace_back().name = std::move(name);
            }
        }
        return true;
    }
    bool end_object()
    {
        --depth_;
        return names_.end_object()
               || fail("The body has an object with a duplicate name.");
    }

    bool start_array(std::size_t)
    {
        return take(is_member() ? Kind::texts : Kind::other) && enter();
    }
    bool end_array()
    {
        --depth_;
        return true;
    }

    std::string_view problem() const { return problem_; }
    std::vector<JsonMember> members() { return std::move(members_); }

private:
    bool is_member() const { return depth_ == 1 && is_stored_; }
    // Directly in the array of a member, in which only strings were so far.
    bool is_in_texts() const
    {
        return depth_ == 2 && is_stored_ && members_.back().kind == Kind::texts;
    }

    bool take(Kind kind)
    {
        if (is_member()) {
            members_.back().kind = kind;
        } else if (is_in_texts()) {
            members_.back().kind = Kind::other;
        }
        return depth_ > 0 || fail("The body must be a JSON object.");
    }

    bool take_number(std::int64_t number)
    {
        if (is_member()) {
            members_.back().number = number;
        }
        return take(Kind::integer);
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

    const Names wanted_;
    std::vector<JsonMember> members_;
    bool is_stored_ = false;  // the member whose value comes next, or is open
    int depth_ = 0;           // 1 between the braces of the body
    OpenNames names_;
    std::string_view problem_ = kNotJson;
};

}  // namespace

std::variant<std::vector<JsonMember>, Error>
parse_json_object(std::string_view body,
                  std::initializer_list<std::string_view> names)
{
    if (std::all_of(body.begin(), body.end(), is_json_space)) {
        return Error{ErrorCode::missing_body, "The request needs a body."};
    }
    // nlohmann's lexer skips a byte order mark and stops at a NUL.
    if (body.substr(0, kByteOrderMark.size()) == kByteOrderMark
        || body.find('\0') != std::string_view::npos) {
        return Error{ErrorCode::invalid_json, std::string(kNotJson)};
    }
    ObjectReader reader(names);
    const char* const end = body.data() + body.size();
    if (!nlohmann::json::sax_parse(NumberTrimmer(body.data(), end),
                                   NumberTrimmer(end, end), &reader)) {
        return Error{ErrorCode::invalid_json, std::string(reader.problem())};
    }
    return reader.members();
}

JsonMember* find_member(std::vector<JsonMember>& members,
                        std::string_view name) noexcept
{
    const auto found = std::find_if(
        members.begin(), members.end(),
        [&](const JsonMember& member) { return member.name == name; });
    return found == members.end() ? nullptr : &*found;
}

}  // namespace petstore::api
