#include "key_output.h"

#include <chrono>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "../../api/administration_json.h"
#include "../../store/accounts/account_administration.h"
#include "../../store/accounts/account_index_tasks.h"
#include "../../store/accounts/account_tasks.h"
#include "../../store/keys/key_administration.h"
#include "../../store/keys/key_tasks.h"
#include "../accounts/account_output.h"

namespace petstore::ctl {

std::vector<ShownKey> shown_keys(store::KeyListing& listing,
                                 const store::AccountListing& accounts)
{
    std::map<std::string_view, const api::AccountRecord*> records;
    for (const api::AccountRecord& account : accounts.accounts) {
        records.emplace(account.id, &account);
    }
    const std::set<std::string> unread(accounts.unread.begin(),
                                       accounts.unread.end());
    // Such a key is refused.
    api::AccountRecord unknown;
    unknown.disabled = true;
    std::vector<ShownKey> shown;
    shown.reserve(listing.keys.size());
    for (store::StoredKey& key : std::exchange(listing.keys, {})) {
        if (unread.count(key.record.account) != 0) {
            listing.unread.push_back(key.record.id);
            continue;
        }
        const auto account = records.find(key.record.account);
        shown.push_back({std::move(key), account == records.end()
                                             ? unknown
                                             : *account->second});
    }
    return shown;
}

namespace {

// Whether a key was deleted since it was listed.
bool is_gone(Context& context, const store::StoreLinks& links,
             const std::string& id)
{
    return !context.await(store::find_optional(links, id)).has_value();
}

// The accounts of keys that the index of accounts lacks: those that exist are
// added to `all`, the others returned.
std::set<std::string> find_unlisted(Context& context,
                                    const store::StoreLinks& links,
                                    const store::KeyListing& keys,
                                    store::AccountListing& all)
{
    std::set<std::string> known(all.damaged.begin(), all.damaged.end());
    known.insert(all.unread.begin(), all.unread.end());
    for (const api::AccountRecord& account : all.accounts) {
        known.insert(account.id);
    }
    std::set<std::string> absent;
    for (const store::StoredKey& key : keys.keys) {
        const std::string& id = key.record.account;
        if (key.unfinished || !known.insert(id).second) {
            continue;
        }
        try {
            auto account = context.await(store::read_account(links, id));
            if (account && account->deleted == 0) {
                all.accounts.push_back(std::move(*account));
            } else {
                absent.insert(id);
            }
        } catch (const Failure& failure) {
            if (failure.kind() != Failure::Kind::failed) {
                throw;
            }
            all.damaged.push_back(id);
        }
    }
    return absent;
}

}  // namespace

std::vector<std::string> add_unlisted(Context& context,
                                      const store::StoreLinks& links,
                                      store::KeyListing& listing,
                                      store::AccountListing& all)
{
    const auto absent = find_unlisted(context, links, listing, all);
    std::set<std::string> missing;
    const auto leaves = [&](const store::StoredKey& key) {
        const auto account = absent.find(key.record.account);
        if (key.unfinished || account == absent.end()) {
            return false;
        }
        const bool gone = is_gone(context, links, key.record.id);
        if (!gone) {
            missing.insert(*account);
        }
        return gone;
    };
    std::erase_if(listing.keys, leaves);
    std::erase_if(all.missing,
                  [&](const std::string& id) { return absent.count(id) != 0; });
    return {missing.begin(), missing.end()};
}

void forget_unfinished(Context& context, const store::StoreLinks& links,
                       store::KeyListing& listing, store::AccountListing& all,
                       std::vector<std::string>& missing)
{
    constexpr std::chrono::seconds kCommandTime(1);
    auto& keys = listing.missing;
    auto& accounts = all.missing;
    if (keys.empty() && accounts.empty() && missing.empty()) {
        return;
    }
    std::this_thread::sleep_for(kCommandTime);
    missing = add_unlisted(context, links, listing, all);
    const auto is_deleted = [&](const std::string& id) {
        return !context.await(store::read_index(links, id)).has_value();
    };
    std::erase_if(keys, is_deleted);
    const auto is_complete = [&](const std::string& id) {
        return !context.await(store::lacks_record(links, id));
    };
    std::erase_if(accounts, is_complete);
}

ShownKey shown_key(Context& context, const store::StoreLinks& links,
                   const std::string& id)
{
    return shown_key(context, links, context.await(store::find_key(links, id)));
}

ShownKey shown_key(Context& context, const store::StoreLinks& links,
                   store::StoredKey key)
{
    const std::string& id = key.record.account;
    api::AccountRecord account;
    try {
        account = context.await(store::find_account(links, {id, ""}));
    } catch (const Failure& failure) {
        if (failure.kind() != Failure::Kind::not_found) {
            throw;
        }
        // Damage, as if the record could not be read: the key does exist.
        throw Failure("the account " + id + " of key " + key.record.id
                      + " does not exist");
    }
    return {std::move(key), std::move(account)};
}

std::string_view state_of(const ShownKey& shown, api::UnixTime now) noexcept
{
    return api::key_state(shown.key.record, shown.key.unfinished, shown.account,
                          now);
}

Json json_of(const ShownKey& shown, const api::PlanTable& plans,
             api::UnixTime now, std::string_view secret)
{
    return Json::parse(api::key_json(shown.key.record, shown.account, plans,
                                     state_of(shown, now), secret));
}

void print_key(const ShownKey& shown, const api::PlanTable& plans,
               api::UnixTime now)
{
    const api::KeyRecord& record = shown.key.record;
    const auto plan = plans.plan_in_force(record, shown.account);
    const LimitTexts limits(plans, plan);
    print_property("id", record.id);
    print_property("account", record.account);
    print_property("external id", text_or_dash(shown.account.external_id));
    print_property("plan", plan_text(plans, plan.plan));
    print_property("per minute", limits.minute);
    print_property("per day", limits.day);
    print_property("per month", limits.month);
    print_property("overrides", plan.overrides ? "yes" : "no");
    print_property("label", record.label);
    print_property("scopes", api::scopes_text(record));
    print_property("created", full_time(record.created, now));
    print_property("expires", full_time(record.expires, now));
    print_property("disabled", record.disabled          ? "yes"
                               : shown.account.disabled ? "by its account"
                                                        : "no");
    print_property("last4", record.last4);
}

void print_keys(const std::vector<ShownKey>& keys, const api::PlanTable& plans,
                api::UnixTime now)
{
    std::vector<std::vector<std::string>> rows;
    rows.push_back({"ID", "ACCOUNT", "PLAN", "MINUTE", "DAY", "MONTH", "SCOPES",
                    "CREATED", "EXPIRES", "STATE", "LAST4", "LABEL"});
    for (const ShownKey& shown : keys) {
        const api::KeyRecord& record = shown.key.record;
        const auto plan = plans.plan_in_force(record, shown.account);
        const LimitTexts limits(plans, plan);
        rows.push_back(
            {record.id, record.account, plan_text(plans, plan.plan),
             limits.minute, limits.day, limits.month, api::scopes_text(record),
             table_time(record.created, now), table_time(record.expires, now),
             std::string(state_of(shown, now)), record.last4, record.label});
    }
    print_table(rows, "STATE");
}

}  // namespace petstore::ctl
