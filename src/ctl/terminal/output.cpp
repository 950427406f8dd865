#include "output.h"

#include <algorithm>
#include <cerrno>
#include <iostream>
#include <optional>
#include <system_error>
#include <unistd.h>

#include "../../api/date.h"
#include "../../api/plan.h"
#include "../../api/text.h"
#include "../exit.h"
#include "escape.h"
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
std::string text_limit(const api::PlanInForce& plan,
                       const std::optional<std::int64_t>& own,
                       std::int64_t limit)
{
    return own || api::PlanTable().knows(plan.plan) ? std::to_string(limit)
                                                    : "?";
}

std::string minute_text(const api::PlanInForce& plan)
{
    return text_limit(plan, plan.per_minute, plan.limits.minute);
}

std::string day_text(const api::PlanInForce& plan)
{
    return text_limit(plan, plan.per_day, plan.limits.day);
}

api::PlanInForce plan_of(const api::KeyRecord& record)
{
    return api::PlanTable().plan_in_force(record, {});
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

void print_line(std::string_view text)
{
    print_data(escaped(text));
}

void print_data(std::string_view line)
{
    std::cout << line << '\n';
}

void print_json(const Json& value)
{
    std::cout << value.dump(2, ' ', false, Json::error_handler_t::replace)
              << '\n';
}

void say(std::string_view message)
{
    std::cerr << escaped(message) << '\n';
}

void warn(std::string_view message)
{
    std::cerr << "petstorectl: warning: " << escaped(message) << '\n';
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
    const api::PlanInForce plan = plan_of(record);
    Json json = {
        {"id", record.id},
        {"account", record.account},
        {"plan", plan.plan},
        {"per_minute", json_number(plan.per_minute)},
        {"per_day", json_number(plan.per_day)},
        {"label", record.label},
        {"scopes", api::scope_names(record)},
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
    line("id", record.id);
    line("account", record.account);
    const api::PlanInForce plan = plan_of(record);
    line("plan", plan.plan);
    line("per minute", minute_text(plan));
    line("per day", day_text(plan));
    line("label", record.label);
    line("scopes", api::scopes_text(record));
    line("created", full_time(record.created, now));
    line("expires", full_time(record.expires, now));
    line("disabled", record.disabled ? "yes" : "no");
    line("last4", record.last4);
}

void print_keys(const std::vector<store::StoredKey>& keys, api::UnixTime now)
{
    std::vector<std::vector<std::string>> rows;
    rows.push_back({"ID", "ACCOUNT", "PLAN", "MINUTE", "DAY", "SCOPES",
                    "CREATED", "EXPIRES", "STATE", "LAST4", "LABEL"});
    for (const store::StoredKey& key : keys) {
        const api::KeyRecord& record = key.record;
        const api::PlanInForce plan = plan_of(record);
        rows.push_back(
            {record.id, record.account, std::string(plan.plan),
             minute_text(plan), day_text(plan), api::scopes_text(record),
             table_time(record.created, now), table_time(record.expires, now),
             state_of(key, now), record.last4, record.label});
    }
    print_table(rows, "STATE");
}

std::string count_text(std::uint64_t count, std::string_view noun)
{
    std::string text = std::to_string(count) + ' ';
    return text.append(noun).append(count == 1 ? "" : "s");
}

std::string unread_keys(const std::vector<std::string>& ids)
{
    return "key " + ids.front()
           + " is missing, because the server of the cluster that has it is away; "
           + count_text(ids.size(), "key") + " in total";
}

void print_table(const std::vector<std::vector<std::string>>& unsafe_rows,
                 std::string_view verdicts)
{
    auto rows = unsafe_rows;
    std::vector<std::size_t> widths(rows.front().size(), 0);
    for (auto& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            row[i] = escaped(row[i]);
            widths[i] = std::max(widths[i], width_of(row[i]));
        }
    }
    const std::vector<std::string>& header = rows.front();
    for (const auto& row : rows) {
        // Trailing empty cells leave no spaces.
        std::size_t used = row.size();
        while (used > 0 && row[used - 1].empty()) {
            --used;
        }
        for (std::size_t i = 0; i < used; ++i) {
            if (&row == &header) {
                print_bold(row[i]);
            } else if (header[i] == verdicts) {
                print_verdict(row[i]);
            } else {
                std::cout << row[i];
            }
            if (i + 1 < used) {
                std::cout << std::string(widths[i] - width_of(row[i]) + 2, ' ');
            }
        }
        std::cout << '\n';
    }
}

}  // namespace petstore::ctl
