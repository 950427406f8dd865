-- Tries the commands by which the first charge of a day writes an account's usage,
-- so that a missing access rule shows when a worker connects, not at midnight.
--
-- KEYS  1 <prefix>:{probe}:usage:0
redis.call('HINCRBY', KEYS[1], 'probe', '1')
return redis.call('PEXPIRE', KEYS[1], '10000')
