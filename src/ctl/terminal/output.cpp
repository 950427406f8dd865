#include "output.h"

#include <algorithm>
#include <cerrno>
#include <iostream>
#include <system_error>
#include <unistd.h>

#include "../exit.h"
#include "escape.h"
#include "terminal.h"

namespace petstore::ctl {

namespace {

std::string text_time(const std::optional<api::UnixTime>& time)
{
    return time ? api::iso_time(*time) : "-";
}

}  // namespace

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

std::string text_or_dash(const std::string& text)
{
    return text.empty() ? "-" : text;
}

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
    print_data(value.dump(2, ' ', false, Json::error_handler_t::replace));
}

std::string one_line(const Json& value)
{
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void say(std::string_view message)
{
    std::cerr << escaped(message) << '\n';
}

void warn(std::string_view message)
{
    std::cerr << "petstorectl: warning: " << escaped(message) << '\n';
}

void report(bool json, const Json& data, std::string_view message)
{
    if (json) {
        print_json(data);
    } else {
        say(message);
    }
}

void flush_output()
{
    errno = 0;
    if (!std::cout.flush()) {
        throw Failure("cannot write to standard output: "
                      + std::generic_category().message(errno ? errno : EIO));
    }
}

void print_property(std::string_view name, std::string_view value)
{
    constexpr std::size_t kWidth = 13;
    std::string text(name);
    text.append(kWidth - name.size(), ' ').append(value);
    print_line(text);
}

std::string count_text(std::uint64_t count, std::string_view noun)
{
    std::string text = std::to_string(count) + ' ';
    return text.append(noun).append(count == 1 ? "" : "s");
}

std::string unread_text(const std::string& noun,
                        const std::vector<std::string>& ids)
{
    return noun + " " + ids.front()
           + " is missing, because the server of the cluster that has it is away; "
           + count_text(ids.size(), noun) + " in total";
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
