#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "account.h"
#include "digest.h"
#include "error.h"
#include "key.h"
#include "plan.h"
#include "router.h"

namespace petstore::api {

// What the body of an admin request sets. Absent: it stays, or has its default.
// A text or number that is present and empty removes it.
struct AdminBody {
    using Text = std::optional<std::string>;
    using Number = std::optional<std::optional<std::int64_t>>;

    // Of an account or a key.
    Text label;
    Text plan;
    Number per_minute;
    Number per_day;
    Number per_month;
    std::optional<bool> disabled;

    Text external_id;  // of an account; of a new key: that of its account
    Text account;      // of a new key: the account's id
    Text scopes;       // of a key, separated by commas
    Text expires;      // of a key, for parse_moment()
    std::optional<Digest> sha256;    // of a key that its owner has
    std::int64_t grace_seconds = 0;  // of a rotation

    // Whether it names the plan or a number.
    bool names_limits() const noexcept
    {
        return plan || per_minute || per_day || per_month;
    }

    void apply(AccountRecord& account) const;
    // `now`: for a duration. invalid_field if `expires` is no moment.
    std::optional<Error> apply(KeyRecord& key, UnixTime now) const;
    // Those of a plan. Only if the body is that of putPlan.
    Limits limits() const;

private:
    void apply_own(OwnPlan& own) const;
};

// Parses the body of an operation that has one. Errors, besides those of
// parse_json_object(): read_only_field, missing_field, invalid_field; messages
// name the field. A body may be missing for unbanAccount, resetAccount and
// rotateKey. Throws std::bad_alloc.
std::variant<AdminBody, Error> parse_admin_body(Operation operation,
                                                std::string_view body);

// Whether an operation has a body.
bool has_admin_body(Operation operation) noexcept;

// nullptr if an account or key may have this label, else the problem, worded to
// follow its name.
const char* label_problem(std::string_view label) noexcept;

}  // namespace petstore::api
