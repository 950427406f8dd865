-- Makes every worker of every host read the account's key records again: they
-- keep a record only as long as the account's epoch is the one they know.
-- A running ban stays, which is shorter than a day. A state that is gone gets a
-- new epoch, so it needs not stay for ever.
--
-- The epoch is the time in microseconds, so that an account that is gone and
-- back is not taken for the one before.
--
-- KEYS  1 account state
-- Reply: the new epoch
local t = redis.call('TIME')
local state = redis.call('GET', KEYS[1]) or '0'
local epoch, ban = string.match(state, '^(%d+)(.*)$')
epoch = string.format('%.0f', math.max(t[1] * 1000000 + t[2], (epoch or 0) + 1))
redis.call('SET', KEYS[1], epoch .. (ban or ''), 'EX', 2 * 86400)
return epoch
