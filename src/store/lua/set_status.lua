-- Changes the status of a pet, in its record and in the index.
--
-- KEYS  1 changes   2, 3, 4 bitmaps of available, pending, sold
-- ARGV  1 id   2 letter of the new status   3 what bucket names start with (the
--       buckets share the slot of KEYS)
-- Reply: 1 changed, 0 it had this status already, -1 no such pet
local BITMAPS = {a = KEYS[2], p = KEYS[3], s = KEYS[4]}
local id, letter = tonumber(ARGV[1]), ARGV[2]
local position = (id - 1) % 128
local bucket = ARGV[3] .. 'bucket:' .. (id - 1 - position) / 128
local record = redis.call('LINDEX', bucket, position)
if not record then return -1 end
local before = string.sub(record, 1, 1)
if before == letter then return 0 end

redis.call('INCR', KEYS[1])
redis.call('LSET', bucket, position, letter .. string.sub(record, 2))
redis.call('SETBIT', BITMAPS[before], id, 0)
redis.call('SETBIT', BITMAPS[letter], id, 1)
return 1
