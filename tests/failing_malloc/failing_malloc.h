// Makes chosen allocations of one process fail. Two uses: preloaded into nginx
// and controlled through a shared file, or compiled into a test program and
// controlled in place.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

// Lives in memory that the test and the process under test share. The test
// writes everything but `counted` and `failed`, and `armed` last.
struct FailingMalloc {
    std::atomic<pid_t> armed;         // this process counts and fails; 0: none
    std::atomic<std::int64_t> first;  // number of the first one to fail, from 1
    std::atomic<std::int64_t> times;  // how many in a row fail
    std::atomic<bool> only_new;       // malloc() and its family are left alone
    std::atomic<std::int64_t> counted;
    std::atomic<std::int64_t> failed;

    // Return addresses of the last allocation that failed, innermost first.
    static constexpr int kMaxFrames = 48;
    std::atomic<int> frames;
    void* stack[kMaxFrames];
};

// Names the file that holds a FailingMalloc. Read when the library is loaded.
constexpr char kFailingMallocFile[] = "FAILING_MALLOC_FILE";

extern "C" FailingMalloc* failing_malloc_control();
