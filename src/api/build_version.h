#pragma once

namespace petstore::api {

// The version, followed by "+" and the commit if it was built in a git
// checkout: `petstorectl version`, nginx's log and the metrics show it.
const char* build_version() noexcept;

}  // namespace petstore::api
