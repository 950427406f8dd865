-- Prepended to limit.lua.
local call, KEYS = redis.call, KEYS
local seen = call('MGET', unpack(KEYS))
