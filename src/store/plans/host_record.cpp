#include "host_record.h"

#include <algorithm>
#include <utility>

#include "../../api/digest.h"
#include "../../api/json_reader.h"
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

class HostReader : public api::JsonStructure {
public:
    explicit HostReader(HostPlans& host) noexcept : host_(host) {}

    // Whether it had all members.
    bool complete() const noexcept
    {
        return found_ == kHost + kConfiguration + kVersion + kPlans;
    }

    bool null() { return other(); }
    bool boolean(bool) { return other(); }
    bool binary(std::vector<std::uint8_t>&) { return other(); }
    bool number_float(double, const std::string&) { return other(); }
    bool number_integer(std::int64_t) { return other(); }  // negative
    bool number_unsigned(std::uint64_t number)
    {
        if (!is_in_plan()) {
            return other();
        }
        if (takes_numbers_) {
            numbers_.append(numbers_.empty() ? "" : " ")
                .append(std::to_string(number));
        }
        return value();
    }
    bool string(std::string& text)
    {
        if (depth() != 1 || member_ == kPlans) {
            return other();
        }
        if (member_ == kHost) {
            host_.name = std::move(text);
        } else if (member_ == kConfiguration) {
            host_.configuration = std::move(text);
        } else if (member_ == kVersion) {
            host_.version = std::move(text);
        }
        found_ |= member_;
        return value();
    }

    bool key(std::string& name)
    {
        add_name(name);
        if (depth() == 1) {
            member_ = name == "host"      ? kHost
                      : name == "config"  ? kConfiguration
                      : name == "version" ? kVersion
                      : name == "plans"   ? kPlans
                                          : kUnknown;
        } else if (is_in_plans()) {
            plan_ = std::move(name);
        }
        return true;
    }
    bool start_object(std::size_t)
    {
        if (depth() == 1 && member_ == kPlans) {
            found_ |= kPlans;
        } else if (depth() != 0 && !other()) {
            return false;
        }
        return enter_object();
    }
    bool end_object() { return leave_object(); }

    bool start_array(std::size_t)
    {
        if (is_in_plans()) {
            numbers_.clear();
            takes_numbers_ = true;
        } else if (!other()) {
            return false;
        }
        return enter_array();
    }
    bool end_array() { return leave_array() && (!is_in_plans() || end_plan()); }

private:
    enum Member : unsigned {
        kUnknown = 0,
        kHost = 1,
        kConfiguration = 2,
        kVersion = 4,
        kPlans = 8
    };

    bool is_in_plans() const { return depth() == 2 && member_ == kPlans; }
    bool is_in_plan() const { return depth() == 3 && member_ == kPlans; }

    // Numbers of a plan may be followed by anything, and unknown members may
    // have any value.
    bool other()
    {
        takes_numbers_ = false;
        const bool wanted =
            (depth() == 1 && member_ != kUnknown) || is_in_plans();
        return value() && !wanted;
    }

    bool end_plan()
    {
        const auto limits = parse_limits(numbers_);
        if (!limits || !api::is_plan_name(plan_)) {
            return false;
        }
        host_.plans.emplace(std::move(plan_), *limits);
        return true;
    }

    HostPlans& host_;
    unsigned found_ = 0;
    Member member_ = kUnknown;
    std::string plan_;
    std::string numbers_;
    bool takes_numbers_ = false;
};

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
    json.append(R"(,"plans":{)");
    for (const auto& [name, limits] : plans) {
        json.append(json.back() == '{' ? "" : ",");
        append_text(json, name);
        api::append_int(json.append(":["), limits.minute);
        api::append_int(json.append(","), limits.day);
        if (limits.has_month()) {
            api::append_int(json.append(","), limits.month);
        }
        json.push_back(']');
    }
    return json.append("}}");
}

std::optional<HostPlans> parse_host(std::string_view value)
{
    HostPlans host;
    const std::size_t space = std::min(value.find(' '), value.size());
    const auto published = api::parse_int64(value.substr(0, space));
    value.remove_prefix(std::min(space + 1, value.size()));
    HostReader reader(host);
    if (!published || !api::has_four_digit_year(*published)
        || api::read_json(value, reader) || !reader.complete()) {
        return std::nullopt;
    }
    host.published = *published;
    return host;
}

}  // namespace petstore::store
