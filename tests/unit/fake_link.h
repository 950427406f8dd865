#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "redis/link.h"
#include "redis/scheduler.h"
#include "store_replies.h"

// Records commands; the test supplies the replies and ends the event-loop
// iteration.
class FakeLink final : public petstore::redis::Link,
                       public petstore::redis::Scheduler {
public:
    using Words = std::vector<std::string>;
    using Task = petstore::redis::EndOfIterationTask;

    void send(const petstore::redis::Command& command,
              petstore::redis::ReplyHandler& handler) noexcept override
    {
        if (full) {
            return handler.on_no_reply(petstore::redis::NoReply::not_sent);
        }
        sent.push_back(words(command));
        commands.push_back(sent.back());
        handlers.push_back(&handler);
    }

    std::uint64_t
    connection_generation(std::string_view /*key*/) const noexcept override
    {
        return generation;
    }

    void schedule(Task& task, Stage stage) noexcept override
    {
        if (!defers) {
            return task.run();
        }
        (stage == Stage::batch ? batches : writes).push_back(&task);
    }

    void end_iteration()
    {
        while (!batches.empty() || !writes.empty()) {
            auto& stage = batches.empty() ? writes : batches;
            for (auto* task : std::exchange(stage, {})) {
                task->run();
            }
        }
    }

    // Replies to the oldest open command.
    void reply(std::string_view text)
    {
        auto* handler = take();
        Replies replies;
        handler->on_reply(replies(text));
    }

    // Fails the oldest open command.
    void lose(petstore::redis::NoReply cause) { take()->on_no_reply(cause); }

    bool full = false;
    bool defers = true;  // false: tasks run at once
    std::uint64_t generation = 1;
    std::vector<Words> sent;
    std::deque<Words> commands;  // without a reply, and their handlers
    std::deque<petstore::redis::ReplyHandler*> handlers;
    std::vector<Task*> batches;
    std::vector<Task*> writes;

private:
    petstore::redis::ReplyHandler* take()
    {
        auto* handler = handlers.front();
        handlers.pop_front();
        commands.pop_front();
        return handler;
    }
};
