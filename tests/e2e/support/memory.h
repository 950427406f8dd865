#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>

namespace petstore::e2e {

// The resident memory of a process, in bytes.
inline std::int64_t resident_memory(pid_t pid)
{
    std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
    std::int64_t size = 0;
    std::int64_t pages = 0;
    file >> size >> pages;
    return pages * sysconf(_SC_PAGESIZE);
}

}  // namespace petstore::e2e
