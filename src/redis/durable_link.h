#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>

#include "alarm.h"
#include "command.h"
#include "durability.h"
#include "link.h"
#include "reply_copy.h"
#include "scheduler.h"

namespace petstore::redis {

// A link that delivers replies only once the commands are durable. It needs a
// dedicated connection: WAIT and WAITAOF block it, and cover only its own last
// write.
//
// Commands of one event-loop iteration, and those that arrived during the
// previous batch, are sent as one batch, followed by one WAIT, then one
// WAITAOF. Replies are held back until these answer, except error replies,
// since nothing was written. If the batch is not on enough replicas, or not on
// disk, in time, its commands are in doubt. A command's timeout counts from
// send(), whether it waits for its batch or for the answer.
//
// On each connection, first checks whether the server supports the wait; if
// not, commands fail with not_sent. A batch may still be sent over another one,
// if the link replaces a lost idle connection; if that server does not support
// the wait, the batch is in doubt. Independent of sockets and clocks; see Owner
// and Alarm.
class DurableLink final : public Link,
                          private EndOfIterationTask,
                          private Alarm::User {
public:
    // The worker's part.
    class Owner {
    public:
        // The server refuses `command`, WAIT or WAITAOF. Commands fail until it
        // is accepted. Alternates with supported_again().
        virtual void unsupported(const char* command,
                                 const Reply& error) noexcept = 0;
        virtual void supported_again() noexcept = 0;

        // This many commands were executed but not durable in time, or waited
        // in vain for a batch that was not, although it wrote nothing.
        virtual void not_reached(std::size_t commands) noexcept = 0;

        virtual void queue_full() noexcept = 0;

    protected:
        ~Owner() = default;
    };

    // Further commands wait for the next batch. A batch must leave room for its
    // WAIT in a Pipeline.
    static constexpr std::size_t kMaxBatch = 2048;
    static constexpr std::size_t kMaxBatchBytes = 512 * 1024;

    // All borrowed. `link` must not give up a command before its WAIT has
    // ended, which takes up to `timeout` milliseconds plus the resolution of
    // Redis's timers.
    DurableLink(Link& link, Scheduler& scheduler, Alarm& alarm, Owner& owner,
                Durability durability, std::uint64_t timeout) noexcept;
    DurableLink(const DurableLink&) = delete;

    // Checks whether the wait is supported before the first command needs it.
    void warm_up() noexcept;

    void send(const Command& command, ReplyHandler& handler) noexcept override;

    std::uint64_t
    connection_generation(std::string_view key) const noexcept override
    {
        return link_.connection_generation(key);
    }

private:
    // A command from send() to the end of its batch.
    class Write final : public ReplyHandler {
    public:
        // Throws std::bad_alloc.
        Write(DurableLink& link, const Command& command, ReplyHandler& handler,
              std::uint64_t deadline);

        const Command& command() const noexcept { return command_; }
        std::uint64_t deadline() const noexcept { return deadline_; }
        // Until its handler was called.
        bool is_pending() const noexcept { return handler_ != nullptr; }

        void on_reply(const Reply& reply) noexcept override;
        void on_no_reply(NoReply cause) noexcept override;

        void deliver() noexcept;  // the reply
        void fail(NoReply cause) noexcept;

    private:
        DurableLink& link_;
        const Command command_;
        ReplyHandler* handler_;  // nullptr once called
        const std::uint64_t deadline_;
        std::optional<ReplyCopy> reply_;
    };

    // Takes the replies to WAIT and WAITAOF.
    class WaitReplyHandler final : public ReplyHandler {
    public:
        explicit WaitReplyHandler(DurableLink& link) noexcept : link_(link) {}

        void on_reply(const Reply& reply) noexcept override;
        void on_no_reply(NoReply cause) noexcept override;
        bool reports(const Reply& error) const noexcept override;

    private:
        DurableLink& link_;
    };

    enum class Phase { idle, asking, batch };
    enum class Step { replicas, disk };

    void run() noexcept override;
    void on_alarm() noexcept override;
    void schedule() noexcept;
    void ask() noexcept;
    void send_batch() noexcept;
    void send_step(Step step) noexcept;
    Command wait_command() const;
    const char* step_name() const noexcept;

    void note_server() noexcept;
    void take_answer(const Reply& reply) noexcept;
    void take_refusal(const Reply& error) noexcept;
    bool is_enough(const Reply& reply) const noexcept;
    void end_callback() noexcept;
    void end_asking() noexcept;
    void end_batch() noexcept;
    template <typename Fails>
    void report_not_reached(const std::list<Write>& writes,
                            Fails fails) noexcept;
    void restart_alarm() noexcept;

    Link& link_;
    Scheduler& scheduler_;
    Alarm& alarm_;
    Owner& owner_;
    const Durability durability_;
    const std::uint64_t timeout_;

    Phase phase_ = Phase::idle;
    Step step_ = Step::replicas;
    WaitReplyHandler wait_handler_{*this};
    std::list<Write> waiting_;
    std::list<Write> batch_;
    std::size_t callbacks_ = 0;       // of link_, outstanding in this phase
    bool confirmed_ = false;          // all steps of this phase succeeded
    bool too_few_ = false;            // the last step's answer was not enough
    std::size_t refused_writes_ = 0;  // of the batch

    // The generation of the connection that accepted all steps.
    std::optional<std::uint64_t> supported_on_;
    // That of the batch's first reply: its commands may have waited for another
    // connection.
    std::optional<std::uint64_t> batch_on_;
    bool refused_ = false;  // reported by unsupported()
    bool scheduled_ = false;
};

}  // namespace petstore::redis
