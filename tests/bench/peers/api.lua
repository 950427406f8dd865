-- The script that both peers run in Redis: key, limits and operation in one
-- call, as is usual for such services.
--
-- KEYS  1 hash of the API key
-- ARGV  1 admit, get, list or create   2… its arguments
-- Reply: {-1} unknown key; {0, limit, 0, reset, seconds to wait} over a limit;
-- {1, limit, left, reset, answer}
local key = redis.call('HMGET', KEYS[1], 'plan_min', 'plan_day', 'mw', 'mc', 'dw', 'dc')
if not key[1] then return {-1} end
local now = tonumber(redis.call('TIME')[1])
local minute, day = math.floor(now / 60), math.floor(now / 86400)
local minute_used = tonumber(key[3]) == minute and tonumber(key[4]) or 0
local day_used = tonumber(key[5]) == day and tonumber(key[6]) or 0
local minute_limit, day_limit = tonumber(key[1]), tonumber(key[2])
local minute_end, day_end = (minute + 1) * 60, (day + 1) * 86400
if minute_used >= minute_limit then
  return {0, minute_limit, 0, minute_end, minute_end - now}
end
if day_used >= day_limit then
  return {0, day_limit, 0, day_end, day_end - now}
end
redis.call('HSET', KEYS[1], 'mw', minute, 'mc', minute_used + 1, 'dw', day, 'dc', day_used + 1)

local limit, left, reset = minute_limit, minute_limit - minute_used - 1, minute_end
if day_limit - day_used - 1 < left then
  limit, left, reset = day_limit, day_limit - day_used - 1, day_end
end

local operation = ARGV[1]
if operation == 'admit' then
  return {1, limit, left, reset}
elseif operation == 'get' then
  return {1, limit, left, reset, redis.call('HGET', 'p:pets', ARGV[2])}
elseif operation == 'list' then
  local ids = redis.call('ZRANGEBYSCORE', ARGV[2], ARGV[3], '+inf', 'LIMIT', 0, ARGV[4])
  if #ids == 0 then return {1, limit, left, reset, {}} end
  return {1, limit, left, reset, redis.call('HMGET', 'p:pets', unpack(ids))}
end
local id = redis.call('INCR', 'p:seq')
local pet = '{"id":' .. id .. ARGV[2]
redis.call('HSET', 'p:pets', id, pet)
redis.call('ZADD', 'p:all', id, id)
redis.call('ZADD', 'p:' .. ARGV[3], id, id)
return {1, limit, left, reset, pet}
