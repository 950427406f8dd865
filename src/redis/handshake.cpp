#include "handshake.h"

namespace petstore::redis {

void Handshake::begin(const Endpoint& endpoint,
                      const HandshakeCommands& commands)
{
    bytes_.clear();
    sent_ = 0;
    replies_ = 0;
    const auto add = [this](const Command& command) {
        command.append_to(bytes_);
        ++replies_;
    };

    if (!endpoint.user.empty()) {
        add(Command("AUTH").arg(endpoint.user).arg(endpoint.password));
    } else if (!endpoint.password.empty()) {
        add(Command("AUTH").arg(endpoint.password));
    }
    if (endpoint.database != 0) {
        add(Command("SELECT").arg(endpoint.database));
    }
    add(Command("PING"));
    asks_identity_ = commands.identity != nullptr;
    if (asks_identity_) {
        add(*commands.identity);
    }
    add(*commands.last);
    if (commands.subscription != nullptr) {
        commands.subscription->append_to(bytes_);
    }
}

Handshake::Step Handshake::take(const Reply& reply) noexcept
{
    if (replies_ > 1) {
        --replies_;
        if (asks_identity_ && replies_ == 1) {
            return Step::identity;
        }
        return reply.is_error() ? Step::refused : Step::accepted;
    }
    return unsent().empty() ? Step::last : Step::unexpected;
}

}  // namespace petstore::redis
