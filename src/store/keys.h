#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "../api/digest.h"
#include "../api/key.h"
#include "../resp/command.h"
#include "../resp/reply.h"
#include "schema.h"

namespace petstore::store {

// The record of an API key, as the workers read it.
class Keys {
public:
    explicit Keys(const Schema& schema) : schema_(schema) {}

    std::string name(const api::Digest& digest) const;
    resp::Command get(const api::Digest& digest) const;  // HGETALL

    struct Found {
        enum class Result { found, absent, invalid } result;
        api::KeyRecord record;
    };
    // `invalid`: the hash is there but is no key record (its id or account is
    // missing, a number is none).
    static Found parse(const resp::Reply& reply);

private:
    const Schema& schema_;
};

}  // namespace petstore::store
