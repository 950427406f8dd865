#include "arguments.h"

#include "../../api/plan.h"
#include "../../api/text.h"

namespace petstore::ngx {

std::optional<std::string_view> Parameters::take(std::string_view name,
                                                 bool seen) noexcept
{
    const auto text = ngx_base::view(argument_);
    if (taken_ || text.size() <= name.size()
        || text.substr(0, name.size()) != name || text[name.size()] != '=') {
        return std::nullopt;
    }
    taken_ = true;
    if (seen) {
        refuse_duplicate();
        return std::nullopt;
    }
    return text.substr(name.size() + 1);
}

void Parameters::refuse_duplicate() noexcept
{
    refuse(cf_, "duplicate parameter \"%V\" in \"%V\" directive", &argument_,
           arguments(cf_));
    refused_ = true;
}

void Parameters::flag(std::string_view name, bool& value) noexcept
{
    if (taken_ || ngx_base::view(argument_) != name) {
        return;
    }
    taken_ = true;
    if (value) {
        refuse_duplicate();
    }
    value = true;
}

void Parameters::number(std::string_view name, std::int64_t most,
                        Value& value) noexcept
{
    const auto text = take(name, value.has_value());
    if (!text) {
        return;
    }
    value = api::parse_int64(*text);
    if (!value || *value < 1 || *value > most) {
        refuse(
            cf_,
            "invalid parameter \"%V\" in \"%V\" directive, it must be a number from 1 to %L",
            &argument_, arguments(cf_), static_cast<int64_t>(most));
        refused_ = true;
    }
}

void Parameters::seconds(std::string_view name, Value& value) noexcept
{
    const auto text = take(name, value.has_value());
    if (!text) {
        return;
    }
    value = api::parse_duration(*text);
    if (!value || *value < 1 || *value > api::kDaySeconds) {
        refuse_parameter(cf_, argument_,
                         "a time from 1s to 1d, such as \"90s\" or \"5m\"");
        refused_ = true;
    }
}

}  // namespace petstore::ngx
