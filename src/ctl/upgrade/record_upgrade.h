#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "../../api/account.h"
#include "../../api/date.h"
#include "../../store/keys/key_commands.h"
#include "../../store/schema.h"
#include "../redis/redis_session.h"
#include "../terminal/progress.h"

namespace petstore::ctl {

// Gives records to the accounts of keys of format 1. Until an account has one,
// all of its keys have their plans and numbers. So whatever interrupts this,
// the account's record and those of its keys then have all that there was.
// Throws Failure.
class RecordUpgrade {
public:
    RecordUpgrade(RedisSession& redis, const store::Schema& schema)
        : redis_(redis), schema_(schema)
    {}

    // `names`: of the records of all keys.
    void run(const std::vector<std::string>& names);

    std::size_t keys() const noexcept { return keys_; }
    std::size_t accounts() const noexcept { return accounts_.size(); }

    // The names of damaged records. They are left alone; where they name an
    // account, it gets its record.
    const std::vector<std::string>& damaged() const noexcept
    {
        return damaged_;
    }

private:
    struct Key {
        std::string name;  // of the Redis key
        api::KeyRecord record;
        bool valid;
        bool names_plan;
    };
    struct Account {
        std::vector<Key> keys;
        api::AccountRecord record;
        bool exists = false;
    };
    using Accounts = std::map<std::string, Account>;
    using Batch = std::vector<Account*>;

    void read_keys(const std::vector<std::string>& names);
    void take_key(const std::string& name, const redis::Reply& reply);
    void convert(const Batch& accounts, api::UnixTime now);
    void read_accounts(const Batch& accounts, api::UnixTime now);
    void name_plans(const Batch& accounts);
    void write_indexes(const Batch& accounts);
    void write_accounts(const Batch& accounts);
    void remove_plans(const Batch& accounts);

    RedisSession& redis_;
    const store::Schema& schema_;
    Accounts accounts_;
    std::size_t keys_ = 0;
    std::vector<std::string> damaged_;
};

}  // namespace petstore::ctl
