#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "date.h"

namespace petstore::api {

// Writes a JSON object or array, member by member. Workers use this instead of
// nlohmann's documents, which allocate where they are destroyed and so end a
// worker that has no memory. All functions throw std::bad_alloc.
class JsonWriter {
public:
    // Appends to `out`, which is borrowed.
    explicit JsonWriter(std::string& out, char open = '{');
    void end(char close = '}') { out_.push_back(close); }

    // The place of the next value: of an object, after its name, or of an
    // array. Names and texts that anybody may have chosen need not be UTF-8:
    // U+FFFD replaces the bytes that are not.
    std::string& named(std::string_view name);
    std::string& next();

    void text(std::string_view name, std::string_view value);
    void null(std::string_view name) { named(name).append("null"); }
    // null if it is empty.
    void text_or_null(std::string_view name, std::string_view value);
    void number(std::string_view name, std::int64_t value);
    void number_or_null(std::string_view name,
                        const std::optional<std::int64_t>& value);
    // Must be finite.
    void real(std::string_view name, double value);
    void flag(std::string_view name, bool value);
    void date_or_null(std::string_view name, const std::optional<Day>& day);

private:
    std::string& out_;
    bool first_ = true;
};

}  // namespace petstore::api
