// The directives of limits and bans.
#include <algorithm>

#include "../../api/limit.h"
#include "../../api/plan.h"
#include "../../api/text.h"
#include "../../ngx_base/str.h"
#include "arguments.h"
#include "merge.h"

namespace petstore::ngx {

namespace {

// The name in "$name" or "${name}"; empty for any other text.
std::string_view variable_name(std::string_view text) noexcept
{
    if (text.empty() || text.front() != '$') {
        return {};
    }
    text.remove_prefix(1);
    if (text.size() > 2 && text.front() == '{' && text.back() == '}') {
        text = text.substr(1, text.size() - 2);
    }
    return api::is_alphanumeric_or(text, "_") ? text : std::string_view();
}

void merge_cost(const LocConf& prev, LocConf& conf, MainConf& main) noexcept
{
    if (conf.cost == NGX_CONF_UNSET) {
        conf.cost_variable = prev.cost_variable;
    }
    ngx_conf_merge_value(conf.cost, prev.cost, 1);
    conf.service.cost = conf.cost;
    if (conf.cost == 0) {
        conf.variable_cost = main.variable_costs++;
    }
}

}  // namespace

void merge_limits(const LocConf& prev, LocConf& conf, MainConf& main) noexcept
{
    merge_cost(prev, conf, main);
    if (!conf.ban) {
        conf.ban = prev.ban;
    }
    conf.service.ban = conf.ban.value_or(api::BanPolicy());
    ngx_conf_merge_value(conf.limit_dry_run, prev.limit_dry_run, 0);
    ngx_conf_merge_uint_value(conf.limit_headers, prev.limit_headers,
                              kHeadersStandard);
    ngx_conf_merge_value(conf.anonymous_limit, prev.anonymous_limit, 60);
    ngx_conf_merge_value(conf.anonymous_enforce, prev.anonymous_enforce, 0);
    conf.service.limit_dry_run = conf.limit_dry_run != 0;
    conf.service.enforce_address_limit = conf.anonymous_enforce != 0;
}

char* set_plan(ngx_conf_t* cf, MainConf& main)
{
    const ngx_str_t& name = arguments(cf)[1];
    if (!api::may_name_plan(ngx_base::view(name))) {
        return refuse(
            cf,
            "invalid plan \"%V\" in \"petstore_plan\" directive, it must be 1 to 32 lower-case letters, digits, \"-\" or \"_\", and none of \"none\", \"all\" and \"unknown\"",
            &name);
    }
    Parameters::Value minute;
    Parameters::Value day;
    Parameters::Value month;
    const bool taken = Parameters(cf).each(
        2, "\"minute=N\", \"day=N\" or \"month=N\"",
        [&](Parameters& parameters) {
            parameters.number("minute", api::kMaxLimit, minute);
            parameters.number("day", api::kMaxLimit, day);
            parameters.number("month", api::kMaxLimit, month);
        });
    if (!taken) {
        return kConfError;
    }
    if (!minute || !day) {
        return refuse(
            cf, "plan \"%V\" in \"petstore_plan\" directive lacks \"%s=N\"",
            &name, minute ? "day" : "minute");
    }
    const auto warn_if_above = [&](const char* window, std::int64_t limit,
                                   const char* longer, std::int64_t most) {
        if (limit > most) {
            ngx_conf_log_error(
                NGX_LOG_WARN, cf, 0,
                "the %s limit %L of plan \"%V\" exceeds its %s limit %L",
                window, limit, &name, longer, most);
        }
    };
    warn_if_above("minute", *minute, "day", *day);
    warn_if_above("day", *day, "month", month.value_or(*day));
    SourcePosition& position =
        main.plan_positions[std::string(ngx_base::view(name))];
    if (position.known()) {
        ngx_conf_log_error(
            NGX_LOG_WARN, cf, 0,
            "plan \"%V\" replaces the one of that name in %V:%ui", &name,
            &position.file, position.line);
    }
    position = current_position(cf);
    main.plans.set(std::string(ngx_base::view(name)),
                   {*minute, *day, month.value_or(0)});
    return kConfOk;
}

char* set_ban(ngx_conf_t* cf, LocConf& loc)
{
    if (loc.ban) {
        return kDuplicate;
    }
    api::BanPolicy& ban = loc.ban.emplace();
    ban.enabled =
        cf->args->nelts != 2 || ngx_base::view(arguments(cf)[1]) != "off";
    Parameters::Value threshold;
    Parameters::Value window;
    Parameters::Value duration;
    Parameters::Value max;
    if (ban.enabled
        && !Parameters(cf).each(
            1,
            "\"off\" alone, \"threshold=N\", \"window=TIME\", \"duration=TIME\" or \"max=TIME\"",
            [&](Parameters& parameters) {
                parameters.number("threshold", api::kMaxLimit, threshold);
                parameters.seconds("window", window);
                parameters.seconds("duration", duration);
                parameters.seconds("max", max);
            })) {
        return kConfError;
    }
    // A directive is a complete policy: omitted parameters are not inherited.
    ban.threshold = threshold.value_or(ban.threshold);
    ban.window = window.value_or(ban.window);
    ban.duration = duration.value_or(ban.duration);
    ban.max = max.value_or(std::max(ban.max, ban.duration));
    if (ban.max < ban.duration) {
        return refuse(
            cf,
            "\"max\" of %Ls in \"petstore_ban\" directive is less than \"duration\", which is %Ls",
            ban.max, ban.duration);
    }
    return kConfOk;
}

char* set_cost(ngx_conf_t* cf, LocConf& loc)
{
    if (loc.cost != NGX_CONF_UNSET) {
        return kDuplicate;
    }
    const ngx_str_t& argument = arguments(cf)[1];
    const std::string_view variable = variable_name(ngx_base::view(argument));
    if (!variable.empty()) {
        ngx_str_t name = ngx_base::borrow(variable);
        loc.cost = 0;
        loc.cost_variable = ngx_http_get_variable_index(cf, &name);
        return loc.cost_variable == NGX_ERROR ? kConfError : kConfOk;
    }
    const auto cost = api::parse_cost(ngx_base::view(argument));
    if (!cost) {
        return refuse_value(cf, argument,
                            "a number from 1 to 10000, or a variable");
    }
    loc.cost = static_cast<ngx_int_t>(*cost);
    return kConfOk;
}

char* set_anonymous_limit(ngx_conf_t* cf, LocConf& loc)
{
    if (loc.anonymous_limit != NGX_CONF_UNSET) {
        return kDuplicate;
    }
    const ngx_str_t* args = arguments(cf);
    const auto limit = api::parse_int64(ngx_base::view(args[1]));
    if (!limit || *limit < 1 || *limit > 1'000'000'000) {
        return refuse_value(cf, args[1], "a number from 1 to 1000000000");
    }
    loc.anonymous_limit = static_cast<ngx_int_t>(*limit);
    loc.anonymous_enforce = 0;
    if (cf->args->nelts == 3) {
        if (ngx_base::view(args[2]) != "enforce") {
            return refuse_parameter(cf, args[2], "\"enforce\"");
        }
        loc.anonymous_enforce = 1;
    }
    return kConfOk;
}

}  // namespace petstore::ngx
