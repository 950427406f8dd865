#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../../api/date.h"

namespace petstore::ctl {

using Json = nlohmann::ordered_json;

// Data goes to standard output, messages to standard error. Text for people is
// escaped, see escape.h; data only on a terminal (terminal_stream.h), so that
// files and pipes get every byte.
void print_line(std::string_view text);
void print_data(std::string_view line);  // of NDJSON, for example
void print_json(const Json& value);
std::string one_line(const Json& value);
void say(std::string_view message);
void warn(std::string_view message);

// The result of a change: `data` if the option --json is given, else `message`.
void report(bool json, const Json& data, std::string_view message);

// Throws Failure if output could not be written, as on a full disk.
void flush_output();

// "name         value"
void print_property(std::string_view name, std::string_view value);

// A time in a table and alone. On a terminal relative to `now`.
std::string table_time(const std::optional<api::UnixTime>& time,
                       api::UnixTime now);
std::string full_time(const std::optional<api::UnixTime>& time,
                      api::UnixTime now);

// "-" if it is empty.
std::string text_or_dash(const std::string& text);

// "1 pet", "2 pets"
std::string count_text(std::uint64_t count, std::string_view noun);

// Why these (keys, if `noun` is "key") are missing in a list; at least one.
std::string unread_text(const std::string& noun,
                        const std::vector<std::string>& ids);

// Prints `rows` in aligned columns. The first row is the header. On a terminal,
// the words of the column `verdicts` are coloured.
void print_table(const std::vector<std::vector<std::string>>& rows,
                 std::string_view verdicts = {});

}  // namespace petstore::ctl
