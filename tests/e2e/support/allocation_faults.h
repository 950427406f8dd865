#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "../../failing_malloc/failing_malloc.h"
#include "util.h"

namespace petstore::e2e {

// Makes allocations of a running nginx worker fail, see failing_malloc.h.
class AllocationFaults {
public:
    AllocationFaults();
    ~AllocationFaults();
    AllocationFaults(const AllocationFaults&) = delete;
    AllocationFaults& operator=(const AllocationFaults&) = delete;

    // The environment that nginx has to be started with.
    std::vector<std::pair<std::string, std::string>> env() const;

    // From now on allocations of `worker` are counted, and from the `first` on
    // `times` in a row fail. `only_new`: those by operator new, which are not
    // nginx's.
    void arm(pid_t worker, std::int64_t first, std::int64_t times,
             bool only_new);
    void disarm();

    // Since arm().
    std::int64_t counted() const { return control_->counted; }
    std::int64_t failed() const { return control_->failed; }

    // Where the last of them failed: functions with file and line as far as
    // addr2line knows them, one a line.
    std::string stack() const;

private:
    TempDir dir_;
    FailingMalloc* control_;
    std::string maps_;  // of the worker, /proc/<pid>/maps
};

}  // namespace petstore::e2e
