#include "json_object.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "json_reader.h"

namespace petstore::api {

namespace {

class ObjectReader : public JsonStructure {
public:
    using Kind = JsonMember::Kind;
    using Names = std::initializer_list<std::string_view>;

    explicit ObjectReader(Names names) : names_(names)
    {
        members_.reserve(names.size());
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
            return value();
        }
        return take(Kind::text);
    }

    bool start_object(std::size_t) { return take_nested() && enter_object(); }
    bool key(std::string& name)
    {
        add_name(name);
        if (depth() == 1) {
            is_stored_ = names_.size() == 0
                         || std::find(names_.begin(), names_.end(), name)
                                != names_.end();
            if (is_stored_) {
                members_.emplace_back().name = std::move(name);
            }
        }
        return true;
    }
    bool end_object() { return leave_object(); }

    bool start_array(std::size_t)
    {
        if (is_member()) {
            members_.back().kind = Kind::texts;
            return enter_array();
        }
        return take_nested() && enter_array();
    }
    bool end_array() { return leave_array(); }

    std::vector<JsonMember> members() { return std::move(members_); }

private:
    bool is_member() const { return depth() == 1 && is_stored_; }
    // Directly in the array of a member, in which only strings were so far.
    bool is_in_texts() const
    {
        return depth() == 2 && is_stored_
               && members_.back().kind == Kind::texts;
    }

    bool take(Kind kind)
    {
        if (is_member()) {
            members_.back().kind = kind;
        } else if (is_in_texts()) {
            members_.back().kind = Kind::other;
        }
        return value();
    }

    bool take_number(std::int64_t number)
    {
        if (is_member()) {
            members_.back().number = number;
        }
        return take(Kind::integer);
    }

    // The body itself is no value of a member.
    bool take_nested() { return depth() == 0 || take(Kind::other); }

    const Names names_;
    std::vector<JsonMember> members_;
    bool is_stored_ = false;  // the member whose value comes next, or is open
};

}  // namespace

std::variant<std::vector<JsonMember>, Error>
parse_json_object(std::string_view body,
                  std::initializer_list<std::string_view> names)
{
    ObjectReader reader(names);
    if (auto error = read_json(body, reader)) {
        return std::move(*error);
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
