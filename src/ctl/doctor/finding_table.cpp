#include "checks.h"

#include <algorithm>
#include <iostream>
#include <string>
#include <string_view>
#include <unistd.h>

#include "../../api/utf8.h"
#include "../terminal/escape.h"
#include "../terminal/output.h"
#include "../terminal/terminal.h"

namespace petstore::ctl {

namespace {

constexpr std::size_t kGap = 2;           // between columns
constexpr std::size_t kLeastText = 24;    // beside verdict and check
constexpr std::size_t kNarrowIndent = 4;  // of text below them

using Rows = std::vector<std::vector<std::string>>;

std::vector<std::size_t> widths_of(const Rows& rows)
{
    std::vector<std::size_t> widths(rows.front().size(), 0);
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], width_of(row[i]));
        }
    }
    return widths;
}

// The first `width` characters.
std::string_view beginning(std::string_view text, std::size_t width)
{
    std::size_t size = 0;
    for (; width > 0 && size < text.size(); --width) {
        size +=
            std::max<std::size_t>(api::code_point_size(text.substr(size)), 1);
    }
    return text.substr(0, size);
}

// Breaks at spaces, and within words that are too long.
std::vector<std::string_view> wrapped(std::string_view text, std::size_t width)
{
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        std::string_view line = beginning(text, width);
        if (line.size() < text.size() && text[line.size()] != ' ') {
            const std::size_t space = line.rfind(' ');
            if (space != std::string_view::npos && space > 0) {
                line = line.substr(0, space);
            }
        }
        lines.push_back(line);
        text.remove_prefix(line.size());
        text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    }
    return lines;
}

// VERDICT and CHECK as columns, the rest as text beside them, or below them if
// there is no room.
void print_narrow(const Rows& rows, std::size_t columns)
{
    const auto widths = widths_of(rows);
    const std::size_t check = widths[0] + kGap;
    const std::size_t beside = check + widths[1] + kGap;
    const bool below = columns < beside + kLeastText;
    const std::size_t text = below ? kNarrowIndent : beside;
    for (const auto& row : rows) {
        const bool is_header = &row == &rows.front();
        std::size_t used = 0;  // columns of the line
        const auto put = [&](std::string_view cell, std::size_t indent) {
            const std::size_t room = columns > indent ? columns - indent : 1;
            for (const std::string_view line : wrapped(cell, room)) {
                if (used > indent) {
                    std::cout << '\n';
                    used = 0;
                }
                std::cout << std::string(indent - used, ' ');
                if (is_header) {
                    print_bold(line);
                } else {
                    std::cout << line;
                }
                used = indent + width_of(line);
            }
        };
        if (is_header) {
            print_bold(row[0]);
        } else {
            print_verdict(row[0]);
        }
        used = width_of(row[0]);
        put(row[1], check);
        for (std::size_t i = 2; i < row.size(); ++i) {
            put(row[i], text);
        }
        std::cout << '\n';
    }
}

}  // namespace

const char* to_text(Verdict verdict)
{
    switch (verdict) {
    case Verdict::ok:
        return "ok";
    case Verdict::warning:
        return "warning";
    case Verdict::wrong:
        return "wrong";
    case Verdict::unknown:
        return "unknown";
    }
    return "";
}

void print_findings(const std::vector<Finding>& findings)
{
    Rows rows = {{"VERDICT", "CHECK", "FOUND", "ADVICE"}};
    for (const Finding& finding : findings) {
        rows.push_back({to_text(finding.verdict), escaped(finding.check),
                        escaped(finding.found), escaped(finding.advice)});
    }
    std::size_t width = 0;
    for (const std::size_t column : widths_of(rows)) {
        width += column + kGap;
    }
    const auto columns = terminal_width(STDOUT_FILENO);
    if (!columns || width - kGap <= *columns) {
        print_table(rows, "VERDICT");
        return;
    }
    rows.front() = {"VERDICT", "CHECK", "FOUND, ADVICE", ""};
    print_narrow(rows, *columns);
}

}  // namespace petstore::ctl
