-- Makes every worker of every host read the account's key records again: they
-- keep a record only as long as the account's epoch is the one they know.
-- Windows and a running ban stay. A state that is gone gets a new epoch, so it
-- needs not stay for ever.
--
-- The epoch is the time in microseconds, so that an account that is gone and
-- back is not taken for the one before.
--
-- KEYS  1 account state
-- Reply: the new epoch
local KEEP = 2 * 86400000
local t = redis.call('TIME')
local state = redis.call('GET', KEYS[1]) or ''
if #state ~= 48 then state = string.rep('\0', 48) end
local epoch = math.max(t[1] * 1000000 + t[2], struct.unpack('<d', state) + 1)
redis.call('SET', KEYS[1], struct.pack('<d', epoch) .. string.sub(state, 9),
  'PXAT', math.max(redis.call('PEXPIRETIME', KEYS[1]), t[1] * 1000 + KEEP))
return epoch
