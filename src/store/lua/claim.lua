-- Sets the account that an external id names, if it still names the one that the
-- caller has read.
--
-- KEYS  1 external id
-- ARGV  1 the account that it names; empty for none
--       2 the account that it shall name; empty for none
-- Reply: 1, or 0 if it names another account
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
if ARGV[2] == '' then redis.call('DEL', KEYS[1])
else redis.call('SET', KEYS[1], ARGV[2]) end
return 1
