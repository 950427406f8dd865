#pragma once

namespace petstore::openapi {

// The document's text: everything that depends on neither the configuration nor
// a table elsewhere in the code. document.cpp completes it.
extern const char kTemplate[];

}  // namespace petstore::openapi
