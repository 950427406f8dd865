#include "csv.h"

#include <string_view>

namespace petstore::ctl {

namespace {

// Those that OWASP lists under "CSV injection". Numbers are never negative.
bool is_formula(std::string_view field)
{
    constexpr std::string_view kStarts = "=+-@\t\r\n";
    return !field.empty()
           && kStarts.find(field.front()) != std::string_view::npos;
}

void append(std::string& line, std::string_view field)
{
    const bool formula = is_formula(field);
    if (field.find_first_of("\",\r\n") == std::string_view::npos) {
        line.append(formula ? "'" : "").append(field);
        return;
    }
    line.append(formula ? "\"'" : "\"");
    for (const char c : field) {
        line.append(c == '"' ? 2 : 1, c);
    }
    line.push_back('"');
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
