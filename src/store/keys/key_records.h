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
class KeyRecords {
public:
    explicit KeyRecords(const Schema& schema) : schema_(schema) {}

    std::string name(const api::Digest& digest) const;
    redis::Command get(const api::Digest& digest) const;  // HGETALL

    struct Found {
        enum class Result { found, absent, invalid } result;
        api::KeyRecord record;
    };
    // `invalid`: the hash exists but is not a key record (id or account
    // missing, or an invalid number).
    static Found parse(const redis::Reply& reply);

private:
    const Schema& schema_;
};

}  // namespace petstore::store
