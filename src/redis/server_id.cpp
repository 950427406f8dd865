#include "server_id.h"

#include <algorithm>

#include "reply_fields.h"

namespace petstore::redis {

ServerId::ServerId(std::string_view text) noexcept
{
    if (text.size() <= kMaxSize
        && std::all_of(text.begin(), text.end(),
                       [](char c) { return c > ' ' && c < '\x7f'; })) {
        std::copy(text.begin(), text.end(), text_.begin());
        size_ = text.size();
    }
}

Command node_id_request()
{
    Command command("CLUSTER");
    command.arg("MYID");
    return command;
}

ServerId node_id(const Reply& reply) noexcept
{
    return reply.is(Type::string) ? ServerId(reply.text()) : ServerId();
}

Command run_id_request()
{
    Command command("INFO");
    command.arg("server");
    return command;
}

ServerId run_id(const Reply& reply) noexcept
{
    return reply.is_error() ? ServerId()
                            : ServerId(info_field(reply.text(), "run_id"));
}

}  // namespace petstore::redis
