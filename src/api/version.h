#pragma once

namespace petstore::api {

// The only place that defines the version; debian/rules compares it with
// debian/changelog. "~dev" precedes the release.
inline constexpr char kVersion[] = "0.2.0";

}  // namespace petstore::api
