-- Stops all changes of pets before they are moved to another Redis: while the count
-- is not a number, scripts that change pets fail.
--
-- KEYS  1 count
-- Reply: the count before; '0' without pets
--   error DAMAGED <key>   nothing was changed
local count = redis.call('GET', KEYS[1]) or '0'
local pets = string.match(count, '^elsewhere (%d+)$') or string.match(count, '^%d+$')
if not pets then return redis.error_reply('DAMAGED ' .. KEYS[1]) end
redis.call('SET', KEYS[1], 'elsewhere ' .. pets)
return pets
