#include <algorithm>
#include <string>
#include <vector>

#include "../../store/accounts/account_administration.h"
#include "../../store/keys/key_administration.h"
#include "../exit.h"
#include "../terminal/output.h"
#include "backup_lines.h"
#include "key_commands.h"

namespace petstore::ctl {

namespace {

// What a backup lacks, in one message.
class Gaps {
public:
    void add(const std::string& gap) { add_problem(text_, gap); }

    // The first of several, and their number.
    void add(const std::string& noun, const std::vector<std::string>& names,
             const char* problem)
    {
        if (!names.empty()) {
            add(noun + " " + names.front() + problem + ", "
                + count_text(names.size(), noun) + " in total");
        }
    }

    // Names them, up to a hundred, for the command that removes their entries.
    void add_without_record(const std::string& noun,
                            const std::vector<std::string>& ids)
    {
        constexpr std::size_t kNamed = 100;
        std::string all;
        for (std::size_t i = 0; i < std::min(ids.size(), kNamed); ++i) {
            all += ' ' + ids[i];
        }
        if (ids.size() > kNamed) {
            all += " and " + std::to_string(ids.size() - kNamed) + " more";
        }
        if (!ids.empty()) {
            add(noun + all
                + (ids.size() == 1 ? " is listed but has no record"
                                   : " are listed but have no records")
                + ": restore a backup, or remove each entry with petstorectl "
                + noun + " delete ID");
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

}  // namespace

void export_keys(Context& context)
{
    constexpr char kNotExported[] = " is damaged and not exported";
    const auto links = context.links(Access::read);
    const auto plans = context.known_plans();
    auto listing = context.await(store::list_keys(links));
    const api::UnixTime now = context.now(links);
    auto all = context.await(store::list_accounts(links));
    auto missing = add_unlisted(context, links, listing, all);
    forget_unfinished(context, links, listing, all, missing);
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
    Gaps gaps;
    gaps.add_unread("key", listing.unread);
    gaps.add_unread("account", all.unread);
    gaps.add("key", damaged, kNotExported);
    gaps.add_without_record("key", listing.missing);
    gaps.add("account", all.damaged, kNotExported);
    gaps.add_without_record("account", all.missing);
    gaps.add("account", missing, ", which has keys, does not exist");
    if (plans.stored().all_damaged) {
        gaps.add("the plans in Redis are damaged and not exported");
    }
    gaps.add("plan", plans.stored().damaged, kNotExported);
    gaps.fail_if_any();
}

}  // namespace petstore::ctl
