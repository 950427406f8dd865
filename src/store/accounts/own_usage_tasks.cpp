#include <utility>

#include "account_tasks.h"
#include "own_usage.h"
#include "usage_administration.h"

namespace petstore::store {

namespace {

// `today` is a guess: the day by the clock of the account's server decides,
// which the reply brings along.
Task<SharedUsage> read_counted(const StoreLinks& links,
                               const std::string& account, api::Day today,
                               EventLog& log)
{
    auto usage = std::make_shared<api::AccountUsage>();
    for (bool month_is_right = false; !month_is_right;) {
        const api::Day guess = today;
        *usage = {};
        usage->account.id = account;
        co_await read_counts(links, guess, guess, *usage);
        today = api::day_of(usage->now / 1000);
        month_is_right =
            api::first_of_month(today) == api::first_of_month(guess);
    }
    if (usage->epoch == 0) {
        // The account is new, or was moved to another Redis.
        const MarkedLimits marked =
            co_await read_limits_marker(links.accounts, links.schema);
        if (marked.elsewhere()) {
            log.report(Event::limits_elsewhere);
            throw Failed{not_counted()};
        }
    }
    co_await find_last_use(links, *usage);
    co_return SharedUsage(std::move(usage));
}

Task<SharedUsage> read_own(StoreLinks links, std::string account,
                           api::Day today, OwnUsage::Logs logs)
{
    try {
        co_return co_await read_counted(links, account, today, logs.events);
    } catch (const Failed& failed) {
        if (failed.failure.refusal != Refusal::damaged) {
            throw;
        }
        logs.damage.damaged(failed.redis_key);
        throw Failed{Failure{damage_error()}};
    }
}

}  // namespace

class OwnUsage::Read final : public OwnUsage::Reads::Item,
                             public Waiter<SharedUsage> {
public:
    Read(Reads& reads, const std::string& account, OwnUsage& owner)
        : Item(reads, account), owner_(owner), sent_(owner.clock_.monotonic())
    {}

    void on_result(const Outcome<SharedUsage>& outcome) noexcept override
    {
        try {
            if (!outcome.failed()) {
                owner_.keep(key(), {outcome.value(), sent_});
            }
        } catch (...) {
            // Out of memory: the next request asks again.
        }
        end(outcome);
    }

private:
    OwnUsage& owner_;
    const Monotonic sent_;
};

OwnUsage::OwnUsage(const StoreLinks& links, const RedisClock& redis_clock,
                   const Clock& clock, Logs logs)
    : links_(links), redis_clock_(redis_clock), clock_(clock), logs_(logs)
{}

OwnUsage::~OwnUsage() = default;

void OwnUsage::read(std::string_view account, std::int64_t epoch,
                    Waiter<SharedUsage>& waiter) noexcept
{
    try {
        const std::string id(account);
        if (const Answer* answer = find(id, epoch)) {
            return waiter.on_result(answer->usage);
        }
        if (Read* read = reads_.find(id)) {
            return read->join(&waiter);
        }
        start(id, waiter);
    } catch (...) {
        waiter.on_result(unavailable());
    }
}

void OwnUsage::start(const std::string& account, Waiter<SharedUsage>& waiter)
{
    Read& read = reads_.start(account, &waiter, *this);
    try {
        run(running_,
            read_own(links_, account, api::day_of(redis_clock_.now()), logs_),
            read);
    } catch (...) {
        read.on_result(unavailable());
    }
}

const OwnUsage::Answer* OwnUsage::find(const std::string& account,
                                       std::int64_t epoch) noexcept
{
    const Monotonic now = clock_.monotonic();
    while (!by_age_.empty() && now - by_age_.front().first >= kKeptFor) {
        const auto oldest = answers_.find(by_age_.front().second);
        if (oldest != answers_.end()
            && oldest->second.sent == by_age_.front().first) {
            answers_.erase(oldest);
        }
        by_age_.pop_front();
    }
    const auto found = answers_.find(account);
    if (found == answers_.end() || now - found->second.sent >= kKeptFor) {
        return nullptr;
    }
    const std::int64_t known = found->second.usage->epoch;
    return known == epoch || known == 0 ? &found->second : nullptr;
}

void OwnUsage::keep(const std::string& account, Answer answer)
{
    if (by_age_.size() < kMaxKept) {
        by_age_.emplace_back(answer.sent, account);
        answers_[account] = std::move(answer);
    }
}

}  // namespace petstore::store
