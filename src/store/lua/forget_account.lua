-- Removes an account's entry from the index of accounts, unless it has changed
-- since the caller read it.
--
-- KEYS  1 index of accounts
-- ARGV  1 account   2 the entry that the caller read
-- Reply: 1, or 0 if it has changed
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
return redis.call('HDEL', KEYS[1], ARGV[1])
