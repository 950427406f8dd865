#include "page_sections.h"

namespace petstore::metrics {

namespace {

void append_escaped(std::string& out, std::string_view text)
{
    for (const char c : text) {
        switch (c) {
        case '&':
            out += "&amp;";
            break;
        case '<':
            out += "&lt;";
            break;
        case '>':
            out += "&gt;";
            break;
        case '"':
            out += "&quot;";
            break;
        default:
            out += c;
        }
    }
}

}  // namespace

std::string grouped(std::uint64_t number)
{
    std::string text = std::to_string(number);
    for (std::size_t i = text.size(); i > 3; i -= 3) {
        text.insert(i - 3, ",");
    }
    return text;
}

void Sections::begin(const char* id, const char* heading, const char* size)
{
    *this << ending_ << "<section class=\"" << size << "\" aria-labelledby=\"h-"
          << id << "\"><h2 id=\"h-" << id << "\">" << heading
          << "</h2><div id=\"" << id << "\" data-part>";
    id_ = id;
    ending_ = "</div></section>\n";
}

void Sections::table(std::vector<Column> columns, const char* caption)
{
    columns_ = std::move(columns);
    *this << "<table aria-labelledby=\"h-" << id_ << "\">";
    if (*caption != '\0') {
        *this << "<caption>" << caption << "</caption>";
    }
    *this << "<thead><tr>";
    for (const Column& column : columns_) {
        const bool is_number = column.is_number && &column != &columns_[0];
        *this << (is_number ? "<th scope=\"col\" class=\"number\">"
                            : "<th scope=\"col\">")
              << column.name << "</th>";
    }
    *this << "</tr></thead><tbody>";
    ending_ = "</tbody></table></div></section>\n";
}

void Sections::row(std::string_view name, const std::vector<Cell>& cells)
{
    *this << "<tr><th scope=\"row\">";
    append_escaped(out_, name);
    *this << "</th>";
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const Column& column = columns_[i + 1];
        *this << "<td data-label=\"" << column.name << "\" class=\""
              << (column.is_number ? "number" : cells[i].style) << "\">";
        append_escaped(out_, cells[i].text);
        *this << "</td>";
    }
    *this << "</tr>";
}

}  // namespace petstore::metrics
