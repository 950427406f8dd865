#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace petstore::store {

// A request to the admin API with an Idempotency-Key, as it is kept for a day.
// An attempt writes it before its work, with the ids that the work will use;
// marks it done before it answers; and removes it if it changes nothing.
struct AdminClaim {
    std::string request;  // digest of method, path and body, in hex

    // Until it is done. A repetition may take the work over, as another
    // attempt.
    std::string attempt;
    struct Made {
        std::string id;
        std::string account;  // that it makes for a key
    };
    Made made;
    // What attempts before may have made, under other ids.
    std::vector<Made> earlier;

    // Once it is done: the response. The location is relative to the base path.
    int status = 0;  // 0: not done
    std::string location;
    std::string body;
};

std::string claim_text(const AdminClaim& claim);
std::optional<AdminClaim> parse_claim(std::string_view text);

}  // namespace petstore::store
