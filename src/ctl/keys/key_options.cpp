#include "key_options.h"

#include "../../api/date.h"
#include "../command_line/values.h"
#include "../exit.h"
#include "../terminal/output.h"

namespace petstore::ctl {

void KeyOptions::add_to(CLI::App& command)
{
    plan.add_to(command);
    add_value(command, "--label", "TEXT", label,
              "Text to recognise the key by");
    add_value(
        command, "--expires", "DATE", expires,
        "When the key ends: 2030-12-31 (0:00 UTC), 2030-12-31T12:00:00+01:00, or in 30d (none: never)");
    add_value(
        command, "--scopes", "SCOPES", scopes,
        "read, write, and others; read,write without this option, and for none");
}

bool KeyOptions::any() const noexcept
{
    return plan.any() || label || expires || scopes;
}

void KeyOptions::check() const
{
    api::KeyRecord scratch;
    apply(scratch, 0);
}

void KeyOptions::apply(api::KeyRecord& record, api::UnixTime now) const
{
    plan.apply(record);
    if (label) {
        check_label(*label);
        record.label = *label;
    }
    if (expires) {
        record.expires.reset();
        if (*expires != "none") {
            record.expires = moment_option("--expires", *expires, now);
        }
    }
    if (scopes) {
        if (!api::set_scopes(record,
                             *scopes == "none" ? "read,write" : *scopes)) {
            throw UsageError(
                "--scopes must be up to " + std::to_string(api::kMaxScopes)
                + " names of 1 to 64 lower-case letters, digits and \":._-\", separated by commas");
        }
    }
}

void NewKey::add_to(CLI::App& command)
{
    account.add_option(
        command,
        "The account that gets the key; without it, a new one, which has the plan and the numbers");
    options.add_to(command);
}

void KeyArgument::add_to(CLI::App& command)
{
    CLI::Option* const key = command.add_option(
        "KEY", secret,
        "The key; - reads it from standard input, where other users of this machine cannot see it");
    refuse_empty(add_value(command, "--sha256", "HEX", sha256,
                           "SHA-256 of the key, instead of the key")
                     ->excludes(key));
}

api::UnixTime moment_option(const char* name, const std::string& value,
                            api::UnixTime now)
{
    const auto moment = api::parse_moment(value, now);
    if (!moment) {
        throw UsageError(
            std::string(name)
            + " must be a date like 2030-12-31, a time like 2030-12-31T12:00:00Z, or a duration from now like 30d, at most 36500d");
    }
    return *moment;
}

void warn_of_expiry(const api::KeyRecord& record, api::UnixTime now)
{
    if (record.expires && *record.expires <= now) {
        warn("the key expired on " + api::iso_time(*record.expires));
    }
}

}  // namespace petstore::ctl
