-- Changes the status of a pet, in its record and in the index.
--
-- KEYS  1 last id   2 changes   3, 4, 5 bitmaps of available, pending, sold
-- ARGV  1 id   2 letter of the new status   3 what bucket names start with (the
--       buckets share the slot of KEYS)
-- Reply: 1 changed, 0 it had this status already, -1 no such pet
local BITMAPS = {a = KEYS[3], p = KEYS[4], s = KEYS[5]}
local id, letter, names = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local bucket, field = string.format('%.0f', math.floor(id / 128)), id % 128
local name = names .. 'bucket:' .. bucket
local record = redis.call('HGET', name, field)
if not record then return -1 end
local before = string.sub(record, 1, 1)
if before == letter then return 0 end

redis.call('INCR', KEYS[2])
redis.call('HSET', name, field, letter .. string.sub(record, 2))
if string.sub(record, 2, 2) == '>' then
  local long = names .. 'long:' .. bucket
  redis.call('HSET', long, field, letter .. string.sub(redis.call('HGET', long, field), 2))
end
redis.call('SETBIT', BITMAPS[before], id, 0)
redis.call('SETBIT', BITMAPS[letter], id, 1)
return 1
