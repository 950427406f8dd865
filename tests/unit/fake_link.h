#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/link.h"
#include "store_replies.h"

// A link whose other end is the test.
class FakeLink final : public petstore::store::TurnLink {
public:
    using Words = std::vector<std::string>;

    void send(const petstore::resp::Command& command,
              petstore::store::ReplyHandler& handler) noexcept override
    {
        if (full) {
            return handler.on_loss(petstore::store::Loss::not_sent);
        }
        sent.push_back(words(command));
        commands.push_back(sent.back());
        handlers.push_back(&handler);
    }

    void defer(petstore::store::Deferred& deferred) noexcept override
    {
        if (defers) {
            waiting.push_back(&deferred);
        } else {
            deferred.emit();
        }
    }

    std::uint64_t session() const noexcept override { return session_number; }

    void end_turn()
    {
        for (auto* deferred : std::exchange(waiting, {})) {
            deferred->emit();
        }
    }

    // To the oldest command without one.
    void reply(std::string_view text)
    {
        auto* handler = handlers.front();
        handlers.pop_front();
        commands.pop_front();
        Replies replies;
        handler->on_reply(replies(text));
    }

    bool full = false;
    bool defers = true;
    std::uint64_t session_number = 1;
    std::vector<Words> sent;
    std::deque<Words> commands;  // without a reply, and who waits for it
    std::deque<petstore::store::ReplyHandler*> handlers;
    std::vector<petstore::store::Deferred*> waiting;
};
