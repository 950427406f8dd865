-- Invalidates everything that workers cache of pets, by raising the number of
-- changes. Needed after data was restored or edited outside this service. The ids
-- of pets that are no longer in these data are not given again: the next create
-- starts a segment.
--
-- KEYS  1 changes   2 count   3 change log   4 segments
-- Reply: 1 done, 0 there is no catalogue; then nothing can be cached of it, and
-- `changes` stays absent
--   error DAMAGED <key>   wrong type; nothing was changed
if redis.call('EXISTS', KEYS[1], KEYS[2]) == 0 then return 0 end

local segments = redis.pcall('GET', KEYS[4])
if type(segments) == 'table' then return damaged(KEYS[4], segments) end
if segments and #segments >= 40 then
  redis.call('SET', KEYS[4], string.sub(segments, 1, -41) .. string.rep('=', 40))
end

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
