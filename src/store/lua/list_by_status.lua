-- The next pets of one status, in order of their ids.
--
-- KEYS  1 bitmap of the status
-- ARGV  1 id to start after   2 how many   3 what bucket names start with (the
--       buckets share the slot of KEYS)   4 letter of the status
-- Reply: {id, record, id, record, …}, an empty record where a pet has lost its
-- own
local names, letter = ARGV[3], string.byte(ARGV[4])
local id, left = tonumber(ARGV[1]), tonumber(ARGV[2])
local found, n, byte = {}, 0, string.byte

while left > 0 do
  local before = id
  id = redis.call('BITPOS', KEYS[1], '1', id + 1, '-1', 'BIT')
  if id < 0 then break end
  local position = (id - 1) % 128
  local bucket = names .. 'bucket:' .. (id - 1 - position) / 128
  -- A record read for nothing costs a tenth of a call. So where pets of this
  -- status lie close, a whole stretch is read and the others are left out by
  -- their letters.
  local records
  if id - before <= 3 then
    records = redis.call('LRANGE', bucket, position, position + 3 * left - 1)
  else
    records = {redis.call('LINDEX', bucket, position)}
  end
  -- The first is taken as the bitmap says: damaged buckets must not keep this
  -- loop going.
  found[n + 1], found[n + 2] = id, records[1] or ''
  n, left = n + 2, left - 1
  for i = 2, #records do
    if left == 0 then break end
    id = id + 1
    if byte(records[i]) == letter then
      found[n + 1], found[n + 2] = id, records[i]
      n, left = n + 2, left - 1
    end
  end
end
return found
