-- Writes the record of an API key or an account, unless it has changed since
-- the caller read it. Each write raises the record's epoch, which serves as its version.
--
-- KEYS  1 record
-- ARGV  1  the epoch that the caller read; empty if no record may exist yet
--       2  milliseconds until the record expires; empty to keep it
--       3… field, value, field, value …; an empty value removes the field
-- Reply: the new epoch; 0 if the record has changed and was not written
local seen = ''
if redis.call('EXISTS', KEYS[1]) == 1 then
  seen = redis.call('HGET', KEYS[1], 'epoch') or '0'
end
if seen ~= ARGV[1] then return 0 end

for i = 3, #ARGV, 2 do
  if ARGV[i + 1] == '' then redis.call('HDEL', KEYS[1], ARGV[i])
  else redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
end
local t = redis.call('TIME')
local epoch = math.max(t[1] * 1000000 + t[2], (tonumber(seen) or 0) + 1)
redis.call('HSET', KEYS[1], 'epoch', string.format('%.0f', epoch))
if ARGV[2] == '' then redis.call('PERSIST', KEYS[1])
else redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return epoch
