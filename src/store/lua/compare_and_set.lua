-- Replaces a string if it is still the one that the caller has read or written.
-- Its end, if it has one, stays.
--
-- KEYS  1 the string
-- ARGV  1 the value that it has; empty for none
--       2 the value that it shall have; empty for none
-- Reply: 1, or 0 if it has another value
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
if ARGV[2] == '' then redis.call('DEL', KEYS[1])
else redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL') end
return 1
