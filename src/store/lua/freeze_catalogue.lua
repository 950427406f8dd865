-- Stops all changes of pets before they are moved to another Redis: while the last
-- id is not a number, scripts that change pets fail.
--
-- KEYS  1 last id
-- Reply: the last id before; '0' without pets
--   error DAMAGED <key>   nothing was changed
local last = redis.call('GET', KEYS[1]) or '0'
local id = string.match(last, '^elsewhere (%d+)$') or string.match(last, '^%d+$')
if not id then return redis.error_reply('DAMAGED ' .. KEYS[1]) end
redis.call('SET', KEYS[1], 'elsewhere ' .. id)
return id
