#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "../../api/key.h"
#include "../../store/keys/stored_key.h"

namespace petstore::ctl {

using Json = nlohmann::ordered_json;

// Data goes to standard output, messages to standard error. Text for people is
// escaped, see escape.h; data only on a terminal (terminal_stream.h), so that
// files and pipes get every byte.
void print_line(std::string_view text);
void print_data(std::string_view line);  // of NDJSON, for example
void print_json(const Json& value);
void say(std::string_view message);
void warn(std::string_view message);

// Throws Failure if output could not be written, as on a full disk.
void flush_output();

// `secret`: the key itself, for a new key only.
Json json_of(const api::KeyRecord& record, std::string_view secret = {});

// `now`: for dates on a terminal.
void print_key(const api::KeyRecord& record, api::UnixTime now);
void print_keys(const std::vector<store::StoredKey>& keys, api::UnixTime now);

// "usable", "disabled", "expired" or "unfinished"
const char* state_of(const store::StoredKey& key, api::UnixTime now);

// "1 pet", "2 pets"
std::string count_text(std::uint64_t count, std::string_view noun);

// Why these keys are missing in a list; at least one.
std::string unread_keys(const std::vector<std::string>& ids);

// Prints `rows` in aligned columns. The first row is the header. On a terminal,
// the words of the column `verdicts` are coloured.
void print_table(const std::vector<std::vector<std::string>>& rows,
                 std::string_view verdicts = {});

}  // namespace petstore::ctl
