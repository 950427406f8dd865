#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "../../api/account.h"
#include "../../api/plan.h"
#include "../../store/keys/key_commands.h"
#include "key_output.h"

namespace petstore::ctl {

// The lines of `key export`. Plans and accounts are objects of one member, so
// that they are not taken for keys.
std::string backup_line(std::string_view plan, const api::Limits& limits);
std::string backup_line(const api::AccountRecord& account);
std::string backup_line(const ShownKey& shown, const api::PlanTable& plans,
                        api::UnixTime now);

// Why a line is none of these. No message repeats a value, which may be
// misplaced.
class BadLine : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// What a file of such lines has.
struct Backup {
    struct Key {
        std::uint64_t line;
        store::StoredKey key;
        bool has_own;  // else of format 1, in which accounts had no records
    };

    api::NamedLimits plans;  // those in Redis
    std::map<std::string, api::AccountRecord> accounts;
    std::vector<Key> keys;
    std::string problem;  // of the line where it ends; empty if it is valid

    // Throws BadLine.
    void add(std::uint64_t number, std::string_view line);

    // Gives keys of format 1 their accounts.
    void complete(api::UnixTime now);
};

}  // namespace petstore::ctl
