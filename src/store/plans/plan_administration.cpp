#include "plan_administration.h"

#include <exception>
#include <map>
#include <utility>

#include "../../api/text.h"
#include "../accounts/account_tasks.h"
#include "../keys/key_administration.h"
#include "../scan_tasks.h"
#include "../scripts.h"

namespace petstore::store {

namespace {

struct Hosts {
    std::vector<HostPlans> alive;
    bool unread = false;  // the server of a Cluster that has them is away
};

bool is_damage(const Failed& failed)
{
    return failed.failure.refusal == Refusal::damaged;
}

// A value of another type is damage, which list() shows.
Task<StoredPlans> read_stored(const StoreLinks& links)
{
    StoredPlans stored;
    try {
        stored = PlanCommands::parse(
            co_await ask(links.main, PlanCommands(links.schema).read()));
    } catch (const Failed& failed) {
        if (!is_damage(failed)) {
            throw;
        }
        stored.all_damaged = true;
    }
    co_return stored;
}

Task<Hosts> read_hosts(const StoreLinks& links)
{
    // By the clock that hosts publish by.
    const api::UnixTime now = co_await redis_time(links.main);
    Hosts hosts;
    std::map<std::string, std::string> entries;
    try {
        entries = co_await read_hash(links.main, links.schema.hosts());
    } catch (const Failed& failed) {
        hosts.unread = failed.no_reply && links.main.is_cluster();
        if (!hosts.unread && !is_damage(failed)) {
            throw;
        }
    }
    for (const auto& [field, text] : entries) {
        auto host = parse_host(text);
        if (host && host->published >= now - kHostSeconds) {
            hosts.alive.push_back(std::move(*host));
        }
    }
    co_return hosts;
}

// A record on a server of a Cluster that is away may have the plan.
void refuse_if_unread(const std::vector<std::string>& unread)
{
    if (!unread.empty()) {
        throw Failed{failure_of(redis::NoReply::not_sent, Purpose::read), true};
    }
}

// A plan in Redis that nothing else defines.
struct Removed {
    std::string name;
    bool has_month;
};

// Of a key or an account. Enterprise needs no definition where the record has
// the numbers that the plan has.
template <typename Record>
void refuse_if_has(const Record& record, const Removed& plan, const char* what)
{
    const bool has_numbers = record.per_minute && record.per_day
                             && (record.per_month || !plan.has_month);
    if (record.plan == plan.name
        && !(has_numbers && api::PlanTable().needs_numbers(plan.name))) {
        throw refused(Refusal::plan_in_use, api::ErrorCode::invalid_field,
                      what + record.id
                          + " has this plan, and nothing else defines it");
    }
}

// In pieces, so that a worker keeps only one of them.
constexpr std::size_t kPiece = 1000;

Task<> refuse_if_account_has(const StoreLinks& links, const Removed& plan)
{
    const ReadPiece look = [&](api::ScanPlace from) -> Task<PieceEnd> {
        AccountPage page =
            co_await list_some_accounts(links, std::move(from), kPiece);
        refuse_if_unread(page.listing.unread);
        for (const api::AccountRecord& account : page.listing.accounts) {
            if (account.deleted == 0) {
                refuse_if_has(account, plan, "the account ");
            }
        }
        co_return PieceEnd{std::move(page.next), page.whole};
    };
    const std::string index = links.schema.account_index();
    co_await read_in_pieces(links.main, index, look);
}

Task<> refuse_if_key_has(const StoreLinks& links, const Removed& plan)
{
    const ReadPiece look = [&](api::ScanPlace from) -> Task<PieceEnd> {
        KeyPage page =
            co_await list_some_keys(links, "", std::move(from), kPiece);
        refuse_if_unread(page.listing.unread);
        for (const StoredKey& key : page.listing.keys) {
            refuse_if_has(key.record, plan, "the key ");
        }
        co_return PieceEnd{std::move(page.next), page.whole};
    };
    const std::string index = links.schema.key_index();
    co_await read_in_pieces(links.main, index, look);
}

Task<> refuse_if_in_use(const StoreLinks& links, const Removed& plan)
{
    co_await refuse_if_account_has(links, plan);
    co_await refuse_if_key_has(links, plan);
}

redis::Command set_command(const StoreLinks& links, const std::string& name,
                           const std::string& limits, std::int64_t most)
{
    redis::Command command(scripts().set_plan, 1);
    command.key(links.schema.plans()).arg(name).own(limits).arg(most);
    return command;
}

}  // namespace

Task<KnownPlans> list_plans(StoreLinks links)
{
    auto stored = co_await read_stored(links);
    auto hosts = co_await read_hosts(links);
    co_return KnownPlans(std::move(stored), std::move(hosts.alive),
                         hosts.unread);
}

Task<> set_plan(StoreLinks links, std::string name, api::Limits limits)
{
    constexpr std::int64_t kMost = PlanCommands::kMaxPlans;
    const redis::Reply& reply = co_await change(
        links.main, set_command(links, name, limits_text(limits), kMost));
    if (reply.integer() == 0) {
        throw refused(Refusal::too_many_plans, api::ErrorCode::invalid_field,
                      "there are " + std::to_string(kMost)
                          + " plans in Redis already, delete others first");
    }
}

namespace {

Failed no_such_plan()
{
    return refused(Refusal::plan_not_found, api::ErrorCode::not_found,
                   "there is no such plan in Redis");
}

Removed removed_plan(const std::string& name, std::string_view limits_text)
{
    const auto limits = parse_limits(limits_text);  // nullopt: none in force
    return {name, limits && limits->has_month()};
}

}  // namespace

// Keys and accounts get their plans one by one, shortly after a look at the
// plans. So it looks for users once more when the plan is gone, for those that
// got it during the first look. A plan that has one is put back.
Task<> remove_plan(StoreLinks links, std::string name)
{
    redis::Command read("HGET");
    read.key(links.schema.plans()).arg(name);
    const redis::Reply& there = co_await ask(links.main, read);
    if (there.is(redis::Type::nil)) {
        throw no_such_plan();
    }
    const Removed known = removed_plan(name, there.text());
    auto hosts = co_await read_hosts(links);
    const KnownPlans plans({}, std::move(hosts.alive));
    const bool is_needed = !plans.defined_without_redis(name);
    if (is_needed) {
        co_await refuse_if_in_use(links, known);
    }
    redis::Command remove(scripts().remove_plan, 1);
    remove.key(links.schema.plans()).arg(name);
    const redis::Reply& limits = co_await change(links.main, std::move(remove));
    if (limits.is(redis::Type::nil)) {
        throw no_such_plan();  // another command was faster
    }
    if (!is_needed) {
        co_return;
    }
    const std::string text(limits.text());
    std::exception_ptr stays;
    try {
        co_await refuse_if_in_use(links, removed_plan(name, text));
    } catch (...) {
        stays = std::current_exception();
    }
    if (stays) {
        constexpr std::int64_t kPutBack = 0;
        co_await change(links.main, set_command(links, name, text, kPutBack));
        std::rethrow_exception(stays);
    }
}

}  // namespace petstore::store
