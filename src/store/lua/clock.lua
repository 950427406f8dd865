-- Returns the clock of the server that has the account, as TIME does. A script,
-- because a Cluster routes TIME itself to no server in particular.
--
-- KEYS  1 account state, which is not read
return redis.call('TIME')
