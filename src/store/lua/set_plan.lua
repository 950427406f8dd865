-- Adds or replaces a plan.
--
-- KEYS  1 plans
-- ARGV  1 name   2 limits   3 how many plans there may be
-- Reply: 1, or 0 if there are too many
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0
    and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[3]) then
  return 0
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1
