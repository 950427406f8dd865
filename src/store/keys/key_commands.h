#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "../../api/digest.h"
#include "../../api/key.h"
#include "../../redis/command.h"
#include "../../redis/reply.h"
#include "../schema.h"

namespace petstore::store {

// Reads the record of an API key for the workers.
class KeyCommands {
public:
    explicit KeyCommands(const Schema& schema) : schema_(schema) {}

    std::string name(const api::Digest& digest) const;
    redis::Command get(const api::Digest& digest) const;  // HGETALL

    struct Found {
        enum class Result { found, absent, invalid } result;
        api::KeyRecord record;
    };
    // `invalid`: the value exists but is not a key record: id or account is
    // missing, or a field has a text that no version of petstorectl wrote. The
    // record then has the valid fields, so that its account is known. A label
    // is never invalid, so escape it where it is shown.
    static Found parse(const redis::Reply& reply);

private:
    const Schema& schema_;
};

}  // namespace petstore::store
