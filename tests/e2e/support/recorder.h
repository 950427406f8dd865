#pragma once

#include "http.h"

namespace petstore::e2e {

// Appends the exchange to the file named by PETSTORE_RECORD, as one line of
// JSON. Does nothing without that variable. API keys are not recorded.
void record(const Http::Request& request, const Response& response);

}  // namespace petstore::e2e
