#pragma once

#include <string>

namespace petstore::ctl {

// unknown: Redis forbids the command, as managed services do.
enum class Verdict { ok, warning, wrong, unknown };

struct Finding {
    Verdict verdict;
    std::string check;
    std::string found;
    std::string advice;
    // `doctor --json` has it only if it is a warning or wrong: programs written
    // for earlier versions do not expect it.
    bool problems_only = false;
};

// The advice where the verdict is unknown.
constexpr char kAskProvider[] =
    "the Redis user may not run this command; ask your provider";

}  // namespace petstore::ctl
