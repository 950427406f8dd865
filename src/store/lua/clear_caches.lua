-- Makes what all workers remember of pets out of date, by another number of
-- changes: for data that were restored or edited behind their backs.
--
-- KEYS  1 changes   2 last id
-- Reply: 1 done, 0 there is no catalogue, so that nothing can be remembered of
-- it; it stays without `changes`
if redis.call('EXISTS', KEYS[1], KEYS[2]) == 0 then return 0 end

-- The time in microseconds, as a catalogue begins with, was never the number of
-- an older copy of the data.
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
if now > (tonumber(redis.call('GET', KEYS[1])) or 0) then
  redis.call('SET', KEYS[1], string.format('%.0f', now))
else
  redis.call('INCR', KEYS[1])
end
return 1
