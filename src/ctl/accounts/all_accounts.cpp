#include "all_accounts.h"

#include <algorithm>
#include <cstddef>

#include "../../store/accounts/usage_administration.h"
#include "../exit.h"
#include "../terminal/interruption.h"
#include "../terminal/output.h"
#include "../terminal/progress.h"

namespace petstore::ctl {

std::vector<std::string>
each_account(Context& context, const store::StoreLinks& links,
             const api::UsagePeriod& period, ShowProgress show_progress,
             const std::function<void(const api::AccountUsage&)>& use)
{
    constexpr std::ptrdiff_t kPiece = 1000;
    const auto ids = context.await(store::list_account_ids(links));
    const Interruption interruption;
    Progress progress(ids.size(), "account");
    std::vector<std::string> damaged;
    for (auto next = ids.begin(); next != ids.end();) {
        const auto end = next + std::min(kPiece, ids.end() - next);
        const auto listing =
            context.await(store::list_usage(links, {next, end}, period));
        std::for_each(listing.accounts.begin(), listing.accounts.end(), use);
        damaged.insert(damaged.end(), listing.damaged.begin(),
                       listing.damaged.end());
        next = end;
        if (show_progress == ShowProgress::yes) {
            const auto done = static_cast<std::uint64_t>(next - ids.begin());
            progress.update(done, done);
        }
        if (interruption.requested()) {
            throw Failure("interrupted");
        }
    }
    return damaged;
}

void fail_if_damaged(const std::vector<std::string>& damaged)
{
    if (!damaged.empty()) {
        for (const std::string& problem : damaged) {
            warn(problem);
        }
        flush_output();
        throw Failure(count_text(damaged.size(), "account") + " left out");
    }
}

}  // namespace petstore::ctl
