#pragma once

#include "http.h"

namespace petstore::e2e {

// Appends the exchange to the file that PETSTORE_RECORD names, as one line of
// JSON. Does nothing without that variable. No API key is recorded.
void record(const Http::Request& request, const Response& response);

}  // namespace petstore::e2e
