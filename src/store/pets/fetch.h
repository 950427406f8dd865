#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "../../redis/link.h"
#include "../../redis/reply_copy.h"
#include "../../redis/script_call.h"
#include "../outcome.h"

namespace petstore::store {

// Reads something with one or more commands, or with consecutive calls of a
// script. Ends when every command has been replied to or lost, even if an
// earlier one failed.
class Fetch {
public:
    Fetch(const Fetch&) = delete;

    // Sends the commands. A full queue can end the fetch before this returns.
    void begin() noexcept;

protected:
    explicit Fetch(redis::Link& link) noexcept : link_(link), script_(*this) {}
    ~Fetch() = default;

    // For send_commands(): up to kMaxCommands plain commands, or one script.
    // take() may call the script again after its reply.
    static constexpr std::size_t kMaxCommands = 2;
    void send(const redis::Command& command) noexcept;
    void call(redis::Command script) noexcept;

    // The first failure is the result.
    void fail(Failure failure) noexcept;
    const std::optional<Failure>& failure() const noexcept { return failure_; }

    // Throws std::bad_alloc, which fails the fetch.
    virtual void send_commands() = 0;

    // Handles the reply to command number `index`. Called in the order of the
    // commands; not called after a failure. Throws std::bad_alloc, which fails
    // the fetch.
    virtual void take(std::size_t index, const redis::Reply& reply) = 0;

    // All commands are done. Called once, last; destroys the fetch.
    virtual void on_done() noexcept = 0;

private:
    class Part final : public redis::ReplyHandler {
    public:
        explicit Part(Fetch& owner) noexcept : owner_(owner) {}

        void on_reply(const redis::Reply& reply) noexcept override
        {
            owner_.on_reply(index(), reply);
        }
        void on_no_reply(redis::NoReply cause) noexcept override
        {
            owner_.on_no_reply(cause);
        }

        // A reply that overtook an earlier command's, as in a Cluster.
        std::optional<redis::ReplyCopy> early;

    private:
        std::size_t index() const noexcept
        {
            return static_cast<std::size_t>(this - owner_.parts_.data());
        }

        Fetch& owner_;
    };

    class Script final : public redis::ScriptCall {
    public:
        explicit Script(Fetch& owner) noexcept : owner_(owner) {}
        using ScriptCall::start;

    private:
        void on_result(const redis::Reply& reply) noexcept override
        {
            owner_.on_reply(owner_.taken_, reply);
        }
        void on_no_result(redis::NoReply cause) noexcept override
        {
            owner_.on_no_reply(cause);
        }

        Fetch& owner_;
    };

    void on_reply(std::size_t index, const redis::Reply& reply) noexcept;
    void on_no_reply(redis::NoReply cause) noexcept;
    void take_next(const redis::Reply& reply);
    void end_if_complete() noexcept;

    redis::Link& link_;
    Script script_;
    std::array<Part, kMaxCommands> parts_{Part(*this), Part(*this)};
    std::optional<Failure> failure_;
    std::size_t sent_ = 0;
    std::size_t done_ = 0;   // replied to or lost
    std::size_t taken_ = 0;  // by take(): the first ones
    // A command may fail before send() returns; on_done() must wait until then.
    bool sending_ = false;
};

}  // namespace petstore::store
