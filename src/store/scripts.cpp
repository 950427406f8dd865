#include "scripts.h"

#include <initializer_list>
#include <string>

#include "store_files.h"  // lua/

namespace petstore::store {

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

Scripts::Scripts()
    : create_pets(joined({k_damaged_lua, k_create_pets_lua})),
      list_by_status(k_list_by_status_lua),
      set_status(joined({k_damaged_lua, k_set_status_lua})),
      limit(limiter(k_limit_read_lua)),
      limit_across_slots(limiter(k_limit_read_cluster_lua)),
      strike(joined({k_damaged_lua, k_usage_lua, k_strike_lua})),
      clock(k_clock_lua), touch_account(k_touch_account_lua),
      unban(k_unban_lua), compare_and_set(k_compare_and_set_lua),
      settle_usage(joined({k_damaged_lua, k_usage_lua, k_settle_usage_lua})),
      forget_account(k_forget_account_lua), read_usage(k_read_usage_lua),
      write_record(k_write_record_lua), delete_record(k_delete_record_lua),
      set_plan(k_set_plan_lua), remove_plan(k_remove_plan_lua),
      publish_plans(k_publish_plans_lua),
      clear_caches(joined({k_damaged_lua, k_clear_caches_lua})),
      freeze_catalogue(k_freeze_catalogue_lua),
      take_account(k_take_account_lua), upgrade_state(k_upgrade_state_lua),
      upgrade_catalogue(joined({k_damaged_lua, k_upgrade_catalogue_lua}))
{}

const Scripts& scripts()
{
    static const Scripts all;
    return all;
}

}  // namespace petstore::store
