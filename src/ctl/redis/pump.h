#pragma once

#include <chrono>
#include <exception>
#include <poll.h>
#include <string>
#include <vector>

namespace petstore::ctl {

// A server, for messages.
struct ServerName {
    std::string url;   // without user and password
    std::string host;  // as the Cluster or the URL names it
};

// Lets links work while a command waits for its results: writes, waits for
// their sockets, reads. Handlers of replies run in here and must not call it.
class Pump {
public:
    using Clock = std::chrono::steady_clock;
    using Time = Clock::time_point;

    // Once a signal asks the command to stop, the replies that are due must
    // arrive within this time.
    static constexpr std::chrono::seconds kAfterSignal{3};

    // A link, or something else that waits. No function calls the pump.
    class Member {
    public:
        // Writes what can be written. May connect.
        virtual void write() noexcept = 0;

        // What to wait for: a socket (-1 for none) and its events. Lowers
        // `until` if something is due earlier.
        virtual pollfd waits_for(Time& until) const noexcept = 0;

        // Reads what has arrived if the socket is ready, and does what is due.
        virtual void proceed(bool ready) noexcept = 0;

    protected:
        ~Member() = default;
    };

    Pump() = default;
    virtual ~Pump() = default;
    Pump(const Pump&) = delete;
    Pump& operator=(const Pump&) = delete;

    void add(Member& member) { members_.push_back(&member); }
    void remove(Member& member) noexcept;

    // Writes what can be written at once.
    void flush() noexcept;

    // Returns once done() is true. It must become so.
    template <typename Done>
    void run_until(Done&& done)
    {
        for (;;) {
            flush();
            if (done()) {
                return;
            }
            step();
        }
    }

    virtual Time now() const noexcept { return Clock::now(); }

    // When all waiting ends: kAfterSignal after a signal asked the command to
    // stop, or never.
    Time last_time() const noexcept { return last_time_; }

    // Links call these before they deliver a result: who replied, or why nobody
    // did. `may_recover_soon`: within seconds.
    void replied(const ServerName& server) noexcept { server_ = &server; }
    void failed(std::exception_ptr problem,
                bool may_recover_soon = false) noexcept
    {
        problem_ = std::move(problem);
        may_recover_soon_ = may_recover_soon;
    }

    // While a handler runs: the server that replied.
    const ServerName& server() const noexcept { return *server_; }

    // The last problem, a Failure as a rule; nullptr if there was none.
    std::exception_ptr problem() const noexcept { return problem_; }
    bool may_recover_soon() const noexcept { return may_recover_soon_; }
    void forget_problem() noexcept { failed(nullptr, true); }

protected:
    // Waits until a socket is ready, a signal arrives, or it is `until`.
    virtual void wait(std::vector<pollfd>& sockets, Time until);

private:
    void step();

    std::vector<Member*> members_;
    std::vector<pollfd> sockets_;
    Time last_time_ = Time::max();
    const ServerName* server_ = nullptr;
    std::exception_ptr problem_;
    bool may_recover_soon_ = true;
};

}  // namespace petstore::ctl
