-- Makes every worker of every host read the account's key records again: they
-- keep a record only as long as the account's epoch is the one they know.
-- A running ban stays.
--
-- KEYS  1 account state
-- Reply: the new epoch
local state = redis.call('GET', KEYS[1]) or '0'
local epoch, ban = string.match(state, '^(%d+)(.*)$')
epoch = string.format('%.0f', (epoch or 0) + 1)
redis.call('SET', KEYS[1], epoch .. (ban or ''))
return epoch
