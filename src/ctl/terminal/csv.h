#pragma once

#include <string>
#include <vector>

namespace petstore::ctl {

// A line of CSV (RFC 4180), without its end. A field that a spreadsheet would
// take for a formula gets a leading apostrophe: customers choose their names,
// and a formula can send a spreadsheet's other cells away.
std::string csv_line(const std::vector<std::string>& fields);

}  // namespace petstore::ctl
