#pragma once

#include <vector>

#include "finding.h"

namespace petstore::ctl {

const char* to_text(Verdict verdict);

// Prints a table. On a terminal that is too narrow for it, wraps the text, and
// the advice follows what was found.
void print_findings(const std::vector<Finding>& findings);

}  // namespace petstore::ctl
