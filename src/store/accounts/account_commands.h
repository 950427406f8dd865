#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "../../api/account.h"
#include "../../redis/command.h"
#include "../../redis/reply.h"
#include "../record_fields.h"
#include "../schema.h"

namespace petstore::store {

// Builds the commands for the record of an account, and parses their replies.
// Each names one Redis key. Sends nothing.
class AccountCommands {
public:
    explicit AccountCommands(const Schema& schema) : schema_(schema) {}

    std::string name(std::string_view account) const;
    redis::Command read(std::string_view account) const;  // HGETALL

    struct Found {
        RecordFound result;
        api::AccountRecord record;
    };
    // `invalid` also if the record is another account's, or lacks its creation.
    // The record then has the valid fields. A label is never invalid, so escape
    // it where it is shown.
    static Found parse(const redis::Reply& reply, std::string_view account);

    // For administration: optimistic, as KeyCommands::write(). A deleted
    // account's record ends with its usage, after 431 days. Reply: the record's
    // new epoch, or 0 if it was not written. Without `seen` the record must not
    // exist yet.
    redis::Command write(const api::AccountRecord& record,
                         std::optional<std::int64_t> seen) const;

private:
    const Schema& schema_;
};

}  // namespace petstore::store
