-- Deletes the record of a key or an account, unless it has changed since the
-- caller read or wrote it: a key that was enabled meanwhile must not vanish
-- after workers have read it.
--
-- KEYS  1 record
-- ARGV  1 the epoch that the caller knows
-- Reply: 1 if the record is gone, 0 if it has changed and stays
local epoch = redis.call('HGET', KEYS[1], 'epoch')
if epoch and epoch ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
return 1
