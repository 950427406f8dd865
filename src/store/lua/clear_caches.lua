-- Invalidates everything that workers cache of pets, by raising the number of
-- changes. Needed after data was restored or edited outside this service.
--
-- KEYS  1 changes   2 last id   3 change log
-- Reply: 1 done, 0 there is no catalogue; then nothing can be cached of it, and
-- `changes` stays absent
if redis.call('EXISTS', KEYS[1], KEYS[2]) == 0 then return 0 end

-- A new catalogue also starts with the time in microseconds. No older copy of
-- the data ever had this number.
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
if now > (tonumber(redis.call('GET', KEYS[1])) or 0) then
  redis.call('SET', KEYS[1], string.format('%.0f', now))
else
  redis.call('INCR', KEYS[1])
end
-- Without an entry for this number, workers drop all that they cache. The log of
-- restored data may already have one.
redis.call('DEL', KEYS[3])
return 1
