#include "output.h"

#include <algorithm>
#include <cerrno>
#include <iostream>
#include <optional>
#include <system_error>
#include <unistd.h>

#include "../api/date.h"
#include "../api/plan.h"
#include "../api/text.h"
#include "exit.h"
#include "terminal.h"

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

// The limit that workers apply. "?" if only nginx.conf defines the plan.
std::string text_limit(const api::KeyRecord& record,
                       const std::optional<std::int64_t>& own,
                       std::int64_t api::Limits::*of_plan)
{
    const api::PlanTable plans;
    if (own) {
        return std::to_string(*own);
    }
    return plans.knows(record.plan)
               ? std::to_string(plans.limits_of(record).*of_plan)
               : "?";
}

std::string text_time(const std::optional<api::UnixTime>& time)
{
    return time ? api::iso_time(*time) : "-";
}

// People read "in 5 months" faster than a date.
std::string table_time(const std::optional<api::UnixTime>& time,
                       api::UnixTime now)
{
    return time && is_terminal(STDOUT_FILENO) ? relative_time(*time, now)
                                              : text_time(time);
}

std::string full_time(const std::optional<api::UnixTime>& time,
                      api::UnixTime now)
{
    return time && is_terminal(STDOUT_FILENO)
               ? text_time(time) + " (" + relative_time(*time, now) + ')'
               : text_time(time);
}

}  // namespace

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

void print_key(const api::KeyRecord& record, api::UnixTime now)
{
    const auto line = [](std::string_view name, std::string_view value) {
        std::string text(name);
        text.append(12 - name.size(), ' ').append(value);
        print_line(text);
    };
    line("id", printable(record.id));
    line("account", printable(record.account));
    line("plan", printable(record.plan));
    line("per minute",
         text_limit(record, record.per_minute, &api::Limits::minute));
    line("per day", text_limit(record, record.per_day, &api::Limits::day));
    line("label", printable(record.label));
    line("scopes", api::scopes_text(record.scopes));
    line("created", full_time(record.created, now));
    line("expires", full_time(record.expires, now));
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
        rows.push_back(
            {printable(record.id), printable(record.plan),
             text_limit(record, record.per_minute, &api::Limits::minute),
             text_limit(record, record.per_day, &api::Limits::day),
             std::string(api::scopes_text(record.scopes)),
             table_time(record.created, now), table_time(record.expires, now),
             state_of(key, now), printable(record.last4),
             printable(record.label)});
    }
    print_table(rows, "STATE");
}

std::string pets_text(std::uint64_t count)
{
    return std::to_string(count) + (count == 1 ? " pet" : " pets");
}

std::string unread_keys(const std::vector<std::string>& ids)
{
    return "key " + printable(ids.front())
           + " is missing, because the server of the cluster that has it is "
             "away; "
           + std::to_string(ids.size())
           + (ids.size() == 1 ? " key in total" : " keys in total");
}

void print_table(const std::vector<std::vector<std::string>>& rows,
                 std::string_view verdicts)
{
    const auto width = [](const std::string& cell) {
        return api::utf8_length(cell).value_or(cell.size());
    };
    const std::vector<std::string>& header = rows.front();
    const bool colours = shows_colours();
    std::vector<std::size_t> widths(header.size(), 0);
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], width(row[i]));
        }
    }
    for (const auto& row : rows) {
        // Trailing empty cells leave no spaces.
        std::size_t used = row.size();
        while (used > 0 && row[used - 1].empty()) {
            --used;
        }
        std::string line;
        for (std::size_t i = 0; i < used; ++i) {
            if (colours && &row == &header) {
                line += bold(row[i]);
            } else if (colours && header[i] == verdicts) {
                line += coloured(row[i]);
            } else {
                line += row[i];
            }
            if (i + 1 < used) {
                line.append(widths[i] - width(row[i]) + 2, ' ');
            }
        }
        print_line(line);
    }
}

}  // namespace petstore::ctl
