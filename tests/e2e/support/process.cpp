#include "process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

#include "catch.h"

namespace petstore::e2e {

namespace {

void redirect(int fd, const std::string& path, int flags)
{
    const int file =
        open(path.empty() ? "/dev/null" : path.c_str(), flags, 0644);
    if (file < 0 || dup2(file, fd) < 0) {
        _exit(126);
    }
    if (file != fd) {
        close(file);
    }
}

// Field 3 of /proc/<pid>/stat, after a name that may contain anything; 'X' if
// there is no such process.
char state_of(pid_t pid)
{
    const auto text = read_file("/proc/" + std::to_string(pid) + "/stat");
    const auto end = text.rfind(')');
    return end == std::string::npos || end + 2 >= text.size() ? 'X'
                                                              : text[end + 2];
}

// PR_SET_PDEATHSIG fires when the *thread* that created the child exits, not
// the process. So one thread that never exits creates all children.
class Spawner {
public:
    static pid_t spawn(const std::function<pid_t()>& fork_and_exec)
    {
        // Never destroyed: its thread runs until the process exits.
        static auto& spawner = *new Spawner;
        std::packaged_task<pid_t()> task(fork_and_exec);
        auto pid = task.get_future();
        {
            const std::lock_guard lock(spawner.mutex_);
            spawner.tasks_.push_back(std::move(task));
        }
        spawner.wake_.notify_one();
        return pid.get();
    }

private:
    Spawner()
    {
        std::thread([this] {
            for (;;) {
                std::unique_lock lock(mutex_);
                wake_.wait(lock, [this] { return !tasks_.empty(); });
                auto task = std::move(tasks_.front());
                tasks_.pop_front();
                lock.unlock();
                task();
            }
        }).detach();
    }

    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<std::packaged_task<pid_t()>> tasks_;
};

[[noreturn]] void become(const Process::Setup& setup, char* const* argv)
{
    // Servers are stopped if the test is killed. SIGTERM, because nginx's
    // master must stop its workers.
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    std::signal(SIGPIPE, SIG_DFL);
    redirect(STDIN_FILENO, setup.input, O_RDONLY);
    redirect(STDOUT_FILENO, setup.output, O_WRONLY | O_CREAT | O_APPEND);
    redirect(STDERR_FILENO, setup.errors, O_WRONLY | O_CREAT | O_APPEND);
    for (const auto& [name, value] : setup.env) {
        setenv(name.c_str(), value.c_str(), 1);
    }
    execvp(argv[0], argv);
    _exit(127);
}

}  // namespace

Process::Process(const Setup& setup)
{
    std::vector<char*> argv;
    for (const auto& argument : setup.argv) {
        argv.push_back(const_cast<char*>(argument.c_str()));
    }
    argv.push_back(nullptr);

    pid_ = Spawner::spawn([&] {
        const pid_t pid = fork();
        if (pid == 0) {
            become(setup, argv.data());
        }
        return pid;
    });
    if (pid_ < 0) {
        throw HarnessError("fork failed");
    }
}

Process::~Process()
{
    if (pid_ > 0 && running()) {
        signal(SIGCONT);
        signal(SIGKILL);
        wait(10s);
    }
}

Process& Process::operator=(Process&& other) noexcept
{
    std::swap(pid_, other.pid_);
    std::swap(result_, other.result_);
    return *this;
}

bool Process::reap()
{
    if (result_ || pid_ <= 0) {
        return true;
    }
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) != pid_) {
        return false;
    }
    result_ =
        WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return true;
}

bool Process::running()
{
    return !reap();
}

void Process::signal(int number) const
{
    if (pid_ > 0 && !result_) {
        kill(pid_, number);
    }
}

std::optional<int> Process::wait(std::chrono::milliseconds timeout)
{
    wait_until([this] { return reap(); }, timeout);
    return result_;
}

Output run(const std::vector<std::string>& argv, const std::string& input,
           const std::vector<std::pair<std::string, std::string>>& env)
{
    const TempDir dir;
    Process::Setup setup{argv, sanitizer_options(Leaks::found), "", dir / "out",
                         dir / "err"};
    setup.env.insert(setup.env.end(), env.begin(), env.end());
    if (!input.empty()) {
        setup.input = dir / "in";
        write_file(setup.input, input);
    }
    Process process(setup);
    const auto code = process.wait(120s);
    if (!code) {
        throw HarnessError(argv[0] + " does not end");
    }
    Output output{*code, read_file(setup.output), read_file(setup.errors)};
    expect_no_finding(argv[0], output.err);
    return output;
}

void expect_no_finding(const std::string& program, const std::string& text)
{
    if (sanitized()
        && (contains(text, "Sanitizer:") || contains(text, "runtime error:"))) {
        FAIL_CHECK(program << ": " << text);
    }
}

std::vector<pid_t> children_of(pid_t pid)
{
    std::vector<pid_t> children;
    std::error_code error;
    for (const auto& thread : std::filesystem::directory_iterator(
             "/proc/" + std::to_string(pid) + "/task", error)) {
        std::ifstream list(thread.path() / "children");
        for (pid_t child = 0; list >> child;) {
            if (process_exists(child)) {
                children.push_back(child);
            }
        }
    }
    return children;
}

bool process_exists(pid_t pid)
{
    const char state = state_of(pid);
    return state != 'X' && state != 'Z';
}

std::vector<std::string> descriptors_of(pid_t pid)
{
    std::vector<std::string> targets;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(
             "/proc/" + std::to_string(pid) + "/fd", error)) {
        const auto target = std::filesystem::read_symlink(entry.path(), error);
        if (!error) {
            targets.push_back(target);
        }
    }
    return targets;
}

}  // namespace petstore::e2e
