#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
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
#include "../terminal/progress.h"
#include "../upgrade/conversion.h"
#include "backup_lines.h"
#include "key_commands.h"

namespace petstore::ctl {

namespace {

Backup read_backup(const std::string& file, const Interruption& interruption)
{
    Backup backup;
    LineReader lines(file);
    std::string_view line;
    try {
        while (!interruption.requested() && lines.next(line, interruption)) {
            if (!is_blank(line)) {
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

// Restores what Redis does not have yet. Ends early if interrupted, and once
// Redis refuses everything.
class Restoration {
public:
    Restoration(Context& context, const store::StoreLinks& links,
                const Backup& backup)
        : context_(context), links_(links), backup_(backup),
          progress_(backup.accounts.size() + backup.keys.size(), "record")
    {
        group();
    }

    // Throws Failure only for what is not about one plan, account or key.
    void run()
    {
        restore_plans();
        if (!ends()) {
            context_.await(restore_accounts());
        }
        progress_.clear();
        std::stable_sort(
            problems_.begin(), problems_.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
        for (const auto& [line, problem] : problems_) {
            warn(problem);
        }
    }

    std::uint64_t restored() const noexcept { return restored_; }
    std::uint64_t unchanged() const noexcept { return unchanged_; }
    std::size_t refused() const noexcept { return problems_.size(); }

    // Why Redis refuses everything.
    const std::optional<Failure>& stopped_by() const noexcept { return stop_; }

private:
    struct Account {
        const api::AccountRecord* record = nullptr;  // if the file has it
        std::vector<const Backup::Key*> keys;
        bool has_repeated = false;  // keys in repeated_
    };

    // Many accounts are restored at once, which hides the time of round trips,
    // but the keys of one in the order of the file. So are keys that have the
    // id or the SHA-256 of an earlier line, after all others: Redis refuses
    // them if that one is there.
    void group()
    {
        std::map<std::string_view, Account> accounts;
        for (const auto& [id, record] : backup_.accounts) {
            accounts[id].record = &record;
        }
        std::set<std::string_view> ids;
        std::set<api::Digest> digests;
        for (const Backup::Key& each : backup_.keys) {
            const std::string& id = each.key.record.account;
            const bool is_new = ids.insert(each.key.record.id).second;
            if (digests.insert(each.key.digest).second && is_new) {
                accounts[id].keys.push_back(&each);
                continue;
            }
            accounts[id].has_repeated = true;
            repeated_.push_back({accounts[id].record, {&each}});
        }
        for (auto& [id, account] : accounts) {
            accounts_.push_back(std::move(account));
        }
    }

    bool ends() const { return stop_ || Interruption::requested(); }

    void restore_plans()
    {
        if (backup_.plans.empty()) {
            return;
        }
        const auto there = context_.known_plans().stored();
        for (const auto& [name, limits] : backup_.plans) {
            if (ends()) {
                return;
            }
            if (there.plans.count(name) != 0) {
                continue;
            }
            try {
                context_.await(store::set_plan(links_, name, limits));
            } catch (const Failure& failure) {
                take(failure, 0, "plan " + name + ": ");
            }
        }
    }

    store::Task<> restore_accounts()
    {
        constexpr std::size_t kAtOnce = 64;
        const auto one = [this](const Account& account) {
            return restore(account);
        };
        co_await store::ForEach(accounts_, kAtOnce, one);
        const auto again = [this](const Account& each) {
            return restore(*each.keys.front(), each.record);
        };
        co_await store::ForEach(repeated_, 1, again);
    }

    store::Task<> restore(const Account& account)
    {
        if (account.keys.empty() && !account.has_repeated && !ends()) {
            co_await restore_alone(*account.record);
        }
        for (const Backup::Key* const each : account.keys) {
            co_await restore(*each, account.record);
        }
        if (account.record != nullptr) {
            count();
        }
    }

    // An account without keys: others come with their keys.
    store::Task<> restore_alone(const api::AccountRecord& account)
    {
        try {
            co_await store::restore_account(links_, account);
        } catch (const store::Failed& failed) {
            take(failed, 0, "account " + account.id + ": ");
        }
    }

    // `in_file`: its account's record, nullptr if only Redis may have that.
    store::Task<> restore(const Backup::Key& each,
                          const api::AccountRecord* in_file)
    {
        if (ends()) {
            co_return;
        }
        try {
            store::StoredKey key = each.key;
            const store::AccountName name{key.record.account, {}};
            api::AccountRecord account;
            if (in_file != nullptr) {
                account = *in_file;
            } else {
                account = co_await store::find_account(links_, name);
            }
            if (!each.has_own && follows(key.record, account)) {
                key.record.own_plan() = {};
            }
            const bool added = co_await store::restore_key(
                links_, std::move(key), std::move(account));
            ++(added ? restored_ : unchanged_);
        } catch (const store::Failed& failed) {
            take(failed, each, in_file != nullptr);
        }
        count();
    }

    void take(const store::Failed& failed, const Backup::Key& each,
              bool has_account)
    {
        const std::string& account = each.key.record.account;
        const std::string line = "line " + std::to_string(each.line) + ": ";
        const auto refusal = failed.failure.refusal;
        if (refusal == store::Refusal::account_not_found && !has_account) {
            const char* const where = backup_.problem.empty()
                                          ? "this file"
                                          : "the lines that were read";
            problems_.emplace_back(each.line, line + "account " + account
                                                  + " is neither in " + where
                                                  + " nor in Redis");
            return;
        }
        take(failed, each.line,
             refusal == store::Refusal::external_id_taken
                 ? line + "account " + account + ": "
                 : line);
    }

    void take(const store::Failed& failed, std::uint64_t line,
              const std::string& about)
    {
        try {
            throw_failure(failed.failure, context_.pump());
        } catch (const Failure& failure) {
            take(failure, line, about);
        }
    }

    void take(const Failure& failure, std::uint64_t line,
              const std::string& about)
    {
        const std::string problem = about + failure.what();
        if (!stops(failure)) {
            problems_.emplace_back(line, problem);
        } else if (!stop_) {
            stop_.emplace(problem, failure.kind());
        }
    }

    void count()
    {
        ++done_;
        progress_.update(done_, done_);
    }

    Context& context_;
    const store::StoreLinks& links_;
    const Backup& backup_;
    std::vector<Account> accounts_;
    std::vector<Account> repeated_;
    std::uint64_t restored_ = 0;
    std::uint64_t unchanged_ = 0;
    std::uint64_t done_ = 0;
    std::vector<std::pair<std::uint64_t, std::string>> problems_;  // with lines
    std::optional<Failure> stop_;
    Progress progress_;
};

}  // namespace

void restore_keys(Context& context, const KeyRestore& options)
{
    constexpr char kInterrupted[] = "interrupted, run the command again";
    const Interruption interruption;
    Backup backup = read_backup(options.file, interruption);
    std::uint64_t restored = 0;
    const auto stopped = [&](const std::string& reason,
                             Failure::Kind kind = Failure::Kind::failed) {
        return Failure(
            "restored " + count_text(restored, "key") + "; " + reason, kind);
    };
    if (interruption.requested()) {
        throw stopped(kInterrupted);
    }
    // Only now: until the end of the input, the store may have been moved.
    const auto links = context.links(Access::change);
    backup.complete(context.now(links));
    Restoration restoration(context, links, backup);
    restoration.run();
    restored = restoration.restored();
    if (const auto& failure = restoration.stopped_by()) {
        throw stopped(
            failure->what()
                + std::string("; run the command again once that is solved"),
            failure->kind());
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
    if (restoration.refused() != 0) {
        throw stopped(
            count_text(restoration.refused(), "problem")
            + " reported above; run the command again once that is solved");
    }
    report(context.json(),
           {{"restored", restored}, {"unchanged", restoration.unchanged()}},
           count_text(restored, "key") + " restored, "
               + std::to_string(restoration.unchanged()) + " existed already.");
}

}  // namespace petstore::ctl
