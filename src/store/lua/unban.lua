-- Ends a ban and forgets what led to it. A new epoch tells the workers, which
-- refuse a banned account from memory.
--
-- KEYS  1 account state   2 strikes   3 bans
-- Reply: 1 if a ban was running, else 0
local state = redis.call('GET', KEYS[1]) or '0'
local epoch, banned_until = string.match(state, '^(%d+)!?(%d*)$')
redis.call('SET', KEYS[1], string.format('%.0f', (epoch or 0) + 1), 'EX', 86400)
redis.call('DEL', KEYS[2], KEYS[3])
return tonumber(banned_until) and tonumber(banned_until) > redis.call('TIME')[1] * 1000 and 1 or 0
