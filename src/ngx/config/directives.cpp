// The directives' setters, which parse and validate their arguments.
#include <algorithm>

#include "../../api/text.h"
#include "../../ngx_base/str.h"
#include "../../store/schema.h"
#include "../module.h"
#include "arguments.h"
#include "config.h"

namespace petstore::ngx {

namespace {

// The member that the directive sets.
template <typename T>
T& field_of(const ngx_command_t* cmd, void* conf) noexcept
{
    return *reinterpret_cast<T*>(static_cast<char*>(conf) + cmd->offset);
}

// A size as nginx parses it, such as "32k".
struct SizeText {
    explicit SizeText(off_t size) noexcept
    {
        static constexpr char kUnits[] = {0, 'k', 'm', 'g'};
        std::size_t unit = 0;
        while (unit < 3 && size != 0 && size % 1024 == 0) {
            size /= 1024;
            ++unit;
        }
        u_char* end = ngx_snprintf(text, sizeof(text) - 2, "%O", size);
        *end++ = static_cast<u_char>(kUnits[unit]);
        *end = '\0';
    }
    u_char text[NGX_OFF_T_LEN + 2];
};

// Whether the text is visible ASCII that needs no escaping in a link.
bool is_plain_path(std::string_view text) noexcept
{
    return api::is_visible_ascii(text)
           && text.find_first_of("?#%\"<>\\^`{|}") == std::string_view::npos;
}

// Whether it starts with a slash and is as nginx normalizes a path.
bool is_normal_path(std::string_view text) noexcept
{
    return !text.empty() && text.front() == '/' && is_plain_path(text)
           && text.find("//") == std::string_view::npos
           && text.find("/.") == std::string_view::npos;
}

bool is_base_path(std::string_view text) noexcept
{
    const auto version = text.rfind("/v");
    return is_normal_path(text) && version != std::string_view::npos
           && api::parse_int64(text.substr(version + 2)).value_or(0) >= 1;
}

// Empty for "/".
bool is_admin_path(std::string_view text) noexcept
{
    return text.empty() || (is_normal_path(text) && text.back() != '/');
}

// Whether `text` is a host, and optionally a port, of a URL.
bool is_authority(std::string_view text) noexcept
{
    const bool is_address = text.substr(0, 1) == "[";
    const std::size_t colon = text.find(':', is_address ? text.find(']') : 0);
    const std::string_view host = text.substr(0, colon);
    if (is_address && (host.size() < 4 || host.back() != ']')) {
        return false;
    }
    if (host.empty() || host.find("..") != std::string_view::npos) {
        return false;
    }
    if (colon == std::string_view::npos) {
        return true;
    }
    return api::parse_port(text.substr(colon + 1)).has_value();
}

// http or https, a host and optionally a path; no user, no query.
bool is_base_url(std::string_view text) noexcept
{
    for (const std::string_view scheme : {"http://", "https://"}) {
        if (api::starts_with(text, scheme)) {
            const auto rest = text.substr(scheme.size());
            const auto host = rest.substr(0, rest.find('/'));
            const auto path = rest.substr(host.size());
            // Variables are not supported and would be sent literally.
            return is_authority(host) && is_plain_path(host)
                   && (path.empty() || is_normal_path(path))
                   && rest.find_first_of("@$") == std::string_view::npos;
        }
    }
    return false;
}

// petstore, petstore_usage, petstore_admin, petstore_status and
// petstore_health: at most one per location.
char* refuse_second_handler(ngx_conf_t* cf) noexcept
{
    return refuse(
        cf,
        "\"%V\" cannot be used in one location with another of \"petstore\", \"petstore_usage\", \"petstore_admin\", \"petstore_status\" and \"petstore_health\"",
        arguments(cf));
}

char* set_own_handler(ngx_conf_t* cf, LocConf& loc,
                      ngx_http_handler_pt handler) noexcept
{
    if (loc.own_handler != nullptr || loc.serves != NGX_CONF_UNSET) {
        return refuse_second_handler(cf);
    }
    loc.own_handler = handler;
    loc.position = current_position(cf);
    core_loc_conf(cf).handler = handler;
    main_conf(cf).in_use = true;
    return kConfOk;
}

}  // namespace

SizeRange body_sizes = {1, off_t{1} << 30, 0};
// A cache entry may take a quarter of its share, so less would hold only a few.
SizeRange worker_memory_sizes = {off_t{1} << 20, off_t{1} << 40, 0};
SizeRange zone_sizes = {0, off_t{64} << 30, 8};

char* set_time(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept
{
    constexpr ngx_int_t kMost = api::kDaySeconds * 1000;
    constexpr ngx_int_t kUsual = 60'000;
    auto& field = field_of<ngx_msec_t>(cmd, conf);
    if (field != NGX_CONF_UNSET_MSEC) {
        return kDuplicate;
    }
    ngx_str_t& argument = arguments(cf)[1];
    const ngx_int_t time = ngx_parse_time(&argument, 0);
    if (time == NGX_ERROR || time < 1 || time > kMost) {
        return refuse_value(
            cf, argument, "a time from 1ms to 1d, such as \"500ms\" or \"2s\"");
    }
    if (time > kUsual) {
        ngx_conf_log_error(
            NGX_LOG_WARN, cf, 0,
            "\"%V\" of \"%V\" is %i seconds: requests may wait that long for Redis; a number without a unit is in seconds, \"ms\" stands for milliseconds",
            arguments(cf), &argument, time / 1000);
    }
    field = static_cast<ngx_msec_t>(time);
    return kConfOk;
}

char* set_size(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept
{
    const auto& range = *static_cast<const SizeRange*>(cmd->post);
    auto& field = field_of<size_t>(cmd, conf);
    if (field != NGX_CONF_UNSET_SIZE) {
        return kDuplicate;
    }
    ngx_str_t& argument = arguments(cf)[1];
    const off_t least = std::max(
        range.least, range.least_pages * static_cast<off_t>(ngx_pagesize));
    const off_t size = ngx_parse_offset(&argument);
    if (size == NGX_ERROR || size < least || size > range.most) {
        return refuse(
            cf,
            "invalid value \"%V\" in \"%V\" directive, it must be a size from %s to %s",
            &argument, arguments(cf), SizeText(least).text,
            SizeText(range.most).text);
    }
    field = static_cast<size_t>(size);
    return kConfOk;
}

char* set_choice(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept
{
    return conf_guarded(cf, [&]() -> char* {
        auto& field = field_of<ngx_uint_t>(cmd, conf);
        if (field != NGX_CONF_UNSET_UINT) {
            return kDuplicate;
        }
        const ngx_str_t& argument = arguments(cf)[1];
        std::string names;
        for (auto* choice = static_cast<const ngx_conf_enum_t*>(cmd->post);
             choice->name.len != 0; ++choice) {
            if (ngx_base::view(argument) == ngx_base::view(choice->name)) {
                field = choice->value;
                return kConfOk;
            }
            names += names.empty() ? "\"" : ", \"";
            names.append(ngx_base::view(choice->name)).append("\"");
        }
        return refuse_value(cf, argument, ("one of " + names).c_str());
    });
}

TextRule prefix_rule = {nullptr,
                        [](std::string_view text) noexcept {
                            return store::Schema::prefix_problem(text)
                                   == nullptr;
                        },
                        "1 to 32 letters, digits, \"_\", \"-\" or \".\""};

char* set_text(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept
{
    const auto& rule = *static_cast<const TextRule*>(cmd->post);
    auto& field = field_of<ngx_str_t>(cmd, conf);
    if (field.data != nullptr) {
        return kDuplicate;
    }
    ngx_str_t text = arguments(cf)[1];
    if (rule.is_none != nullptr && rule.is_none(ngx_base::view(text))) {
        text.len = 0;
    } else if (!rule.is_valid(ngx_base::view(text))) {
        return refuse_value(cf, text, rule.accepted);
    }
    field = text;
    return kConfOk;
}

char* set_petstore(ngx_conf_t* cf, LocConf& loc)
{
    if (loc.serves != NGX_CONF_UNSET) {
        return kDuplicate;
    }
    if (loc.own_handler != nullptr) {
        return refuse_second_handler(cf);
    }
    loc.serves = 1;
    loc.position = current_position(cf);
    if (cf->args->nelts == 2) {
        const ngx_str_t& path = arguments(cf)[1];
        if (!is_base_path(ngx_base::view(path))) {
            return refuse_value(
                cf, path,
                "a path that starts with \"/\" and ends with a version, such as \"/v1\" or \"/store/v1\", without \"//\", \"/.\" and characters to be escaped");
        }
        loc.base_path = path;
    }
    auto& core = core_loc_conf(cf);
    if (core.handler != nullptr) {
        ngx_conf_log_error(
            NGX_LOG_WARN, cf, 0,
            "\"petstore\" overrides an earlier directive, such as \"proxy_pass\"");
    }
    core.handler = content_handler;
    main_conf(cf).served.push_back({loc.position, &core, &loc});
    return kConfOk;
}

char* set_usage(ngx_conf_t* cf, LocConf& loc)
{
    char* const result = set_own_handler(cf, loc, usage_handler);
    if (result == kConfOk) {
        main_conf(cf).usages.push_back(
            {loc.position, &core_loc_conf(cf), &loc, server_of(cf)});
    }
    return result;
}

char* set_admin(ngx_conf_t* cf, LocConf& loc)
{
    auto& core = core_loc_conf(cf);
    if (!is_plain(core) || core.exact_match) {
        return refuse(
            cf,
            "\"petstore_admin\" must be in a location with a plain prefix, such as \"/admin/v1/\"");
    }
    ngx_str_t path = cf->args->nelts == 2 ? arguments(cf)[1] : core.name;
    if (cf->args->nelts == 1 && path.len != 0
        && path.data[path.len - 1] == '/') {
        --path.len;
    }
    if (!is_admin_path(ngx_base::view(path))) {
        return refuse_value(
            cf, path,
            "a path that starts with \"/\" and does not end with it, such as \"/admin/v1\", without \"//\", \"/.\" and characters to be escaped");
    }
    char* const result = set_own_handler(cf, loc, admin_handler);
    if (result == kConfOk) {
        loc.admin_path = path;
        main_conf(cf).admin_locations.push_back(
            {loc.position, &core, &loc, server_of(cf)});
    }
    return result;
}

char* set_status(ngx_conf_t* cf, LocConf& loc)
{
    return set_own_handler(cf, loc, status_handler);
}

char* set_health(ngx_conf_t* cf, LocConf& loc)
{
    const ngx_str_t& kind = arguments(cf)[1];
    const bool live = ngx_base::view(kind) == "live";
    if (!live && ngx_base::view(kind) != "ready") {
        return refuse_value(cf, kind, "\"live\" or \"ready\"");
    }
    return set_own_handler(cf, loc, live ? live_handler : ready_handler);
}

char* set_guard(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept
{
    static_cast<LocConf*>(conf)->guard_position = current_position(cf);
    return ngx_conf_set_flag_slot(cf, cmd, conf);
}

char* set_positioned_text(ngx_conf_t* cf, ngx_command_t* cmd,
                          void* conf) noexcept
{
    auto& field = field_of<PositionedText>(cmd, conf);
    if (field.text.data != nullptr) {
        return kDuplicate;
    }
    field = {arguments(cf)[1], current_position(cf)};
    return kConfOk;
}

char* set_base_url(ngx_conf_t* cf, LocConf& loc)
{
    if (loc.base_url.data != nullptr) {
        return kDuplicate;
    }
    ngx_str_t url = arguments(cf)[1];
    while (url.len != 0 && url.data[url.len - 1] == '/') {
        --url.len;
    }
    if (!is_base_url(ngx_base::view(url))) {
        const auto text = ngx_base::view(arguments(cf)[1]);
        const auto quoted = text.find('@') == std::string_view::npos
                                ? std::string(text)
                                : redis::redact_url(text);
        return refuse(
            cf,
            "invalid value \"%s\" in \"petstore_base_url\" directive, it must be an absolute http or https URL without user, query, variables and characters to be escaped, and without \"//\" and \"/.\" in its path",
            quoted.c_str());
    }
    loc.base_url = url;
    return kConfOk;
}

char* set_get_sunset(ngx_conf_t* cf, LocConf& loc)
{
    if (loc.get_sunset != NGX_CONF_UNSET) {
        return kDuplicate;
    }
    const ngx_str_t& argument = arguments(cf)[1];
    if (ngx_base::view(argument) == "off") {
        loc.get_sunset = service::Settings::kNeverGone;
        return kConfOk;
    }
    const auto date = api::parse_date(ngx_base::view(argument));
    if (!date || *date <= 0) {
        return refuse_value(
            cf, argument,
            "a date after 1970, such as \"2030-12-05\" or \"2030-12-05T10:00:00Z\", or \"off\"");
    }
    loc.get_sunset = static_cast<time_t>(*date);
    return kConfOk;
}

}  // namespace petstore::ngx
