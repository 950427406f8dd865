#pragma once

#include "../redis/script.h"

// The scripts of src/store/lua, embedded at build time by scripts/embed.
namespace petstore::store::scripts {

const redis::Script& create_pets();  // see pet_batch.h
const redis::Script& list_by_status();
const redis::Script& set_status();
const redis::Script& limit();
const redis::Script& limit_across_slots();  // in a Cluster
const redis::Script& strike();
const redis::Script& clock();
const redis::Script& touch_account();
const redis::Script& freeze_catalogue();
const redis::Script& publish_plans();
const redis::Script& set_plan();  // for petstorectl
const redis::Script& unban();
const redis::Script& claim();          // of an external id
const redis::Script& replace_claim();  // of a request to the admin API
const redis::Script& settle_usage();   // before an account is reset or deleted
const redis::Script& forget_account();
const redis::Script& read_usage();
const redis::Script& clear_caches();
const redis::Script& write_record();   // for petstorectl, see stored_key.h
const redis::Script& delete_key();     // likewise
const redis::Script& take_account();   // for petstorectl limits
const redis::Script& upgrade_state();  // for petstorectl upgrade
const redis::Script& upgrade_catalogue();

}  // namespace petstore::store::scripts
