#include "backup_lines.h"

#include <optional>
#include <utility>

#include "../../api/administration_json.h"
#include "../../api/text.h"
#include "../terminal/output.h"
#include "../upgrade/conversion.h"

namespace petstore::ctl {

namespace {

// Reads members of one line.
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

void parse_plan(const Members& members, api::NamedLimits& plans)
{
    std::string name = members.text("name");
    Members::check(api::is_plan_name(name), "name");
    const auto minute = members.limit("per_minute");
    Members::check(minute.has_value(), "per_minute");
    const auto day = members.limit("per_day");
    Members::check(day.has_value(), "per_day");
    plans[std::move(name)] = {*minute, *day,
                              members.limit("per_month").value_or(0)};
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

}  // namespace

std::string backup_line(std::string_view plan, const api::Limits& limits)
{
    return one_line({{"plan",
                      {{"name", plan},
                       {"per_minute", limits.minute},
                       {"per_day", limits.day},
                       {"per_month", limits.has_month() ? Json(limits.month)
                                                        : Json(nullptr)}}}});
}

std::string backup_line(const api::AccountRecord& account)
{
    Json object = Json::parse(api::account_json(account, std::nullopt));
    object.erase("last_used");
    object.update(own_json(account));
    object["implicit"] = account.implicit;
    return one_line({{"account", std::move(object)}});
}

std::string backup_line(const ShownKey& shown, const api::PlanTable& plans,
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

void Backup::add(std::uint64_t number, std::string_view line)
{
    const Json object = Json::parse(line, nullptr, false);
    if (!object.is_object()) {
        throw BadLine("not a JSON object");
    }
    if (const auto plan = object.find("plan");
        plan != object.end() && plan->is_object()) {
        parse_plan(Members(*plan), plans);
        return;
    }
    const auto account = object.find("account");
    if (account != object.end() && account->is_object()) {
        auto record = parse_account(*account);
        std::string id = record.id;
        accounts.emplace(std::move(id), std::move(record));
        return;
    }
    keys.push_back(
        {number, parse_key(object), Members(object).find("own") != nullptr});
}

void Backup::complete(api::UnixTime now)
{
    std::map<std::string, std::vector<const api::KeyRecord*>> of_account;
    for (Key& each : keys) {
        api::KeyRecord& key = each.key.record;
        if (!each.has_own) {
            name_plan(key);
            of_account[key.account].push_back(&key);
        }
    }
    for (const auto& [id, its_keys] : of_account) {
        accounts.emplace(id, account_of(its_keys, now));
    }
}

}  // namespace petstore::ctl
