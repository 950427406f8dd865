#include "csv.h"

#include <algorithm>
#include <string_view>

namespace petstore::ctl {

namespace {

// Those that OWASP lists under "CSV injection". Numbers are never negative.
constexpr std::string_view kFormulaStarts = "=+-@";

// Where a spreadsheet may begin another cell, besides a comma. If it separates
// by one of these, it does not know our quotes, which then are inside a cell.
constexpr std::string_view kOtherSeparators = ";\t\r\n";

bool is_one_of(std::string_view characters, char c)
{
    return characters.find(c) != std::string_view::npos;
}

void append(std::string& line, std::string_view field)
{
    const bool quoted = std::any_of(field.begin(), field.end(), [](char c) {
        return c == '"' || c == ',' || is_one_of(kOtherSeparators, c);
    });
    line.append(quoted ? "\"" : "");
    if (!field.empty() && is_one_of("\t\r\n", field.front())) {
        line.push_back('\'');
    }
    bool begins_cell = true;
    for (const char c : field) {
        if (begins_cell && is_one_of(kFormulaStarts, c)) {
            line.push_back('\'');
        }
        line.append(c == '"' ? 2 : 1, c);
        // Quotes at its beginning may vanish.
        begins_cell =
            is_one_of(kOtherSeparators, c) || (begins_cell && c == '"');
    }
    line.append(quoted ? "\"" : "");
}

}  // namespace

std::string csv_line(const std::vector<std::string>& fields)
{
    std::string line;
    for (const std::string& field : fields) {
        if (&field != &fields.front()) {
            line.push_back(',');
        }
        append(line, field);
    }
    return line;
}

}  // namespace petstore::ctl
