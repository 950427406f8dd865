-- Adds or replaces a plan, or puts back one that was removed.
--
-- KEYS  1 plans
-- ARGV  1 name   2 limits   3 how many plans there may be, 0 to put back
-- Reply: 1, or 0 if there are too many
local there = redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1
local most = tonumber(ARGV[3])
if most == 0 then
  if there then  -- set again meanwhile
    return 1
  end
elseif not there and redis.call('HLEN', KEYS[1]) >= most then
  return 0
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1
