#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "../api/key.h"
#include "key_store.h"

namespace petstore::ctl {

using Json = nlohmann::ordered_json;

// Data go to standard output, everything else to standard error.
void print_line(std::string_view text);
void print_json(const Json& value);
void say(std::string_view message);
void warn(std::string_view message);

// Throws Failure when something written has not arrived, as on a full disk.
void flush_output();

// With `secret`, the key itself: only when it is made.
Json json_of(const api::KeyRecord& record, std::string_view secret = {});
void print_key(const api::KeyRecord& record);
void print_keys(const std::vector<StoredKey>& keys, api::UnixTime now);

// "1 pet", "2 pets"
std::string pets_text(std::uint64_t count);

// Columns of `rows` as wide as their widest cell; the first row is the head.
void print_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace petstore::ctl
