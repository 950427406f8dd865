#pragma once

#include "../redis/script.h"

namespace petstore::store {

// The scripts of src/store/lua, embedded at build time by scripts/embed.
struct Scripts {
    Scripts();
    Scripts(const Scripts&) = delete;

    redis::Script create_pets;  // see pet_batch.h
    redis::Script list_by_status;
    redis::Script set_status;
    redis::Script limit;
    redis::Script limit_across_slots;  // in a Cluster
    redis::Script strike;
    redis::Script clock;
    redis::Script touch_account;
    redis::Script unban;
    redis::Script compare_and_set;
    redis::Script settle_usage;  // before an account is reset or deleted
    redis::Script forget_account;
    redis::Script read_usage;
    redis::Script write_record;  // see key_commands.h
    redis::Script delete_record;
    redis::Script set_plan;
    redis::Script remove_plan;
    redis::Script publish_plans;
    redis::Script clear_caches;
    redis::Script freeze_catalogue;  // for petstorectl move
    redis::Script take_account;      // for petstorectl limits
    redis::Script upgrade_state;     // for petstorectl upgrade
    redis::Script upgrade_catalogue;
};

// The first call computes the digests. Throws std::bad_alloc, and
// std::runtime_error if OpenSSL has no SHA-1; a later call then tries again.
const Scripts& scripts();

}  // namespace petstore::store
