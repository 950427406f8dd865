#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "e2e/support/util.h"
#include "preload/failing_malloc.h"

namespace petstore::e2e {

// Makes allocations in a running nginx worker fail, see failing_malloc.h.
class AllocationFaults {
public:
    AllocationFaults();
    ~AllocationFaults();
    AllocationFaults(const AllocationFaults&) = delete;
    AllocationFaults& operator=(const AllocationFaults&) = delete;

    // The environment to start nginx with.
    std::vector<std::pair<std::string, std::string>> env() const;

    // Starts counting allocations of `worker`, and fails `times` in a row from
    // number `first` on. `only_new`: affects operator new only, which nginx
    // itself does not use.
    void arm(pid_t worker, std::int64_t first, std::int64_t times,
             bool only_new);
    void disarm();

    // Counted since arm().
    std::int64_t counted() const { return control_->counted; }
    std::int64_t failed() const { return control_->failed; }

    // The stack of the last failure, one function per line, with file and line
    // if addr2line knows them.
    std::string stack() const;

private:
    TempDir dir_;
    FailingMalloc* control_;
    std::string maps_;  // the worker's /proc/<pid>/maps
};

}  // namespace petstore::e2e
