#include "host_record.h"

#include <variant>
#include <vector>

#include "../../api/digest.h"
#include "../../api/json_object.h"
#include "../../api/text.h"

namespace petstore::store {

namespace {

// Bytes that are not UTF-8 become "_".
void append_text(std::string& json, std::string_view text)
{
    std::string valid(text);
    if (!api::is_utf8(text)) {
        for (char& c : valid) {
            c = static_cast<unsigned char>(c) < 0x80 ? c : '_';
        }
    }
    api::append_json_string(json, valid);
}

using api::JsonMember;

// False if one of them is invalid or has the name of another.
bool parse_plans(const std::vector<std::string>& texts, api::NamedLimits& plans)
{
    for (std::string_view text : texts) {
        const std::string_view name = api::take_word(text);
        const auto limits = parse_limits(text);
        if (!limits || !api::is_plan_name(name)
            || !plans.emplace(name, *limits).second) {
            return false;
        }
    }
    return true;
}

}  // namespace

std::string host_field(const Host& host)
{
    constexpr std::size_t kDigits = 16;
    const api::Digest digest = api::sha256(host.name + host.configuration);
    return api::to_hex(api::bytes_of(digest)).substr(0, kDigits);
}

std::string host_json(const Host& host, const api::NamedLimits& plans)
{
    std::string json = R"({"host":)";
    append_text(json, host.name);
    append_text(json.append(R"(,"config":)"), host.configuration);
    append_text(json.append(R"(,"version":)"), host.version);
    json.append(R"(,"plans":[)");
    for (const auto& [name, limits] : plans) {
        json.append(json.back() == '[' ? "" : ",");
        append_text(json, name + ' ' + limits_text(limits));
    }
    return json.append("]}");
}

std::optional<HostPlans> parse_host(std::string_view value)
{
    const auto published = api::parse_int64(api::take_word(value));
    if (!published || !api::has_four_digit_year(*published)) {
        return std::nullopt;
    }
    // Only these are stored, so that a hostile value takes no more memory than
    // its text.
    auto parsed =
        api::parse_json_object(value, {"host", "config", "version", "plans"});
    auto* const members = std::get_if<std::vector<JsonMember>>(&parsed);
    if (members == nullptr) {
        return std::nullopt;
    }
    using Kind = JsonMember::Kind;
    const auto find = [&](std::string_view name, Kind kind) {
        const JsonMember* const found = api::find_member(*members, name);
        return found != nullptr && found->kind == kind ? found : nullptr;
    };
    const auto* const name = find("host", Kind::text);
    const auto* const path = find("config", Kind::text);
    const auto* const version = find("version", Kind::text);
    const auto* const plans = find("plans", Kind::texts);
    HostPlans host;
    if (name == nullptr || path == nullptr || version == nullptr
        || plans == nullptr || !parse_plans(plans->texts, host.plans)) {
        return std::nullopt;
    }
    host.name = name->text;
    host.configuration = path->text;
    host.version = version->text;
    host.published = *published;
    return host;
}

}  // namespace petstore::store
