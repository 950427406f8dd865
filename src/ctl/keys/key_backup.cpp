#include "key_backup.h"

#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "../../store/accounts/account_administration.h"
#include "../../store/keys/key_administration.h"
#include "../../store/plans/plan_administration.h"
#include "../exit.h"
#include "../pets/line_reader.h"
#include "../terminal/interruption.h"
#include "../terminal/output.h"
#include "../upgrade/conversion.h"
#include "backup_lines.h"
#include "key_options.h"

namespace petstore::ctl {

namespace {

Backup read_backup(const std::string& file, const Interruption& interruption)
{
    Backup backup;
    LineReader lines(file);
    std::string_view line;
    while (!interruption.requested() && lines.next(line, interruption)) {
        if (line.empty()) {
            continue;
        }
        try {
            backup.add(lines.number(), line);
        } catch (const BadLine& bad) {
            backup.bad_line = lines.number();
            backup.problem = bad.what();
            break;
        }
    }
    return backup;
}

// Those that Redis does not have yet, as with keys.
void restore_plans(Context& context, const store::KeyServers& servers,
                   const Backup& backup)
{
    if (backup.plans.empty()) {
        return;
    }
    const auto there = context.known_plans().stored();
    store::PlanAdministration plans(servers);
    for (const auto& [name, limits] : backup.plans) {
        if (there.plans.count(name) == 0) {
            context.await<store::Done>(
                [&, name = name, limits = limits](auto& waiter) {
                    plans.set(name, limits, waiter);
                });
        }
    }
}

// Those without keys: others come with the first of their keys.
void restore_accounts(Context& context, const store::KeyServers& servers,
                      const Backup& backup)
{
    std::set<std::string> present;
    for (const Backup::Key& each : backup.keys) {
        present.insert(each.key.record.account);
    }
    store::AccountAdministration accounts(servers);
    const auto there = context.await<store::AccountListing>(
        [&](auto& waiter) { accounts.list(false, waiter); });
    for (const api::AccountRecord& account : there.accounts) {
        present.insert(account.id);
    }
    for (const auto& [id, account] : backup.accounts) {
        if (present.count(id) == 0) {
            const api::AccountRecord& record = account;
            context.await<api::AccountRecord>(
                [&](auto& waiter) { accounts.create(record, waiter); });
        }
    }
}

}  // namespace

void export_keys(Context& context)
{
    const auto servers = context.keys(Access::read);
    const auto plans = context.known_plans();
    store::KeyAdministration keys(servers);
    auto listing = context.await<store::KeyListing>(
        [&](auto& waiter) { keys.list(waiter); });
    const api::UnixTime now = now_of(context, servers);
    store::AccountAdministration accounts(servers);
    const auto all = context.await<store::AccountListing>(
        [&](auto& waiter) { accounts.list(false, waiter); });
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
    if (!listing.unread.empty()) {
        flush_output();
        throw Unreachable(unread_text("key", listing.unread));
    }
    if (!all.unread.empty()) {
        flush_output();
        throw Unreachable(unread_text("account", all.unread));
    }
    if (!damaged.empty()) {
        flush_output();
        throw Failure("key " + damaged.front()
                      + " is damaged and not exported, "
                      + count_text(damaged.size(), "key") + " in total");
    }
    if (!all.damaged.empty()) {
        flush_output();
        throw Failure(
            "account " + all.damaged.front() + " is damaged and not exported, "
            + count_text(all.damaged.size(), "account") + " in total");
    }
}

void restore_keys(Context& context, const std::string& file)
{
    const auto servers = context.keys(Access::change);
    store::KeyAdministration keys(servers);
    const Interruption interruption;
    Backup backup = read_backup(file, interruption);
    backup.complete(now_of(context, servers));
    std::uint64_t restored = 0;
    std::uint64_t unchanged = 0;
    const auto stopped = [&](const std::string& reason,
                             Failure::Kind kind = Failure::Kind::failed) {
        return Failure(
            "restored " + count_text(restored, "key") + "; " + reason, kind);
    };
    restore_plans(context, servers, backup);
    restore_accounts(context, servers, backup);
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
            const bool added = context.await<bool>([&](auto& waiter) {
                keys.restore(std::move(key), account, waiter);
            });
            ++(added ? restored : unchanged);
        } catch (const Failure& failure) {
            throw stopped("line " + std::to_string(each.line) + ": "
                              + failure.what()
                              + "; run the command again once that is solved",
                          failure.kind());
        }
    }
    if (interruption.requested()) {
        throw stopped("interrupted, run the command again");
    }
    if (backup.bad_line != 0) {
        throw stopped("line " + std::to_string(backup.bad_line) + ": "
                      + backup.problem);
    }
    if (context.json()) {
        print_json({{"restored", restored}, {"unchanged", unchanged}});
    } else {
        say(count_text(restored, "key") + " restored, "
            + std::to_string(unchanged) + " existed already.");
    }
}

}  // namespace petstore::ctl
