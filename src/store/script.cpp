#include "script.h"

#include <array>
#include <openssl/evp.h>
#include <stdexcept>

#include "../api/text.h"
#include "petstore_lua.h"

namespace petstore::store {

namespace {

Script make(std::string_view name, std::string_view text)
{
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    unsigned int size = 0;
    if (!EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(),
                    nullptr)) {
        throw std::runtime_error("OpenSSL has no SHA-1");
    }
    return {name, text,
            api::to_hex({reinterpret_cast<const char*>(digest.data()), size})};
}

}  // namespace

resp::Command call(const Script& script, std::int64_t keys, bool eval)
{
    resp::Command command(eval ? "EVAL" : "EVALSHA");
    command.arg(eval ? script.text : std::string_view(script.sha1)).arg(keys);
    return command;
}

namespace scripts {

const Script& create_pet()
{
    static const Script script = make("create_pet", k_create_pet_lua);
    return script;
}

const Script& list_by_status()
{
    static const Script script = make("list_by_status", k_list_by_status_lua);
    return script;
}

const Script& set_status()
{
    static const Script script = make("set_status", k_set_status_lua);
    return script;
}

const Script& limit()
{
    static const Script script = make("limit", k_limit_lua);
    return script;
}

const Script& strike()
{
    static const Script script = make("strike", k_strike_lua);
    return script;
}

const Script& touch_account()
{
    static const Script script = make("touch_account", k_touch_account_lua);
    return script;
}

const Script& unban()
{
    static const Script script = make("unban", k_unban_lua);
    return script;
}

const Script& clear_caches()
{
    static const Script script = make("clear_caches", k_clear_caches_lua);
    return script;
}

}  // namespace scripts

}  // namespace petstore::store
