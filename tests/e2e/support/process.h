#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "util.h"

namespace petstore::e2e {

// A child process that does not outlive the tests.
class Process {
public:
    struct Setup {
        std::vector<std::string> argv;
        std::vector<std::pair<std::string, std::string>> env;  // added to ours
        std::string input;   // file for stdin; default: /dev/null
        std::string output;  // file for stdout; default: /dev/null
        std::string errors;  // same for stderr
    };

    Process() = default;
    explicit Process(const Setup& setup);
    ~Process();
    Process(Process&& other) noexcept { *this = std::move(other); }
    Process& operator=(Process&& other) noexcept;

    pid_t pid() const noexcept { return pid_; }
    bool running();
    void signal(int number) const;

    // The exit code, or 128 + the signal number; nullopt after the timeout.
    std::optional<int> wait(std::chrono::milliseconds timeout);

private:
    bool reap();

    pid_t pid_ = -1;
    std::optional<int> result_;
};

struct Output {
    int code = -1;
    std::string out;
    std::string err;
};

// Runs a command and waits for it. In a sanitized run, a sanitizer report fails
// the test.
Output run(const std::vector<std::string>& argv, const std::string& input = "",
           const std::vector<std::pair<std::string, std::string>>& env = {});
// Fails the test if what a program printed contains a sanitizer report.
void expect_no_finding(const std::string& program, const std::string& text);

// Read from /proc.
std::vector<pid_t> children_of(pid_t pid);
bool process_exists(pid_t pid);
std::vector<std::string> descriptors_of(pid_t pid);

}  // namespace petstore::e2e
