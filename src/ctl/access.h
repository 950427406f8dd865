#pragma once

namespace petstore::ctl {

// What a command does to the store. examine: changes nothing, but fails where a
// change would.
enum class Access { read, examine, change };

}  // namespace petstore::ctl
