#include "other_modules.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "../../ngx_base/str.h"

namespace petstore::ngx {

namespace {

const ngx_module_t* find_module(const ngx_conf_t* cf,
                                std::string_view name) noexcept
{
    for (ngx_uint_t i = 0; cf->cycle->modules[i] != nullptr; ++i) {
        if (name == cf->cycle->modules[i]->name) {
            return cf->cycle->modules[i];
        }
    }
    return nullptr;
}

const ngx_command_t* find_command(const ngx_module_t& module,
                                  std::string_view directive) noexcept
{
    for (auto* command = module.commands;
         command != nullptr && command->name.len != 0; ++command) {
        if (ngx_base::view(command->name) == directive) {
            return command;
        }
    }
    return nullptr;
}

// The first word of what a directive sets: a pointer, a number, or the length
// of a text. With `index`, a later word. 0 at the level of a server, for which
// nginx keeps no `confs` in its core module's settings.
std::uintptr_t word_of(void** confs, const ngx_module_t& module,
                       const ngx_command_t& command,
                       std::size_t index = 0) noexcept
{
    std::uintptr_t word = 0;
    const auto* conf = confs != nullptr
                           ? static_cast<const u_char*>(confs[module.ctx_index])
                           : nullptr;
    if (conf != nullptr) {
        std::memcpy(&word, conf + command.offset + index * sizeof(word),
                    sizeof(word));
    }
    return word;
}

std::uintptr_t word_of(const ngx_conf_t* cf, void** confs,
                       std::string_view module_name, std::string_view directive,
                       std::size_t index = 0) noexcept
{
    const ngx_module_t* module = find_module(cf, module_name);
    const ngx_command_t* command =
        module != nullptr ? find_command(*module, directive) : nullptr;
    return command != nullptr ? word_of(confs, *module, *command, index) : 0;
}

// The rewrite module's compiled directives; nullptr if there are none.
const ngx_array_t* script_of(const ngx_conf_t* cf, void** confs) noexcept
{
    return reinterpret_cast<const ngx_array_t*>(
        word_of(cf, confs, "ngx_http_rewrite_module", "return"));
}

// Whether a directive auth_… of any module but those below applies.
bool has_other_auth(const ngx_conf_t* cf, void** confs) noexcept
{
    constexpr std::string_view kPrefix = "auth_";
    for (ngx_uint_t i = 0; cf->cycle->modules[i] != nullptr; ++i) {
        const ngx_module_t& module = *cf->cycle->modules[i];
        const std::string_view name = module.name;
        if (module.type != NGX_HTTP_MODULE || name == "ngx_http_core_module"
            || name == "ngx_http_auth_basic_module") {
            continue;
        }
        for (auto* command = module.commands;
             command != nullptr && command->name.len != 0; ++command) {
            if (ngx_base::view(command->name).substr(0, kPrefix.size())
                    == kPrefix
                && command->conf == NGX_HTTP_LOC_CONF_OFFSET
                && word_of(confs, module, *command) != 0) {
                return true;
            }
        }
    }
    return false;
}

// Whether a text was allocated in the pool, so that it is safe to read.
bool is_in(const ngx_pool_t* pool, const ngx_str_t& text) noexcept
{
    for (auto* block = pool; block != nullptr; block = block->d.next) {
        if (text.data >= reinterpret_cast<const u_char*>(block)
            && text.data + text.len <= block->d.last) {
            return true;
        }
    }
    for (auto* large = pool->large; large != nullptr; large = large->next) {
        if (large->alloc == text.data) {
            return true;
        }
    }
    return false;
}

// The text of a zone's key. It follows two pointers and, in some zones, a
// number; what is not a text that the configuration has allocated is not read.
ngx_str_t key_of(const ngx_conf_t* cf, const ngx_shm_zone_t& zone) noexcept
{
    constexpr std::size_t kMaxSize = 4096;
    for (const std::size_t position : {2, 3}) {
        ngx_str_t text;
        std::memcpy(&text,
                    static_cast<const u_char*>(zone.data)
                        + position * sizeof(std::uintptr_t),
                    sizeof(text));
        if (text.len != 0 && text.len <= kMaxSize && is_in(cf->pool, text)) {
            return text;
        }
    }
    return ngx_null_string;
}

bool uses_own_variable(std::string_view text) noexcept
{
    return text.find("$petstore_") != std::string_view::npos
           || text.find("${petstore_") != std::string_view::npos;
}

}  // namespace

bool tries_files(const ngx_conf_t* cf) noexcept
{
    void** confs = static_cast<ngx_http_conf_ctx_t*>(cf->ctx)->loc_conf;
    return word_of(cf, confs, "ngx_http_try_files_module", "try_files") != 0;
}

bool passes_on(const ngx_conf_t* cf) noexcept
{
    void** confs = static_cast<ngx_http_conf_ctx_t*>(cf->ctx)->loc_conf;
    return tries_files(cf)
           || word_of(cf, confs, "ngx_http_mirror_module", "mirror") != 0;
}

bool may_rewrite(const ngx_conf_t* cf,
                 const ngx_http_core_loc_conf_t& core) noexcept
{
    return script_of(cf, core.loc_conf) != nullptr;
}

// The script is a sequence of structures that begin with their function; that
// of an `if` is followed by the block's, up to `next`.
bool returns_always(const ngx_conf_t* cf,
                    const ngx_http_core_loc_conf_t& core) noexcept
{
    const auto is = [](std::uintptr_t word, ngx_http_script_code_pt code) {
        return word == reinterpret_cast<std::uintptr_t>(code);
    };
    const ngx_array_t* script = script_of(cf, core.loc_conf);
    const std::size_t size = script != nullptr ? script->nelts : 0;
    const auto word_at = [&](std::size_t place) {
        std::uintptr_t word = 1;  // beyond the end
        if (place + sizeof(word) <= size) {
            std::memcpy(&word, static_cast<const u_char*>(script->elts) + place,
                        sizeof(word));
        }
        return word;
    };
#if (NGX_PCRE)
    const auto breaks = [&](std::size_t place) {
        ngx_http_script_regex_code_t code = {};
        if (place + sizeof(code) <= size) {
            std::memcpy(&code, static_cast<const u_char*>(script->elts) + place,
                        sizeof(code));
        }
        return code.break_cycle != 0;
    };
#endif
    std::size_t at = 0;
    while (at + sizeof(std::uintptr_t) <= size) {
        const std::uintptr_t word = word_at(at);
        if (is(word, ngx_http_script_return_code)) {
            return true;
        }
        if (is(word, ngx_http_script_break_code)) {
            return false;
        }
#if (NGX_PCRE)
        // What a `rewrite … break` matches goes on to the guard.
        if (is(word, ngx_http_script_regex_start_code) && breaks(at)) {
            return false;
        }
#endif
        std::uintptr_t step = sizeof(word);
        if (is(word, ngx_http_script_if_code)) {
            step = word_at(at + offsetof(ngx_http_script_if_code_t, next));
        }
        at += std::max(step, sizeof(word));
    }
    return false;
}

bool returns_first(const ngx_conf_t* cf, void** confs) noexcept
{
    const ngx_array_t* script = script_of(cf, confs);
    std::uintptr_t word = 0;
    if (script == nullptr || script->nelts < sizeof(word)) {
        return false;
    }
    std::memcpy(&word, script->elts, sizeof(word));
    return word
           == reinterpret_cast<std::uintptr_t>(ngx_http_script_return_code);
}

const void* basic_auth_of(const ngx_conf_t* cf,
                          const ngx_http_core_loc_conf_t& core) noexcept
{
    const auto* realm = reinterpret_cast<const ngx_http_complex_value_t*>(
        word_of(cf, core.loc_conf, "ngx_http_auth_basic_module", "auth_basic"));
    return realm != nullptr && ngx_base::view(realm->value) != "off" ? realm
                                                                     : nullptr;
}

bool has_access_rules(const ngx_conf_t* cf,
                      const ngx_http_core_loc_conf_t& core) noexcept
{
    // The arrays of rules for IPv4, IPv6 and unix sockets.
#if (NGX_HAVE_INET6 && NGX_HAVE_UNIX_DOMAIN)
    constexpr std::size_t kArrays = 3;
#else
    constexpr std::size_t kArrays = 1;
#endif
    for (std::size_t i = 0; i < kArrays; ++i) {
        if (word_of(cf, core.loc_conf, "ngx_http_access_module", "allow", i)
            != 0) {
            return true;
        }
    }
    return has_other_auth(cf, core.loc_conf);
}

bool verifies_clients(const ngx_conf_t* cf,
                      const ngx_http_core_srv_conf_t& server) noexcept
{
    return word_of(cf, server.ctx->srv_conf, "ngx_http_ssl_module",
                   "ssl_verify_client")
           != 0;
}

void find_zones_by_own_variables(ngx_conf_t* cf, ReportZone report) noexcept
{
    const void* const tags[] = {find_module(cf, "ngx_http_limit_req_module"),
                                find_module(cf, "ngx_http_limit_conn_module")};
    for (auto* part = &cf->cycle->shared_memory.part; part != nullptr;
         part = part->next) {
        auto* zones = static_cast<ngx_shm_zone_t*>(part->elts);
        for (ngx_uint_t i = 0; i < part->nelts; ++i) {
            const ngx_shm_zone_t& zone = zones[i];
            if (zone.tag == nullptr || zone.data == nullptr
                || (zone.tag != tags[0] && zone.tag != tags[1])) {
                continue;
            }
            const ngx_str_t key = key_of(cf, zone);
            if (uses_own_variable(ngx_base::view(key))) {
                report(cf, zone.shm.name, key);
            }
        }
    }
}

}  // namespace petstore::ngx
