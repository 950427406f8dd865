#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace petstore::redis {

enum class Type { nil, integer, string, status, error, array };

// A Redis reply (RESP2) or an element of one. The Decoder owns it and its texts
// until the next reply is requested.
class Reply {
public:
    Type type() const noexcept { return type_; }
    bool is(Type type) const noexcept { return type_ == type; }
    bool is_error() const noexcept { return type_ == Type::error; }

    // For strings, statuses and errors; empty otherwise.
    std::string_view text() const noexcept { return {text_, size_}; }

    // For integers; 0 otherwise.
    std::int64_t integer() const noexcept { return integer_; }

    // For arrays; 0 otherwise.
    std::size_t size() const noexcept { return count_; }
    const Reply& operator[](std::size_t i) const noexcept { return *items_[i]; }

    // The first word of an error: "NOSCRIPT", "WRONGTYPE" …
    std::string_view error_code() const noexcept;

private:
    friend struct ReplyBuilder;
    friend class ReplyCopy;

    Type type_ = Type::nil;
    const char* text_ = nullptr;
    std::size_t size_ = 0;
    std::int64_t integer_ = 0;
    Reply** items_ = nullptr;
    std::size_t count_ = 0;
};

}  // namespace petstore::redis
