-- Prepended to limit.lua.
local KEYS, seen = KEYS, redis.call('MGET', unpack(KEYS))
