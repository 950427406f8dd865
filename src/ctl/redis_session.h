#pragma once

#include <string>
#include <vector>

#include "../resp/blocking_connection.h"
#include "../resp/command.h"
#include "../resp/reply.h"
#include "../store/endpoint.h"

namespace petstore::ctl {

// A connection to one Redis, logged in and with its database chosen. Throws
// Failure with a message for the operator.
class RedisSession {
public:
    explicit RedisSession(const store::Endpoint& endpoint);

    // Pipelining: as many send() as wanted, then as many receive().
    void send(const resp::Command& command) { connection_.append(command); }

    // The next reply, valid until the next call; errors too.
    const resp::Reply& receive_any();

    // The same, but an error is thrown.
    const resp::Reply& receive();

    const resp::Reply& call(const resp::Command& command)
    {
        send(command);
        return receive();
    }

    // Runs a script by its digest and, where Redis does not know it yet, by its
    // text. `make(bool eval)` builds the command.
    template <class Make>
    const resp::Reply& run_script(Make make)
    {
        send(make(false));
        const resp::Reply& reply = receive_any();
        if (reply.error_code() == "NOSCRIPT")
            return call(make(true));
        check(reply);
        return reply;
    }

    // The socket, for setsockopt() only.
    int descriptor() const noexcept { return connection_.descriptor(); }

    // MULTI, the commands, EXEC. The array of their replies.
    const resp::Reply& transaction(const std::vector<resp::Command>& commands);

    void check(const resp::Reply& reply) const;

private:
    std::string where_;
    resp::BlockingConnection connection_;
};

}  // namespace petstore::ctl
