# Which builds run the end-to-end tests of a file; see tests/README.md. Every
# file of e2e/ must be in one list.

# What these check depends on the build: counts and costs, memory, other modules,
# the life of processes, the container, large stores, and what a sanitized
# process cannot do (AddressSanitizer does not share LD_PRELOAD).
set(TIER_BOTH_BUILDS
  cold_workers container cost guard_handlers large_catalogue lifecycle
  lifetimes limits_address limits_exactness limits_operator limits_storm
  nginx_modules out_of_memory random_traffic redis_kill
  redis_refusals worker_memory worker_start)

# Sanitized in scripts/test, stock in scripts/test --quick.
set(TIER_ONE_BUILD
  access accounts admin admin_faults admin_setups authentication balancer changed_buckets cluster cluster_command_line
  cluster_failover cluster_identity cluster_migration cluster_moving
  cluster_sharing command_line command_line_doctor command_line_help
  command_line_accounts command_line_backup command_line_keys command_line_output command_line_sentinel command_line_tls
  configuration configuration_messages configuration_warnings cors create
  damage durability durability_failover failover freshness get guard
  guard_conf guard_faults guard_grpc guard_implied guard_pages guard_prefixes guard_redirects health
  host_names http2 http3 http_manners idempotency identity identity_back_ends idle_connections ids
  key_changes keys limits limits_ban_rules limits_clock limits_cost
  limits_directives limits_faults limits_month
  limits_once limits_usage limits_walk list logs network_faults nginx_errors openapi
  packages pet_import plans redis_errors redis_faults redis_login redis_tls releases sentinel
  sentinel_faults status two_redis two_redis_move two_redis_operator two_redis_refusals
  two_stores upgrade usage usage_location version)

# Only in scripts/test --full: what takes long and is needed before a release.
set(TIER_FULL ids_repeated upgrade_old)

# Sets `result` to the Catch2 argument that selects the tests of these files.
function(tests_of_files result)
  list(JOIN ARGN "],[#" spec)
  set(${result} "[#${spec}]" PARENT_SCOPE)
endfunction()
