-- Removes a plan.
--
-- KEYS  1 plans
-- ARGV  1 name
-- Reply: its limits, nil if there is no such plan
local limits = redis.call('HGET', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[1], ARGV[1])
return limits
