#include "key_commands.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "../../store/accounts/account_administration.h"
#include "../../store/accounts/account_index_tasks.h"
#include "../../store/keys/key_administration.h"
#include "../../store/keys/key_tasks.h"
#include "../../store/plans/plan_administration.h"
#include "../exit.h"
#include "../pets/line_reader.h"
#include "../terminal/interruption.h"
#include "../terminal/output.h"
#include "../upgrade/conversion.h"
#include "backup_lines.h"

namespace petstore::ctl {

namespace {

Backup read_backup(const std::string& file, const Interruption& interruption)
{
    Backup backup;
    LineReader lines(file);
    std::string_view line;
    try {
        while (!interruption.requested() && lines.next(line, interruption)) {
            if (!line.empty()) {
                backup.add(lines.number(), line);
            }
        }
    } catch (const BadLine& bad) {
        backup.problem =
            "line " + std::to_string(lines.number()) + ": " + bad.what();
    } catch (const LongLine& bad) {
        backup.problem = bad.what();
    }
    return backup;
}

// Whether a failure concerns Redis, rather than one key or account.
bool stops(const Failure& failure)
{
    return failure.kind() == Failure::Kind::redis_unavailable
           || failure.kind() == Failure::Kind::not_in_effect;
}

// Those that Redis does not have yet, as with keys. Returns how many are
// refused, and warns of each. Ends early if interrupted.
std::uint64_t restore_plans(Context& context, const store::KeyServers& servers,
                            const Backup& backup,
                            const Interruption& interruption)
{
    std::uint64_t refused = 0;
    if (backup.plans.empty()) {
        return refused;
    }
    const auto there = context.known_plans().stored();
    for (const auto& [name, limits] : backup.plans) {
        if (interruption.requested()) {
            break;
        }
        if (there.plans.count(name) != 0) {
            continue;
        }
        try {
            context.await(store::set_plan(servers, name, limits));
        } catch (const Failure& failure) {
            if (stops(failure)) {
                throw;
            }
            warn("plan " + name + ": " + failure.what());
            ++refused;
        }
    }
    return refused;
}

// Those without keys: others come with the first of their keys. Returns how
// many are refused, and warns of each. Ends early if interrupted.
std::uint64_t restore_accounts(Context& context,
                               const store::KeyServers& servers,
                               const Backup& backup,
                               const Interruption& interruption)
{
    std::set<std::string> present;
    for (const Backup::Key& each : backup.keys) {
        present.insert(each.key.record.account);
    }
    const auto there = context.await(store::list_accounts(servers, false));
    for (const api::AccountRecord& account : there.accounts) {
        present.insert(account.id);
    }
    std::uint64_t refused = 0;
    for (const auto& [id, account] : backup.accounts) {
        if (interruption.requested()) {
            break;
        }
        if (present.count(id) != 0) {
            continue;
        }
        try {
            context.await(store::create_account(servers, account));
        } catch (const Failure& failure) {
            if (stops(failure)) {
                throw;
            }
            warn("account " + id + ": " + failure.what());
            ++refused;
        }
    }
    return refused;
}

// What a backup lacks, in one message.
class Gaps {
public:
    void add(const std::string& gap)
    {
        text_ += (text_.empty() ? "" : "; ") + gap;
    }

    // The first of several, and their number.
    void add(const std::string& noun, const std::vector<std::string>& names,
             const char* problem)
    {
        if (!names.empty()) {
            add(noun + " " + names.front() + problem + ", "
                + count_text(names.size(), noun) + " in total");
        }
    }

    void add_unread(const std::string& noun,
                    const std::vector<std::string>& ids)
    {
        if (!ids.empty()) {
            add(unread_text(noun, ids));
            kind_ = Failure::Kind::redis_unavailable;
        }
    }

    // Throws Failure if there are any, once all else is printed.
    void fail_if_any() const
    {
        if (!text_.empty()) {
            flush_output();
            throw Failure(text_, kind_);
        }
    }

private:
    std::string text_;
    Failure::Kind kind_ = Failure::Kind::failed;
};

// Leaves out what is no gap: a key is deleted before its entry in the index,
// and an account has an entry before it has a record. Waits for such commands.
void forget_unfinished(Context& context, const store::KeyServers& servers,
                       std::vector<std::string>& keys,
                       std::vector<std::string>& accounts)
{
    constexpr std::chrono::seconds kCommandTime(1);
    if (keys.empty() && accounts.empty()) {
        return;
    }
    std::this_thread::sleep_for(kCommandTime);
    const auto is_deleted = [&](const std::string& id) {
        return !context.await(store::read_index(servers, id)).has_value();
    };
    keys.erase(std::remove_if(keys.begin(), keys.end(), is_deleted),
               keys.end());
    const auto is_complete = [&](const std::string& id) {
        return !context.await(store::lacks_record(servers, id));
    };
    accounts.erase(
        std::remove_if(accounts.begin(), accounts.end(), is_complete),
        accounts.end());
}

}  // namespace

void export_keys(Context& context)
{
    constexpr char kNotExported[] = " is damaged and not exported";
    constexpr char kNoRecord[] = " is listed but has no record";
    const auto servers = context.keys(Access::read);
    const auto plans = context.known_plans();
    auto listing = context.await(store::list_keys(servers));
    const api::UnixTime now = context.now(servers);
    auto all = context.await(store::list_accounts(servers, false));
    const auto missing = add_unlisted(context, servers, listing, all);
    for (const auto& [name, limits] : plans.stored().plans) {
        print_data(backup_line(name, limits));
    }
    for (const api::AccountRecord& account : all.accounts) {
        print_data(backup_line(account));
    }
    std::vector<std::string> damaged = listing.damaged;
    damaged.insert(damaged.end(), listing.damaged_entries.begin(),
                   listing.damaged_entries.end());
    for (const ShownKey& shown : shown_keys(listing, all)) {
        if (!shown.key.unfinished) {
            print_data(backup_line(shown, plans.table(), now));
        }
    }
    forget_unfinished(context, servers, listing.missing, all.missing);
    Gaps gaps;
    gaps.add_unread("key", listing.unread);
    gaps.add_unread("account", all.unread);
    gaps.add("key", damaged, kNotExported);
    gaps.add("key", listing.missing, kNoRecord);
    gaps.add("account", all.damaged, kNotExported);
    gaps.add("account", all.missing, kNoRecord);
    gaps.add("account", missing, ", which has keys, does not exist");
    if (plans.stored().all_damaged) {
        gaps.add("the plans in Redis are damaged and not exported");
    }
    gaps.add("plan", plans.stored().damaged, kNotExported);
    gaps.fail_if_any();
}

void restore_keys(Context& context, const KeyRestore& options)
{
    constexpr char kInterrupted[] = "interrupted, run the command again";
    const Interruption interruption;
    Backup backup = read_backup(options.file, interruption);
    std::uint64_t restored = 0;
    std::uint64_t unchanged = 0;
    const auto stopped = [&](const std::string& reason,
                             Failure::Kind kind = Failure::Kind::failed) {
        return Failure(
            "restored " + count_text(restored, "key") + "; " + reason, kind);
    };
    if (interruption.requested()) {
        throw stopped(kInterrupted);
    }
    // Only now: until the end of the input, the store may have been moved.
    const auto servers = context.keys(Access::change);
    backup.complete(context.now(servers));
    std::uint64_t refused =
        restore_plans(context, servers, backup, interruption);
    refused += restore_accounts(context, servers, backup, interruption);
    for (const Backup::Key& each : backup.keys) {
        if (interruption.requested()) {
            break;
        }
        try {
            const auto& account = backup.accounts.at(each.key.record.account);
            auto key = each.key;
            if (!each.has_own && follows(key.record, account)) {
                key.record.own_plan() = {};
            }
            const bool added = context.await(
                store::restore_key(servers, std::move(key), account));
            ++(added ? restored : unchanged);
        } catch (const Failure& failure) {
            const bool is_of_account =
                failure.kind() == Failure::Kind::external_id_taken;
            const std::string problem =
                "line " + std::to_string(each.line) + ": "
                + (is_of_account ? "account " + each.key.record.account + ": "
                                 : "")
                + failure.what();
            if (stops(failure)) {
                throw stopped(
                    problem + "; run the command again once that is solved",
                    failure.kind());
            }
            warn(problem);
            ++refused;
        }
    }
    if (interruption.requested()) {
        throw stopped(kInterrupted);
    }
    try {
        // Plans, and accounts without keys, touch nothing that a move marks.
        context.limits_place().check(Access::examine);
    } catch (const Failure& failure) {
        throw stopped(failure.what(), failure.kind());
    }
    if (!backup.problem.empty()) {
        throw stopped(backup.problem);
    }
    if (refused != 0) {
        throw stopped(
            count_text(refused, "problem")
            + " reported above; run the command again once that is solved");
    }
    report(context.json(), {{"restored", restored}, {"unchanged", unchanged}},
           count_text(restored, "key") + " restored, "
               + std::to_string(unchanged) + " existed already.");
}

}  // namespace petstore::ctl
