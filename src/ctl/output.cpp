#include "output.h"

#include <algorithm>
#include <cerrno>
#include <iostream>
#include <optional>
#include <system_error>

#include "../api/date.h"
#include "../api/plan.h"
#include "../api/text.h"
#include "exit.h"

namespace petstore::ctl {

namespace {

Json json_time(const std::optional<api::UnixTime>& time)
{
    return time ? Json(api::iso_time(*time)) : Json(nullptr);
}

Json json_number(const std::optional<std::int64_t>& number)
{
    return number ? Json(*number) : Json(nullptr);
}

std::string text_number(const std::optional<std::int64_t>& own,
                        std::int64_t of_plan)
{
    return std::to_string(own.value_or(of_plan));
}

// Replaces control characters: any program may have written the record, and the
// terminal would interpret escape sequences.
std::string printable(std::string_view text)
{
    std::string safe(text);
    for (char& c : safe) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            c = '?';
        }
    }
    return api::utf8_length(safe) ? safe : "?";
}

std::string text_time(const std::optional<api::UnixTime>& time)
{
    return time ? api::iso_time(*time) : "-";
}

const char* state_of(const store::StoredKey& key, api::UnixTime now)
{
    if (key.unfinished) {
        return "unfinished";
    }
    if (key.record.disabled) {
        return "disabled";
    }
    return key.record.usable_at(now) ? "usable" : "expired";
}

// The limits that workers apply, unless nginx.conf defines the plan.
api::Limits limits_of(const api::KeyRecord& record)
{
    return api::PlanTable().limits_of(record);
}

}  // namespace

void print_line(std::string_view text)
{
    std::cout << text << '\n';
}

void print_json(const Json& value)
{
    std::cout << value.dump(2, ' ', false, Json::error_handler_t::replace)
              << '\n';
}

void say(std::string_view message)
{
    std::cerr << message << '\n';
}

void warn(std::string_view message)
{
    std::cerr << "petstorectl: warning: " << message << '\n';
}

void flush_output()
{
    errno = 0;
    if (!std::cout.flush()) {
        throw Failure("cannot write to standard output: "
                      + std::generic_category().message(errno ? errno : EIO));
    }
}

Json json_of(const api::KeyRecord& record, std::string_view secret)
{
    Json scopes = Json::array();
    if (record.scopes & api::kScopeRead) {
        scopes.push_back("read");
    }
    if (record.scopes & api::kScopeWrite) {
        scopes.push_back("write");
    }
    Json json = {
        {"id", record.id},
        {"account", record.account},
        {"plan", record.plan},
        {"per_minute", json_number(record.per_minute)},
        {"per_day", json_number(record.per_day)},
        {"label", record.label},
        {"scopes", std::move(scopes)},
        {"created", api::iso_time(record.created)},
        {"expires", json_time(record.expires)},
        {"disabled", record.disabled},
        {"last4", record.last4},
    };
    if (!secret.empty()) {
        json["key"] = secret;
    }
    return json;
}

void print_key(const api::KeyRecord& record)
{
    const api::Limits limits = limits_of(record);
    const auto line = [](std::string_view name, std::string_view value) {
        std::string text(name);
        text.append(12 - name.size(), ' ').append(value);
        print_line(text);
    };
    line("id", printable(record.id));
    line("account", printable(record.account));
    line("plan", printable(record.plan));
    line("per minute", text_number(record.per_minute, limits.minute));
    line("per day", text_number(record.per_day, limits.day));
    line("label", printable(record.label));
    line("scopes", api::scopes_text(record.scopes));
    line("created", text_time(record.created));
    line("expires", text_time(record.expires));
    line("disabled", record.disabled ? "yes" : "no");
    line("last4", printable(record.last4));
}

void print_keys(const std::vector<store::StoredKey>& keys, api::UnixTime now)
{
    std::vector<std::vector<std::string>> rows;
    rows.push_back({"ID", "PLAN", "MINUTE", "DAY", "SCOPES", "CREATED",
                    "EXPIRES", "STATE", "LAST4", "LABEL"});
    for (const store::StoredKey& key : keys) {
        const api::KeyRecord& record = key.record;
        const api::Limits limits = limits_of(record);
        rows.push_back({printable(record.id), printable(record.plan),
                        text_number(record.per_minute, limits.minute),
                        text_number(record.per_day, limits.day),
                        std::string(api::scopes_text(record.scopes)),
                        text_time(record.created), text_time(record.expires),
                        state_of(key, now), printable(record.last4),
                        printable(record.label)});
    }
    print_table(rows);
}

std::string pets_text(std::uint64_t count)
{
    return std::to_string(count) + (count == 1 ? " pet" : " pets");
}

void print_table(const std::vector<std::vector<std::string>>& rows)
{
    const auto width = [](const std::string& cell) {
        return api::utf8_length(cell).value_or(cell.size());
    };
    std::vector<std::size_t> widths(rows.front().size(), 0);
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], width(row[i]));
        }
    }
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            line += row[i];
            if (i + 1 < row.size()) {
                line.append(widths[i] - width(row[i]) + 2, ' ');
            }
        }
        line.erase(line.find_last_not_of(' ') + 1);
        print_line(line);
    }
}

}  // namespace petstore::ctl
