#include "admin_query.h"

#include <algorithm>
#include <utility>

#include "account.h"
#include "cursor.h"
#include "query.h"
#include "text.h"

namespace petstore::api {

namespace {

constexpr char kAdminCursorVersion = 2;
constexpr char kUsageCursorVersion = 3;  // with two days before the entry
constexpr std::size_t kDayBytes = 4;
constexpr std::size_t kFilterBytes = 8;
constexpr std::size_t kCursorBytesBeforeEntry = 1 + kFilterBytes + 8 + 8;

// Application/x-www-form-urlencoded, for links.
void append_encoded(std::string& out, std::string_view text)
{
    constexpr std::string_view kPlain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
    for (const char c : text) {
        if (kPlain.find(c) != std::string_view::npos) {
            out.push_back(c);
        } else {
            out.push_back('%');
            out.append(to_hex(std::string_view(&c, 1)));
        }
    }
}

// The parameters that choose the entries, as in a query.
std::string filter_of(const AdminQuery& query)
{
    std::string text;
    const auto add = [&](const char* name, std::string_view value) {
        if (!value.empty()) {
            append_encoded(text.append("&").append(name).append("="), value);
        }
    };
    add("external_id", query.external_id);
    add("plan", query.plan);
    add("account", query.account);
    add("sha256", query.sha256 ? to_hex(bytes_of(*query.sha256)) : "");
    add("from", query.from ? iso_date(*query.from) : "");
    add("to", query.to ? iso_date(*query.to) : "");
    add("by", query.step == UsagePeriod::Step::month ? "month" : "");
    return text;
}

std::string filter_digest(Operation operation, const AdminQuery& query)
{
    const std::string filter =
        std::string(to_string(operation)) + filter_of(query);
    return std::string(bytes_of(sha256(filter)).substr(0, kFilterBytes));
}

bool take_cursor(std::string_view text, Operation operation, AdminQuery& query)
{
    const auto bytes = unseal(text);
    const bool has_period = bytes && !bytes->empty()
                            && bytes->front() == kUsageCursorVersion
                            && operation == Operation::list_usage;
    if (!bytes
        || bytes->size()
               < kCursorBytesBeforeEntry + (has_period ? 2 * kDayBytes : 0)
        || (bytes->front() != kAdminCursorVersion && !has_period)
        || bytes->compare(1, kFilterBytes, filter_digest(operation, query))
               != 0) {
        return false;
    }
    const std::string_view rest =
        std::string_view(*bytes).substr(1 + kFilterBytes);
    query.place.cursor = big_endian(rest.substr(0, 8));
    query.place.end = big_endian(rest.substr(8, 8));
    std::string_view entry = rest.substr(16);
    if (has_period) {
        const auto day_at = [&](std::size_t place) {
            return static_cast<Day>(big_endian(entry.substr(place, kDayBytes)));
        };
        query.first_page = {day_at(0), day_at(kDayBytes)};
        entry.remove_prefix(2 * kDayBytes);
    }
    query.place.after = entry;
    return !has_period
           || std::max(query.first_page->from, query.first_page->to)
                  <= kLastDay;
}

std::optional<Day> parse_day(std::string_view text)
{
    constexpr std::size_t kSize = 10;  // "2026-11-25"
    const auto time = text.size() == kSize ? parse_date(text) : std::nullopt;
    return time ? std::optional(day_of(*time)) : std::nullopt;
}

std::optional<Error> take_day(const QueryParameter& parameter,
                              std::optional<Day>& day)
{
    if (parameter.value) {
        day = parse_day(*parameter.value);
        if (!day) {
            return invalid_parameter(parameter.name,
                                     "must be a date such as 2026-11-25");
        }
    }
    return std::nullopt;
}

std::optional<Error> take_filter(const QueryParameter& parameter,
                                 std::string& value)
{
    if (parameter.value) {
        if (parameter.value->empty()) {
            return invalid_parameter(parameter.name, "must not be empty");
        }
        value = *parameter.value;
    }
    return std::nullopt;
}

// In a query, "+" is a space. An empty list would hide that.
std::optional<Error> take_external_id(const QueryParameter& parameter,
                                      std::string& value)
{
    if (auto error = take_filter(parameter, value)) {
        return error;
    }
    if (parameter.value && !is_external_id(value)) {
        return invalid_parameter(
            parameter.name,
            "must be 1 to 128 visible ASCII characters, with + encoded as %2B");
    }
    return std::nullopt;
}

// Those of reports.
std::optional<Error> take_period(const QueryParameter& from,
                                 const QueryParameter& to,
                                 const QueryParameter& by, AdminQuery& query)
{
    if (auto error = take_day(from, query.from)) {
        return error;
    }
    if (auto error = take_day(to, query.to)) {
        return error;
    }
    if (query.from && query.to && *query.from > *query.to) {
        return invalid_parameter(from.name, "must not be after to");
    }
    if (by.value) {
        if (*by.value != "day" && *by.value != "month") {
            return invalid_parameter(by.name, "must be day or month");
        }
        query.step = *by.value == "month" ? UsagePeriod::Step::month
                                          : UsagePeriod::Step::day;
    }
    return std::nullopt;
}

}  // namespace

std::variant<AdminQuery, Error> parse_admin_query(Operation operation,
                                                  std::string_view query)
{
    QueryParameter limit{"limit"};
    QueryParameter cursor{"cursor"};
    QueryParameter external_id{"external_id"};
    QueryParameter plan{"plan"};
    QueryParameter account{"account"};
    QueryParameter digest{"sha256"};
    QueryParameter from{"from"};
    QueryParameter to{"to"};
    QueryParameter by{"by"};
    AdminQuery result;
    std::optional<Error> error;
    switch (operation) {
    case Operation::list_accounts:
        error = read_query(query, {&limit, &cursor, &external_id, &plan});
        break;
    case Operation::list_keys:
        error = read_query(query,
                           {&limit, &cursor, &external_id, &account, &digest});
        break;
    case Operation::list_usage:
        error = read_query(query, {&limit, &cursor, &from, &to, &by});
        break;
    case Operation::get_account_usage:
        error = read_query(query, {&from, &to, &by});
        break;
    default:
        break;
    }
    const auto then = [&](auto&& take) {
        if (!error) {
            error = take();
        }
    };
    then([&] { return read_limit(limit, result.limit); });
    then([&] { return take_external_id(external_id, result.external_id); });
    then([&] { return take_filter(plan, result.plan); });
    then([&] { return take_filter(account, result.account); });
    then([&] { return take_period(from, to, by, result); });
    if (!error && digest.value) {
        result.sha256 = digest_of_hex(*digest.value);
        if (!result.sha256) {
            error =
                invalid_parameter(digest.name, "must be 64 hexadecimal digits");
        }
    }
    if (!error && cursor.value
        && !take_cursor(*cursor.value, operation, result)) {
        error = invalid_parameter(
            cursor.name,
            "must be one from a Link header, with the same other parameters");
    }
    if (error) {
        return std::move(*error);
    }
    return result;
}

UsagePeriod usage_period(const AdminQuery& query, Day today) noexcept
{
    UsagePeriod period;
    period.step = query.step;
    if (query.first_page) {
        period.from = query.first_page->from;
        period.to = query.first_page->to;
        return period.kept_at(today);
    }
    period.to = query.to.value_or(today);
    period.from =
        query.from.value_or(first_of_month(std::min(period.to, today)));
    return period.kept_at(today);
}

std::string admin_links(std::string_view list, Operation operation,
                        const AdminQuery& query, const ScanPlace& next)
{
    std::string bytes{query.first_page ? kUsageCursorVersion
                                       : kAdminCursorVersion};
    bytes.append(filter_digest(operation, query));
    append_big_endian(bytes, next.cursor, 8);
    append_big_endian(bytes, next.end, 8);
    if (query.first_page) {
        for (const Day day : {query.first_page->from, query.first_page->to}) {
            append_big_endian(bytes, static_cast<std::uint64_t>(day),
                              kDayBytes);
        }
    }
    bytes.append(next.after);

    std::string url(list);
    append_int(url.append("?limit="), query.limit);
    url.append(filter_of(query));
    std::string links = "<" + url + "&cursor=" + seal(std::move(bytes));
    return links.append(">; rel=\"next\", <")
        .append(url)
        .append(">; rel=\"first\"");
}

}  // namespace petstore::api
