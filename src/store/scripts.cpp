#include "scripts.h"

#include <initializer_list>
#include <string>

#include "store_files.h"  // lua/

namespace petstore::store::scripts {

namespace {

// The text of a script that begins with shared parts.
std::string joined(std::initializer_list<const char*> parts)
{
    std::string text;
    for (const char* part : parts) {
        text += part;
    }
    return text;
}

// Of the limiter, after the part that reads the states.
std::string limiter(const char* read)
{
    return joined(
        {read, k_limit_lua, k_damaged_lua, k_usage_lua, k_limit_unusual_lua});
}

}  // namespace

const redis::Script& create_pets()
{
    static const std::string text = joined({k_damaged_lua, k_create_pets_lua});
    static const redis::Script script("create_pets", text);
    return script;
}

const redis::Script& list_by_status()
{
    static const redis::Script script("list_by_status", k_list_by_status_lua);
    return script;
}

const redis::Script& set_status()
{
    static const std::string text = joined({k_damaged_lua, k_set_status_lua});
    static const redis::Script script("set_status", text);
    return script;
}

const redis::Script& limit()
{
    static const std::string text = limiter(k_limit_read_lua);
    static const redis::Script script("limit", text);
    return script;
}

const redis::Script& limit_across_slots()
{
    static const std::string text = limiter(k_limit_read_cluster_lua);
    static const redis::Script script("limit_across_slots", text);
    return script;
}

const redis::Script& strike()
{
    static const std::string text =
        joined({k_damaged_lua, k_usage_lua, k_strike_lua});
    static const redis::Script script("strike", text);
    return script;
}

const redis::Script& clock()
{
    static const redis::Script script("clock", k_clock_lua);
    return script;
}

const redis::Script& touch_account()
{
    static const redis::Script script("touch_account", k_touch_account_lua);
    return script;
}

const redis::Script& unban()
{
    static const redis::Script script("unban", k_unban_lua);
    return script;
}

const redis::Script& claim()
{
    static const redis::Script script("claim", k_claim_lua);
    return script;
}

const redis::Script& replace_claim()
{
    static const redis::Script script("replace_claim", k_replace_claim_lua);
    return script;
}

const redis::Script& settle_usage()
{
    static const std::string text =
        joined({k_damaged_lua, k_usage_lua, k_settle_usage_lua});
    static const redis::Script script("settle_usage", text);
    return script;
}

const redis::Script& forget_account()
{
    static const redis::Script script("forget_account", k_forget_account_lua);
    return script;
}

const redis::Script& read_usage()
{
    static const redis::Script script("read_usage", k_read_usage_lua);
    return script;
}

const redis::Script& clear_caches()
{
    static const std::string text = joined({k_damaged_lua, k_clear_caches_lua});
    static const redis::Script script("clear_caches", text);
    return script;
}

const redis::Script& freeze_catalogue()
{
    static const redis::Script script("freeze_catalogue",
                                      k_freeze_catalogue_lua);
    return script;
}

const redis::Script& publish_plans()
{
    static const redis::Script script("publish_plans", k_publish_plans_lua);
    return script;
}

const redis::Script& set_plan()
{
    static const redis::Script script("set_plan", k_set_plan_lua);
    return script;
}

const redis::Script& write_record()
{
    static const redis::Script script("write_record", k_write_record_lua);
    return script;
}

const redis::Script& take_account()
{
    static const redis::Script script("take_account", k_take_account_lua);
    return script;
}

const redis::Script& upgrade_state()
{
    static const redis::Script script("upgrade_state", k_upgrade_state_lua);
    return script;
}

const redis::Script& upgrade_catalogue()
{
    static const std::string text =
        joined({k_damaged_lua, k_upgrade_catalogue_lua});
    static const redis::Script script("upgrade_catalogue", text);
    return script;
}

const redis::Script& delete_key()
{
    static const redis::Script script("delete_key", k_delete_key_lua);
    return script;
}

}  // namespace petstore::store::scripts
