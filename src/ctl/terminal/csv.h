#pragma once

#include <string>
#include <vector>

namespace petstore::ctl {

// A line of CSV (RFC 4180), without its end. What a spreadsheet would take for
// a formula gets an apostrophe, also inside a field after a semicolon, a tab or
// a line's end: customers choose their names, a formula can send a
// spreadsheet's other cells away, and the spreadsheet's separator depends on
// its locale.
std::string csv_line(const std::vector<std::string>& fields);

}  // namespace petstore::ctl
