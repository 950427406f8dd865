#pragma once

#include <deque>
#include <functional>
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
        if (!plans.empty() && reads_plans(words(command))) {
            Replies replies;
            return handler.on_reply(replies(plans));
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
    std::uint64_t reorderings(std::string_view /*key*/) const noexcept override
    {
        return overtaken;
    }
    bool is_cluster() const noexcept override { return cluster; }

    std::size_t group_of(std::string_view key) const noexcept override
    {
        return group ? group(key) : 0;
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

    // Replies to the oldest open command, or to a later one.
    void reply(std::string_view text, std::size_t index = 0)
    {
        auto* handler = take(index);
        Replies replies;
        handler->on_reply(replies(text));
    }

    // Fails the oldest open command.
    void lose(petstore::redis::NoReply cause) { take()->on_no_reply(cause); }

    bool full = false;
    // The reply to reads of the plans, given at once and not recorded; empty:
    // they are recorded as others are.
    std::string plans = array({bulk("0"), array({})});
    bool defers = true;  // false: tasks run at once
    std::uint64_t generation = 1;
    std::uint64_t overtaken = 0;
    bool cluster = false;  // when a Storage is made
    std::function<std::size_t(std::string_view)> group;
    std::vector<Words> sent;
    std::deque<Words> commands;  // without a reply, and their handlers
    std::deque<petstore::redis::ReplyHandler*> handlers;
    std::vector<Task*> batches;
    std::vector<Task*> writes;

private:
    static bool reads_plans(const Words& command)
    {
        return command[0] == "HSCAN"
               && command[1].find(":plans") != std::string::npos;
    }

    petstore::redis::ReplyHandler* take(std::size_t index = 0)
    {
        const auto place = static_cast<std::ptrdiff_t>(index);
        auto* handler = handlers.at(index);
        handlers.erase(handlers.begin() + place);
        commands.erase(commands.begin() + place);
        return handler;
    }
};
