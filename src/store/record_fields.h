#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "../api/date.h"
#include "../api/key.h"
#include "../redis/command.h"
#include "../redis/reply.h"

namespace petstore::store {

// The record of a key or an account: a Redis hash. `invalid`: the value is not
// such a record, or a field has a text that no version of petstorectl or of the
// admin API wrote.
enum class RecordFound { found, absent, invalid };

// Reads and writes the fields that the records of keys and accounts share. The
// set_… functions return false for an invalid text.
namespace fields {

bool set_text(std::string& to, std::string_view value, bool valid);
bool set_time(std::optional<api::UnixTime>& to, std::string_view value);
bool set_time(api::UnixTime& to, std::string_view value);
bool set_flag(bool& to, std::string_view value);  // "0" or "1"
bool set_epoch(std::int64_t& to, std::string_view value);
// nullopt if this is not a field of an OwnPlan.
std::optional<bool> set_own_plan(api::OwnPlan& own, std::string_view field,
                                 std::string_view value);

// Applies `set` to each field and value of a reply to HGETALL, also after an
// invalid one, so that the record has all valid fields.
template <typename Set>
RecordFound read(const redis::Reply& reply, Set&& set)
{
    if (!reply.is(redis::Type::array) || reply.size() % 2 != 0) {
        return RecordFound::invalid;
    }
    bool valid = true;
    for (std::size_t i = 0; i < reply.size(); i += 2) {
        valid &= reply[i].is(redis::Type::string)
                 && reply[i + 1].is(redis::Type::string)
                 && set(reply[i].text(), reply[i + 1].text());
    }
    return reply.size() == 0 ? RecordFound::absent
           : valid           ? RecordFound::found
                             : RecordFound::invalid;
}

// Adds field and value for write_record.lua: an empty value removes the field.
void add(redis::Command& command, const char* field, std::string_view value);
void add(redis::Command& command, const char* field,
         const std::optional<std::int64_t>& value);
void add(redis::Command& command, const api::OwnPlan& own);

}  // namespace fields

}  // namespace petstore::store
