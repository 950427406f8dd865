-- Ends a ban and resets what led to it. The caller must then give the account a
-- new epoch (touch_account.lua), because workers deny a banned account from
-- their caches.
--
-- KEYS  1 account state   2 strikes   3 bans
-- Reply: 1 if a ban was running, else 0
redis.call('DEL', KEYS[2], KEYS[3])
local state = redis.call('GET', KEYS[1]) or ''
if #state < 80 then return 0 end
local ban = struct.unpack('<d', state, 57)
redis.call('SETRANGE', KEYS[1], 56, struct.pack('<d', 0))
local t = redis.call('TIME')
return ban > t[1] * 1000 + math.floor(t[2] / 1000) and 1 or 0
