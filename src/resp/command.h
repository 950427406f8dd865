#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace petstore::resp {

// One Redis command as a list of arguments. What arg() takes as text is a view:
// whatever it points to has to live until append_to() was called. Integers and
// what own() takes are kept inside.
class Command {
public:
    explicit Command(std::string_view name)
    {
        // Most commands need no second allocation.
        args_.reserve(12);
        arg(name);
    }

    Command& arg(std::string_view value)
    {
        args_.push_back({value.data(), 0, value.size()});
        return *this;
    }

    // For values that do not outlive the caller: the command keeps them.
    Command& own(std::string_view value);

    Command& arg(std::int64_t value);

    // Views into this command, valid until it changes.
    std::vector<std::string_view> argv() const;

    // Appends the command's RESP form, made by hiredis. Throws std::bad_alloc.
    void append_to(std::string& out) const;

private:
    // Owned bytes move when more are added, so they are known by their offset.
    struct Arg {
        const char* borrowed;  // nullptr: own_[offset]
        std::size_t offset;
        std::size_t size;
    };

    const char* data_of(const Arg& arg) const noexcept
    {
        return arg.borrowed ? arg.borrowed : own_.data() + arg.offset;
    }

    std::vector<Arg> args_;
    std::string own_;
};

}  // namespace petstore::resp
