-- Changes the status of a pet, in its record and in the index.
--
-- KEYS  1 changes   2, 3, 4 bitmaps of available, pending, sold
--       5 change log: "<changes>:<bucket>" for each of the latest changes
-- ARGV  1 id   2 letter of the new status   3 prefix of the names of count,
--       segments and buckets (they share the slot of KEYS)
-- Reply: 1 changed, 0 already had this status, -1 no such pet
--   error FULL <why>   the bitmap cannot hold the pet; nothing was changed
--   error DAMAGED <key>   inconsistent data; nothing was changed
local LOG_LENGTH = 1024
local BITMAPS = {a = KEYS[2], p = KEYS[3], s = KEYS[4]}
local id, letter = tonumber(ARGV[1]), ARGV[2]
local counter, ids = ARGV[3] .. 'count', ARGV[3] .. 'segments'

local count = redis.pcall('GET', counter)
if type(count) == 'table' then return damaged(counter, count) end
if count and not string.match(count, '^%d+$') then return damaged(counter) end
if not count and redis.pcall('GET', KEYS[1]) then return damaged(counter) end

-- The pet's position, from the last segment that starts at or before its id.
local segments = redis.pcall('GET', ids)
if type(segments) == 'table' then return damaged(ids, segments) end
if count and not segments then return damaged(ids) end
if segments and (#segments < 68 or #segments % 28 ~= 12) then return damaged(ids) end
local position, end_of_segment = 0, tonumber(count or 0) + 1
for at = 1, #(segments or '') - 40, 28 do
  local first, first_id = string.match(segments, '^(%d+):(%d+) ', at)
  if not first or #first ~= 10 or #first_id ~= 16 then return damaged(ids) end
  if id < tonumber(first_id) then
    end_of_segment = math.min(end_of_segment, tonumber(first))
    break
  end
  position = first + id - first_id
end
if position < 1 then return -1 end

local row = (position - 1) % 128
local number = (position - 1 - row) / 128
local bucket = ARGV[3] .. 'bucket:' .. number
local record = redis.pcall('LINDEX', bucket, row)
if type(record) == 'table' then return damaged(bucket, record) end
if position >= end_of_segment then
  -- Either the id is in a gap, or the count is too low.
  if record and end_of_segment > tonumber(count or 0) then return damaged(counter) end
  return -1
end
if not record or not string.match(record, '^[aps]%-?%d+:.') then return damaged(bucket) end
local before = string.sub(record, 1, 1)
if before == letter then return 0 end

-- All or nothing: an error undoes the earlier commands.
local undo = {}
local function try(key, ...)
  local result = redis.pcall(...)
  if type(result) ~= 'table' or not result.err then return result end
  for i = #undo, 1, -1 do redis.call(unpack(undo[i])) end
  return nil, damaged(key, result)
end

local changes, failure = try(KEYS[1], 'INCR', KEYS[1])
if not changes then return failure end
undo[1] = changes == 1 and {'DEL', KEYS[1]} or {'INCRBY', KEYS[1], -1}
if changes <= 1 then -- was missing: the first pet sets it far higher
  redis.call(unpack(undo[1]))
  return damaged(KEYS[1])
end
local old, new = BITMAPS[before], BITMAPS[letter]
local bit
bit, failure = try(old, 'SETBIT', old, position, 0)
if not bit then return failure end
undo[2] = {'SETBIT', old, position, bit}
bit, failure = try(new, 'SETBIT', new, position, 1)
if not bit then return failure end
undo[3] = {'SETBIT', new, position, bit}
local changed
changed, failure = try(bucket, 'LSET', bucket, row, letter .. string.sub(record, 2))
if not changed then return failure end

-- Without an entry, workers drop all the pets that they cache, not only those of
-- this bucket, so a failure here need not undo the change. GET: `changes` is a
-- double, which may be rounded.
local logged = redis.pcall('RPUSH', KEYS[5], redis.call('GET', KEYS[1]) .. ':' .. number)
if type(logged) == 'number' and logged > LOG_LENGTH then
  logged = redis.pcall('LTRIM', KEYS[5], -LOG_LENGTH, -1)
end
if type(logged) == 'table' and logged.err then redis.pcall('DEL', KEYS[5]) end
return 1
