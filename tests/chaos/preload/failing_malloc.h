// Makes chosen allocations of one process fail. Either preloaded into nginx and
// controlled through a shared file, or compiled into a test program and
// controlled directly.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

// Shared memory between the test and the process under test. The test writes
// everything except `counted` and `failed`, and `armed` last.
struct FailingMalloc {
    std::atomic<pid_t> armed;         // id of the process affected; 0: none
    std::atomic<std::int64_t> first;  // the first allocation to fail, from 1
    std::atomic<std::int64_t> times;  // number of failures in a row
    std::atomic<bool> only_new;       // does not affect malloc() and its family
    std::atomic<std::int64_t> counted;
    std::atomic<std::int64_t> failed;

    // Return addresses of the last failed allocation, innermost first.
    static constexpr int kMaxFrames = 48;
    std::atomic<int> frames;
    void* stack[kMaxFrames];
};

// Names the file that holds a FailingMalloc. Read when the library is loaded.
constexpr char kFailingMallocFile[] = "FAILING_MALLOC_FILE";

extern "C" FailingMalloc* failing_malloc_control();
