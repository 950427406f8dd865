#pragma once

#include <string>
#include <vector>

#include "process.h"
#include "util.h"

namespace petstore::e2e {

// A petstorectl pet import, or another command that reads standard input, that
// reads what the test writes.
class SlowImport {
public:
    // `options`: further options of petstorectl.
    explicit SlowImport(const std::string& redis,
                        const std::vector<std::string>& options = {},
                        const std::vector<std::string>& reader = {
                            "pet", "import", "-"});
    ~SlowImport();
    SlowImport(const SlowImport&) = delete;
    SlowImport& operator=(const SlowImport&) = delete;

    void write(const std::string& lines) const;
    bool has_read_all() const;
    void end_input();

    Process& process() { return process_; }

    // Waits for the exit, which must be an error, and returns the message.
    std::string failure();

private:
    TempDir dir_;
    int fd_ = -1;
    Process process_;
};

}  // namespace petstore::e2e
