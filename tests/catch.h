#pragma once

// An exception that leaves an assertion fails its test without naming the
// assertion, and the tests build in four fifths of the time.
#define CATCH_CONFIG_FAST_COMPILE

// Includes Catch2 2 (Debian 12) or 3 (Debian 13 and later).
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
