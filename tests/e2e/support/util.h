#pragma once

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace petstore::e2e {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// The time of day in whole seconds, rounded down. Not std::time(): its clock
// advances only with timer ticks, and may return the previous second to a test
// whose Redis has read the exact time before.
long long unix_time();

// A failure of the harness, not of the code under test.
struct HarnessError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Polls until the condition holds. Returns false after the timeout, which is
// long: tests do not check how soon something happens on a loaded machine.
bool wait_until(const std::function<bool()>& condition,
                std::chrono::milliseconds timeout = 60s);

// Polls until the condition holds. Returns false if a check that began after
// `deadline` fails. For promises with a time limit: a check may take long on a
// loaded machine, but one that begins after the deadline must succeed.
bool kept_by(Clock::time_point deadline,
             const std::function<bool()>& condition);

// A folder readable by nginx's workers, removed with the object. In memory if
// there is room: a busy disk may take seconds to sync a Redis file.
class TempDir {
public:
    TempDir();
    ~TempDir();
    TempDir(const TempDir&) = delete;
    TempDir& operator=(const TempDir&) = delete;

    const std::string& path() const noexcept { return path_; }
    std::string operator/(std::string_view name) const;

private:
    std::string path_;
};

// The first `limit` bytes; empty if the file does not exist.
std::string read_file(const std::string& path,
                      std::size_t limit = std::string::npos);
void write_file(const std::string& path, std::string_view text);
std::vector<std::string> files_below(const std::string& folder);

// The address that this process's servers listen on: one in 127/8 that no other
// running process uses. Clients connect from 127.0.0.1, so the kernel never
// gives a client a port that a server is about to bind.
const std::string& own_address();

// A port that is free on every address of this machine. Never the same one
// twice.
int free_port();

// The URL of a server of this process.
std::string http_url(int port);

// A connected stream socket, or -1.
int connect_tcp(int port);  // at own_address()
int connect_unix(const std::string& path);

void replace_all(std::string& text, std::string_view from, std::string_view to);
std::string to_lower(std::string text);
std::vector<std::string> split(const std::string& text, char separator);
std::string repeat(std::string_view text, std::size_t times);
bool contains(std::string_view text, std::string_view part);
std::string env_or(const char* name, const std::string& otherwise);

// Whether this run tests the sanitized build (PETSTORE_E2E_SANITIZED).
bool sanitized();

// The environment of a sanitized program, empty for a stock one. Reports go to
// stderr or to files in a folder.
enum class Leaks { found, ignored };
std::vector<std::pair<std::string, std::string>>
sanitizer_options(Leaks leaks, const std::string& folder = "");

// Texts that must not appear in any log or Redis file. The harness checks
// whenever a server exits.
void remember_secret(const std::string& secret);
const std::vector<std::string>& secrets();

}  // namespace petstore::e2e
