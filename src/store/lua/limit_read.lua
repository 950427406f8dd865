-- Begins limit.lua.
local KEYS, seen = KEYS, redis.call('MGET', unpack(KEYS))
