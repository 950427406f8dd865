#include "replication.h"

#include <algorithm>

#include "error_table.h"
#include "reply_fields.h"

namespace petstore::redis {

namespace {

// Whether Redis refuses INFO, rather than failing temporarily.
bool forbids_info(const Reply& error) noexcept
{
    const std::string_view code = error_row(error.text()).code;
    return code.empty() || code == "NOPERM" || code == "ERR";
}

}  // namespace

Command info_replication()
{
    Command command("INFO");
    command.arg("replication");
    return command;
}

Replication parse_replication(const Reply& reply) noexcept
{
    using Role = Replication::Role;
    if (reply.is_error()) {
        return {forbids_info(reply) ? Role::unknown : Role::unanswered, {}};
    }
    const std::string_view role = info_field(reply.text(), "role");
    if (role == "slave" || role == "replica") {
        return {Role::replica, {}};
    }
    const std::string_view id = info_field(reply.text(), "master_replid");
    if (role != "master" || id.size() != Replication::kIdSize) {
        return {};
    }
    return {Role::primary, id};
}

// The age counts from the request. While a later one is unanswered, that of the
// reported id is more than kInterval.
std::string_view RoleWatch::id(std::uint64_t now) const noexcept
{
    const bool is_old =
        known_ && (unanswered_ > 0 || now - asked_at_ >= kInterval);
    return is_old ? Replication::kUnknownId : text(id_);
}

RoleWatch::Finding RoleWatch::take(const Reply& reply,
                                   std::uint64_t now) noexcept
{
    --unanswered_;
    const Replication replication = parse_replication(reply);
    switch (replication.role) {
    case Replication::Role::primary:
        break;
    case Replication::Role::replica:
        id_.fill('?');  // of a primary that it was, or may be next
        return Finding::replica;
    case Replication::Role::unknown:
        known_ = false;
        id_.fill('-');
        return Finding::unknown;
    case Replication::Role::unanswered:
        asked_at_ = now - kInterval;  // due again
        return Finding::unanswered;
    }
    if (replication.id == text(id_)) {
        return Finding::primary;
    }
    std::copy_n(replication.id.data(), id_.size(), id_.data());
    return Finding::other_history;
}

}  // namespace petstore::redis
