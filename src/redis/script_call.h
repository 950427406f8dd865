#pragma once

#include <optional>
#include <utility>

#include "link.h"

namespace petstore::redis {

// A call of a script: sends its digest; after NOSCRIPT its text, or the digest
// once more, behind another call's text (see Pipeline::add()). Derive from it
// and call start(); the command is kept until the call ends.
class ScriptCall : private ReplyHandler {
protected:
    ~ScriptCall() = default;

    void start(Link& link, Command command) noexcept
    {
        link_ = &link;
        command_.emplace(std::move(command));
        link.send(*command_, *this);
    }

    // Exactly one of these is called, once per start(), possibly before it
    // returns.
    virtual void on_result(const Reply& reply) noexcept = 0;
    virtual void on_no_result(NoReply cause) noexcept = 0;

private:
    void on_reply(const Reply& reply) noexcept final
    {
        if (command_->fall_back_to_text(reply)) {
            link_->send(*command_, *this);
            return;
        }
        command_.reset();
        on_result(reply);
    }

    void on_no_reply(NoReply cause) noexcept final
    {
        command_.reset();
        on_no_result(cause);
    }

    Link* link_ = nullptr;
    std::optional<Command> command_;
};

}  // namespace petstore::redis
