#include "allocation_faults.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <limits>
#include <new>

#include "e2e/support/process.h"

namespace petstore::e2e {

namespace {

constexpr char kControlFile[] = "control";

struct Place {
    std::string file;
    std::uintptr_t offset;  // as addr2line counts in a shared object
};

// The mapping at an address. A shared object's segments are mapped in the order
// of their addresses, so offsets count from its first mapping.
Place place_of(const std::string& maps, std::uintptr_t address)
{
    std::string file;
    std::uintptr_t base = 0;
    for (const auto& line : split(maps, '\n')) {
        std::uintptr_t start = 0;
        std::uintptr_t end = 0;
        int path = 0;
        if (std::sscanf(line.c_str(),
                        "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %*s %n", &start,
                        &end, &path)
            < 2) {
            continue;
        }
        const auto name = line.substr(static_cast<std::size_t>(path));
        if (name != file) {
            file = name;
            base = start;
        }
        if (address >= start && address < end) {
            return {file, address - base};
        }
    }
    return {"", address};
}

}  // namespace

AllocationFaults::AllocationFaults()
{
    const int fd =
        open((dir_ / kControlFile).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(FailingMalloc)) != 0) {
        throw HarnessError("no control file");
    }
    void* const memory = mmap(nullptr, sizeof(FailingMalloc),
                              PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (memory == MAP_FAILED) {
        throw HarnessError("cannot map the control file");
    }
    control_ = new (memory) FailingMalloc{};
}

AllocationFaults::~AllocationFaults()
{
    disarm();
    munmap(control_, sizeof(FailingMalloc));
}

std::vector<std::pair<std::string, std::string>> AllocationFaults::env() const
{
    return {{"LD_PRELOAD", E2E_FAILING_MALLOC},
            {kFailingMallocFile, dir_ / kControlFile}};
}

void AllocationFaults::arm(pid_t worker, std::int64_t first, std::int64_t times,
                           bool only_new)
{
    maps_ = read_file("/proc/" + std::to_string(worker) + "/maps");
    control_->first = first;
    control_->times = times;
    control_->only_new = only_new;
    control_->counted = 0;
    control_->failed = 0;
    control_->frames = 0;
    control_->armed = worker;
}

void AllocationFaults::disarm()
{
    control_->armed = 0;
}

std::string AllocationFaults::stack() const
{
    std::string text;
    // Skips the library's own frames, which come first.
    for (int i = 0; i < control_->frames; ++i) {
        // One byte back: the call, not the instruction after it.
        const auto place = place_of(
            maps_, reinterpret_cast<std::uintptr_t>(control_->stack[i]) - 1);
        if (contains(place.file, "failing_malloc")) {
            continue;
        }
        char offset[32];
        std::snprintf(offset, sizeof(offset), "0x%" PRIxPTR, place.offset);
        const auto line = run({"addr2line", "-Cfpie", place.file, offset}).out;
        text += line.empty() || line[0] == '?'
                    ? place.file + " " + offset + "\n"
                    : line;
    }
    return text;
}

}  // namespace petstore::e2e
