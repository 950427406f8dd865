#include "record_upgrade.h"

#include <algorithm>
#include <utility>

#include "../../redis/error_table.h"
#include "../../store/accounts/account_commands.h"
#include "../exit.h"
#include "../terminal/interruption.h"
#include "conversion.h"

namespace petstore::ctl {

namespace {

constexpr std::size_t kAtOnce = 256;

}  // namespace

void RecordUpgrade::run(const std::vector<std::string>& names)
{
    read_keys(names);
    const api::UnixTime now = time_of(redis_);
    Progress progress(accounts_.size(), "account");
    std::uint64_t done = 0;
    Batch batch;
    for (auto& [id, account] : accounts_) {
        account.record.id = id;
        batch.push_back(&account);
        ++done;
        if (batch.size() == kAtOnce || done == accounts_.size()) {
            convert(batch, now);
            batch.clear();
            progress.update(done, done);
            if (Interruption::requested()) {
                throw Failure("interrupted; run the command again");
            }
        }
    }
}

void RecordUpgrade::read_keys(const std::vector<std::string>& names)
{
    for (std::size_t first = 0; first < names.size(); first += kAtOnce) {
        const std::size_t last = std::min(first + kAtOnce, names.size());
        for (std::size_t i = first; i < last; ++i) {
            redis_.send(redis::Command("HGETALL").key(names[i]));
        }
        for (std::size_t i = first; i < last; ++i) {
            take_key(names[i], redis_.receive_any());
        }
    }
}

void RecordUpgrade::take_key(const std::string& name, const redis::Reply& reply)
{
    using store::RecordFound;
    if (reply.is_error() && !redis::is_wrong_type(reply)) {
        redis_.check(reply);
    }
    store::StoredKey key;
    const RecordFound found = store::KeyCommands::parse(reply, key);
    if (found == RecordFound::absent) {
        return;  // unfinished, and has expired
    }
    const bool valid = found == RecordFound::found;
    if (valid) {
        ++keys_;
    } else {
        damaged_.push_back(name);
    }
    if (api::is_id(key.record.account)) {
        const bool names_plan = !key.record.plan.empty();
        name_plan(key.record);
        std::string account = key.record.account;
        accounts_[std::move(account)].keys.push_back(
            {name, std::move(key.record), valid, names_plan});
    }
}

void RecordUpgrade::convert(const Batch& accounts, api::UnixTime now)
{
    read_accounts(accounts, now);
    name_plans(accounts);
    write_indexes(accounts);
    write_accounts(accounts);
    remove_plans(accounts);
}

// After an interruption, keys that follow their account may have lost their
// plans. So a record that exists counts.
void RecordUpgrade::read_accounts(const Batch& accounts, api::UnixTime now)
{
    for (const Account* const account : accounts) {
        redis_.send(store::AccountCommands(schema_).read(account->record.id));
    }
    for (Account* const account : accounts) {
        const std::string id = account->record.id;
        auto found = store::AccountCommands::parse(redis_.receive(), id);
        account->exists = found.result != store::RecordFound::absent;
        if (account->exists) {
            account->record = std::move(found.record);
            account->record.id = id;
            continue;
        }
        std::vector<const api::KeyRecord*> valid;
        std::vector<const api::KeyRecord*> all;
        for (const Key& key : account->keys) {
            all.push_back(&key.record);
            if (key.valid) {
                valid.push_back(&key.record);
            }
        }
        account->record = account_of(valid.empty() ? all : valid, now);
    }
}

// Of keys that will keep theirs.
void RecordUpgrade::name_plans(const Batch& accounts)
{
    for (const Account* const account : accounts) {
        for (const Key& key : account->keys) {
            if (!account->exists && key.valid && !key.names_plan
                && !follows(key.record, account->record)) {
                redis::Command command("HSET");
                command.key(key.name).arg("plan").arg(key.record.plan);
                send_batched(redis_, command, kAtOnce);
            }
        }
    }
    redis_.receive_all();
}

void RecordUpgrade::write_indexes(const Batch& accounts)
{
    redis::Command index("HSET");
    index.key(schema_.account_index());
    bool any = false;
    for (const Account* const account : accounts) {
        redis::Command ids("SADD");
        ids.key(schema_.account_keys(account->record.id));
        bool has_ids = false;
        for (const Key& key : account->keys) {
            if (!key.record.id.empty()) {
                ids.arg(key.record.id);
                has_ids = true;
            }
        }
        if (has_ids) {
            redis_.send(ids);
        }
        if (!account->exists) {
            index.arg(account->record.id).arg(account->record.created);
            any = true;
        }
    }
    if (any) {
        redis_.send(index);
    }
    redis_.receive_all();
}

void RecordUpgrade::write_accounts(const Batch& accounts)
{
    for (const Account* const account : accounts) {
        if (account->exists) {
            continue;
        }
        auto write = store::AccountCommands(schema_).write(account->record,
                                                           std::nullopt);
        write.use_script_text();
        redis_.send(write);
    }
    redis_.receive_all();
}

void RecordUpgrade::remove_plans(const Batch& accounts)
{
    for (const Account* const account : accounts) {
        for (const Key& key : account->keys) {
            if (key.valid && follows(key.record, account->record)) {
                redis::Command command("HDEL");
                command.key(key.name).arg("plan");
                command.arg("per_minute").arg("per_day");
                send_batched(redis_, command, kAtOnce);
            }
        }
    }
    redis_.receive_all();
}

}  // namespace petstore::ctl
