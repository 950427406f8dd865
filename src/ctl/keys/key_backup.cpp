#include "key_backup.h"

#include <optional>
#include <string_view>
#include <utility>

#include "../../api/date.h"
#include "../../api/plan.h"
#include "../../api/text.h"
#include "../../store/keys/key_administration.h"
#include "../exit.h"
#include "../pets/line_reader.h"
#include "../terminal/interruption.h"
#include "../terminal/output.h"

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

store::StoredKey parse_line(std::string_view line)
{
    const Json object = Json::parse(line, nullptr, false);
    if (!object.is_object()) {
        throw BadLine("not a JSON object");
    }
    const Members members(object);
    const auto digest = api::digest_of_hex(members.text("sha256"));
    Members::check(digest.has_value(), "sha256");

    store::StoredKey key(*digest);
    api::KeyRecord& record = key.record;
    record.id = members.id("id");
    record.account = members.id("account");
    record.plan = members.text("plan");
    Members::check(api::is_plan_name(record.plan), "plan");
    record.per_minute = members.limit("per_minute");
    record.per_day = members.limit("per_day");
    record.label = members.text("label");  // any text: it was one before
    Members::check(api::set_scopes(record, members.names("scopes")), "scopes");
    const auto created = members.date("created");
    Members::check(created.has_value(), "created");
    record.created = *created;
    record.expires = members.date("expires");
    record.disabled = members.flag("disabled");
    record.last4 = members.text("last4");
    Members::check(api::is_last4(record.last4), "last4");
    if (members.find("replaced_by") != nullptr) {
        record.replaced_by = members.id("replaced_by");
    }
    return key;
}

std::string line_of(const store::StoredKey& key)
{
    Json line = {{"sha256", api::to_hex(api::bytes_of(key.digest))}};
    line.update(json_of(key.record));
    line["replaced_by"] = key.record.replaced_by.empty()
                              ? Json(nullptr)
                              : Json(key.record.replaced_by);
    return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

void export_keys(Context& context)
{
    store::KeyAdministration keys(context.keys(Access::read));
    const auto listing = context.await<store::KeyListing>(
        [&](auto& waiter) { keys.list(waiter); });
    std::vector<std::string> damaged = listing.damaged;
    damaged.insert(damaged.end(), listing.damaged_entries.begin(),
                   listing.damaged_entries.end());
    for (const store::StoredKey& key : listing.keys) {
        if (!key.unfinished) {
            print_data(line_of(key));
        }
    }
    if (!listing.unread.empty()) {
        flush_output();
        throw Unreachable(unread_keys(listing.unread));
    }
    if (!damaged.empty()) {
        flush_output();
        throw Failure("key " + damaged.front()
                      + " is damaged and not exported, "
                      + count_text(damaged.size(), "key") + " in total");
    }
}

void restore_keys(Context& context, const std::string& file)
{
    store::KeyAdministration keys(context.keys(Access::change));
    LineReader lines(file);
    const Interruption interruption;
    std::uint64_t restored = 0;
    std::uint64_t unchanged = 0;
    const auto stopped = [&](const std::string& reason,
                             Failure::Kind kind = Failure::Kind::failed) {
        return Failure(
            "restored " + count_text(restored, "key") + "; " + reason, kind);
    };
    std::string_view line;
    while (!interruption.requested() && lines.next(line, interruption)) {
        if (line.empty()) {
            continue;
        }
        try {
            auto key = parse_line(line);
            api::AccountRecord account;
            static_cast<api::OwnPlan&>(account) = key.record;
            account.id = key.record.account;
            account.label = key.record.label;
            account.created = key.record.created;
            account.implicit = true;
            context.await<bool>([&](auto& waiter) {
                keys.restore(std::move(key), std::move(account), waiter);
            })
                ? ++restored
                : ++unchanged;
        } catch (const BadLine& bad) {
            throw stopped("line " + std::to_string(lines.number()) + ": "
                          + bad.what());
        } catch (const Failure& failure) {
            throw stopped("line " + std::to_string(lines.number()) + ": "
                              + failure.what()
                              + "; run the command again once that is solved",
                          failure.kind());
        }
    }
    if (interruption.requested()) {
        throw stopped("interrupted, run the command again");
    }
    if (context.json()) {
        print_json({{"restored", restored}, {"unchanged", unchanged}});
    } else {
        say(count_text(restored, "key") + " restored, "
            + std::to_string(unchanged) + " existed already.");
    }
}

}  // namespace petstore::ctl
