#include "key_backup.h"

#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "../../api/administration_json.h"
#include "../../api/text.h"
#include "../../store/accounts/account_administration.h"
#include "../../store/keys/key_administration.h"
#include "../exit.h"
#include "../pets/line_reader.h"
#include "../terminal/interruption.h"
#include "../terminal/output.h"
#include "../upgrade/conversion.h"
#include "key_options.h"
#include "key_output.h"

namespace petstore::ctl {

namespace {

// Why a line is not a key.
class BadLine : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Reads members of one line. No message repeats a value, which may be
// misplaced.
class Members {
public:
    explicit Members(const Json& object) : object_(object) {}

    const Json* find(const char* name) const
    {
        const auto found = object_.find(name);
        return found == object_.end() || found->is_null() ? nullptr : &*found;
    }

    std::string text(const char* name) const
    {
        const Json* member = find(name);
        if (member == nullptr) {
            return "";
        }
        check(member->is_string(), name);
        return member->get<std::string>();
    }

    std::string id(const char* name) const
    {
        std::string value = text(name);
        check(api::is_id(value), name);
        return value;
    }

    std::optional<std::int64_t> limit(const char* name) const
    {
        const Json* member = find(name);
        if (member == nullptr) {
            return std::nullopt;
        }
        check(member->is_number_integer(), name);
        const auto number = member->get<std::int64_t>();
        check(number >= 1 && number <= api::kMaxLimit, name);
        return number;
    }

    std::optional<api::UnixTime> date(const char* name) const
    {
        if (find(name) == nullptr) {
            return std::nullopt;
        }
        const auto time = api::parse_date(text(name));
        check(time.has_value(), name);
        return time;
    }

    bool flag(const char* name) const
    {
        const Json* member = find(name);
        check(member != nullptr && member->is_boolean(), name);
        return member->get<bool>();
    }

    // Separated by commas.
    std::string names(const char* name) const
    {
        const Json* member = find(name);
        check(member != nullptr && member->is_array(), name);
        std::string names;
        for (const Json& one : *member) {
            check(one.is_string(), name);
            names.append(names.empty() ? "" : ",")
                .append(one.get<std::string>());
        }
        return names;
    }

    static void check(bool valid, const char* name)
    {
        if (!valid) {
            throw BadLine(std::string("\"") + name
                          + "\" is missing or invalid");
        }
    }

private:
    const Json& object_;
};

// Plan and numbers; null where there is none.
void parse_own(const Members& members, api::OwnPlan& own)
{
    own.plan = members.text("plan");
    Members::check(
        members.find("plan") == nullptr || api::is_plan_name(own.plan), "plan");
    own.per_minute = members.limit("per_minute");
    own.per_day = members.limit("per_day");
    own.per_month = members.limit("per_month");
}

api::UnixTime parse_created(const Members& members)
{
    const auto created = members.date("created");
    Members::check(created.has_value(), "created");
    return *created;
}

api::AccountRecord parse_account(const Json& object)
{
    const Members members(object);
    api::AccountRecord account;
    account.id = members.id("id");
    account.external_id = members.text("external_id");
    Members::check(account.external_id.empty()
                       || api::is_external_id(account.external_id),
                   "external_id");
    account.label = members.text("label");  // any text: it was one before
    parse_own(members, account);
    account.disabled = members.flag("disabled");
    account.implicit = members.flag("implicit");
    account.created = parse_created(members);
    return account;
}

store::StoredKey parse_key(const Json& object)
{
    const Members members(object);
    const auto digest = api::digest_of_hex(members.text("sha256"));
    Members::check(digest.has_value(), "sha256");

    store::StoredKey key(*digest);
    api::KeyRecord& record = key.record;
    record.id = members.id("id");
    record.account = members.id("account");
    const Json* const own = members.find("own");
    Members::check(own == nullptr || own->is_object(), "own");
    parse_own(own != nullptr ? Members(*own) : members, record);
    record.label = members.text("label");
    Members::check(api::set_scopes(record, members.names("scopes")), "scopes");
    record.created = parse_created(members);
    record.expires = members.date("expires");
    record.disabled = members.flag("disabled");
    record.last4 = members.text("last4");
    Members::check(api::is_last4(record.last4), "last4");
    if (members.find("replaced_by") != nullptr) {
        record.replaced_by = members.id("replaced_by");
    }
    return key;
}

Json own_json(const api::OwnPlan& own)
{
    const auto number = [](const std::optional<std::int64_t>& of) {
        return of ? Json(*of) : Json(nullptr);
    };
    return {{"plan", own.plan.empty() ? Json(nullptr) : Json(own.plan)},
            {"per_minute", number(own.per_minute)},
            {"per_day", number(own.per_day)},
            {"per_month", number(own.per_month)}};
}

// An account is an object of one member, so that it is not taken for a key.
std::string line_of(const api::AccountRecord& account)
{
    Json object = Json::parse(api::account_json(account, std::nullopt));
    object.erase("last_used");
    object.update(own_json(account));
    object["implicit"] = account.implicit;
    return one_line({{"account", std::move(object)}});
}

std::string line_of(const ShownKey& shown, const api::PlanTable& plans,
                    api::UnixTime now)
{
    const api::KeyRecord& record = shown.key.record;
    Json line = {{"sha256", api::to_hex(api::bytes_of(shown.key.digest))}};
    line.update(json_of(shown, plans, now));
    line["own"] = own_json(record);
    line["replaced_by"] =
        record.replaced_by.empty() ? Json(nullptr) : Json(record.replaced_by);
    return one_line(line);
}

// A file of `key export`.
struct Backup {
    struct Key {
        std::uint64_t line;
        store::StoredKey key;
        bool has_own;  // else of format 1, in which accounts had no records
    };

    std::map<std::string, api::AccountRecord> accounts;
    std::vector<Key> keys;
    std::uint64_t bad_line = 0;  // where it ends; 0 if it is valid
    std::string problem;

    void add(std::uint64_t number, std::string_view line)
    {
        const Json object = Json::parse(line, nullptr, false);
        if (!object.is_object()) {
            throw BadLine("not a JSON object");
        }
        const auto account = object.find("account");
        if (account != object.end() && account->is_object()) {
            auto record = parse_account(*account);
            std::string id = record.id;
            accounts.emplace(std::move(id), std::move(record));
            return;
        }
        keys.push_back({number, parse_key(object),
                        Members(object).find("own") != nullptr});
    }

    // Gives each key an account, which its line may lack.
    void complete(api::UnixTime now)
    {
        std::map<std::string, std::vector<const api::KeyRecord*>> of_account;
        for (Key& each : keys) {
            api::KeyRecord& key = each.key.record;
            if (!each.has_own) {
                name_plan(key);
            }
            of_account[key.account].push_back(&key);
        }
        for (const auto& [id, its_keys] : of_account) {
            accounts.emplace(id, account_of(its_keys, now));
        }
    }
};

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
    const auto plans = context.plans();
    store::KeyAdministration keys(servers);
    auto listing = context.await<store::KeyListing>(
        [&](auto& waiter) { keys.list(waiter); });
    const api::UnixTime now = now_of(context, servers);
    store::AccountAdministration accounts(servers);
    const auto all = context.await<store::AccountListing>(
        [&](auto& waiter) { accounts.list(false, waiter); });
    for (const api::AccountRecord& account : all.accounts) {
        print_data(line_of(account));
    }
    std::vector<std::string> damaged = listing.damaged;
    damaged.insert(damaged.end(), listing.damaged_entries.begin(),
                   listing.damaged_entries.end());
    for (const ShownKey& shown : shown_keys(listing, all)) {
        if (!shown.key.unfinished) {
            print_data(line_of(shown, plans, now));
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
