#!lua flags=allow-cross-slot-keys
-- Prepended to limit.lua in a Cluster, for accounts in different slots of one
-- server. KEYS may name keys of one slot only, so the others are in ARGV. While a
-- slot moves, the server may lack some of its keys; reading those is an error.
local call, KEYS, seen = redis.call, {KEYS[1], unpack(ARGV, 2)}, {}
for i = 1, #KEYS do seen[i] = redis.pcall('GET', KEYS[i]) end
