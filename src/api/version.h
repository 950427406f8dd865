#pragma once

namespace petstore::api {

// The only place that defines the version. `petstorectl version` prints it,
// nginx logs it when it starts, and debian/rules compares it with
// debian/changelog.
inline constexpr char kVersion[] = "0.1.0";

}  // namespace petstore::api
