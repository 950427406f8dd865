#include <algorithm>
#include <unistd.h>
#include <vector>

#include "../../api/administration_json.h"
#include "../../store/accounts/usage_administration.h"
#include "../command_line/commands.h"
#include "../exit.h"
#include "../terminal/output.h"
#include "../terminal/terminal.h"
#include "account_name.h"
#include "all_accounts.h"
#include "usage_options.h"
#include "usage_report.h"

namespace petstore::ctl {

namespace {

class Usage {
public:
    Usage(Context& context, const UsageOptions& options)
        : context_(context), options_(options), percent_(options.percent()),
          links_(context.links(Access::read)),
          plans_(context.plans()), of_{plans_,
                                       options.period(context.now(links_))}
    {}

    void run()
    {
        // By the number of names, so that a program knows what it will get.
        const auto named =
            options_.accounts.size() + options_.external_ids.size();
        const auto usages = read_named(named > 1);
        if (named == 1 && !percent_ && !options_.csv) {
            return print_one(usages.front());
        }
        if (named == 0) {
            print_all();
        } else {
            print_named(usages);
        }
    }

private:
    // Each account once, however often it is named. Reads all before anything
    // is printed, so that an unknown one leaves no part of a report.
    std::vector<api::AccountUsage> read_named(bool several)
    {
        std::vector<api::AccountUsage> usages;
        const auto add = [&](const char* option, std::size_t index,
                             const store::AccountName& name) {
            try {
                const std::string id = resolve(context_, name);
                if (std::none_of(usages.begin(), usages.end(),
                                 [&](const api::AccountUsage& usage) {
                                     return usage.account.id == id;
                                 })) {
                    usages.push_back(read(id));
                }
            } catch (const Failure& failure) {
                if (!several || failure.kind() != Failure::Kind::not_found) {
                    throw;
                }
                // Not the word itself, which may be a misplaced API key.
                throw Failure(std::string(option) + ' '
                                  + std::to_string(index + 1) + ": "
                                  + failure.what(),
                              failure.kind());
            }
        };
        for (std::size_t i = 0; i < options_.accounts.size(); ++i) {
            add("ACCOUNT", i, {options_.accounts[i], ""});
        }
        for (std::size_t i = 0; i < options_.external_ids.size(); ++i) {
            add("--external-id", i, {"", options_.external_ids[i]});
        }
        return usages;
    }

    api::AccountUsage read(const std::string& id)
    {
        return context_.await(store::read_usage(links_, id, of_.period));
    }

    void print_one(const api::AccountUsage& usage)
    {
        if (context_.json()) {
            print_json(Json::parse(api::usage_json(usage, plans_, of_.period)));
        } else {
            print_usage(of_, usage);
        }
    }

    void print_named(const std::vector<api::AccountUsage>& usages)
    {
        auto report = make_report();
        for (const auto& usage : usages) {
            if (!percent_ || is_over(plans_, usage, *percent_)) {
                report.add(usage);
            }
        }
        report.finish();
    }

    UsageReport make_report() const
    {
        using Form = UsageReport::Form;
        const Form form = options_.csv      ? Form::csv
                          : context_.json() ? Form::json
                          : percent_        ? Form::over
                                            : Form::table;
        return {of_, form, percent_.value_or(0)};
    }

    // Unless named, accounts that were deleted before the period are of no
    // interest.
    bool is_of_interest(const api::AccountUsage& usage) const
    {
        return percent_ ? is_over(plans_, usage, *percent_)
                        : usage.account.deleted == 0
                              || !usage_counts(usage, of_.period).empty();
    }

    // Where lines appear between its updates, progress would disturb them.
    ShowProgress show_progress() const
    {
        return !is_terminal(STDOUT_FILENO)
                       || (!options_.csv && !context_.json())
                   ? ShowProgress::yes
                   : ShowProgress::no;
    }

    void print_all()
    {
        auto report = make_report();
        const auto damaged =
            each_account(context_, links_, of_.period, show_progress(),
                         [&](const auto& usage) {
                             if (is_of_interest(usage)) {
                                 report.add(usage);
                             }
                         });
        report.finish();
        fail_if_damaged(damaged);
    }

    Context& context_;
    const UsageOptions& options_;
    const std::optional<int> percent_;
    const store::StoreLinks links_;
    const api::PlanTable plans_;
    const UsageReportOf of_;
};

void show_usage(Context& context, const UsageOptions& options)
{
    // Before a connection to Redis.
    options.percent();
    options.check_period();
    if (options.csv && context.json()) {
        throw UsageError("--csv excludes --json");
    }
    Usage(context, options).run();
}

}  // namespace

void add_usage_command(CLI::App& app, Action& action)
{
    add_command(app, "usage", "Show what accounts have used, by day or month",
                action, show_usage);
}

}  // namespace petstore::ctl
