#!lua flags=allow-cross-slot-keys
-- Begins limit.lua in a Cluster, for accounts of one server whose slots differ.
-- While slots move, the server may lack some: reading those is an error. A
-- command may only name keys of one slot.
local KEYS, seen = {KEYS[1], unpack(ARGV, 2)}, {}
for i = 1, #KEYS do seen[i] = redis.pcall('GET', KEYS[i]) end
