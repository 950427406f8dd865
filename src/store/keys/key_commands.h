#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../../api/digest.h"
#include "../../api/key.h"
#include "../../redis/command.h"
#include "../../redis/reply.h"
#include "../record_fields.h"
#include "../schema.h"

namespace petstore::store {

// The replacement key of an interrupted rotation. A record has one or more, as
// "<id>:<digest in hex>", separated by spaces.
struct Successor {
    std::string id;
    api::Digest digest;
};
// nullopt if one is invalid.
std::optional<std::vector<Successor>> parse_successors(std::string_view text);

// Reads the record of an API key for the workers.
class KeyCommands {
public:
    explicit KeyCommands(const Schema& schema) : schema_(schema) {}

    std::string name(const api::Digest& digest) const;
    redis::Command get(const api::Digest& digest) const;  // HGETALL

    struct Found {
        RecordFound result;
        api::KeyRecord record;
    };
    // `invalid` also if id or account is missing. The record then has the valid
    // fields, so that its account is known. A label is never invalid, so escape
    // it where it is shown.
    static Found parse(const redis::Reply& reply);

private:
    const Schema& schema_;
};

}  // namespace petstore::store
