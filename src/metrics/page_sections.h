#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace petstore::metrics {

// 1234567 as "1,234,567".
std::string grouped(std::uint64_t number);

struct Column {
    const char* name;
    bool is_number = true;
};

struct Cell {
    std::string text;
    const char* style = "";
};

// The sections of the page for people, each with a table or a sentence. All
// functions throw std::bad_alloc.
class Sections {
public:
    // A section with a heading. Its body follows.
    void begin(const char* id, const char* heading, const char* size = "");

    // The first column has the names of the rows.
    void table(std::vector<Column> columns, const char* caption = "");
    // One cell for each other column. Its text is escaped.
    void row(std::string_view name, const std::vector<Cell>& cells);

    Sections& operator<<(std::string_view html)
    {
        out_ += html;
        return *this;
    }

    std::string take() { return std::move(out_ += ending_); }

private:
    std::string out_;
    const char* id_ = "";      // of the open section
    const char* ending_ = "";  // what it still lacks
    std::vector<Column> columns_;
};

}  // namespace petstore::metrics
