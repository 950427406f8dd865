-- Returns the next pets of one status, in order, from a part of the catalogue.
--
-- KEYS  1 bitmap of the status
-- ARGV  1 position to start after   2 how many   3 prefix of bucket names
--       (buckets share the slot of KEYS)   4 letter of the status
--       5 position to search up to   6 '1' if the catalogue continues after that
-- Reply: {position, record, position, record, …}: as many as requested, or all up to ARGV 5;
--       then, with ARGV 6, a 0 if there are no more after that
--   error DAMAGED <key>   wrong type, or a bucket that lacks a pet of the
--                   bitmap or has a record without a status
--
-- Whatever the data, N rows take at most 2N + 3 calls and 4N + 63 records, and each
-- bit up to ARGV 5 is examined at most once.
local reading = KEYS[1]

-- nil if a record in the bucket `reading` is missing or invalid.
local function read(bitmap, at, left, names, letter, stop, more)
  local found, n, call, byte, min = {}, 0, redis.call, string.byte, math.min
  -- The other two letters of a, p and s.
  local one, other = letter == 97 and 112 or 97, letter == 115 and 112 or 115
  local last, spare = at, 2 * left + 64
  while left > 0 do
    at = call('BITPOS', bitmap, '1', at + 1, stop, 'BIT')
    if at < 0 then
      if more then
        -- Find the end of the bitmap from a position in its last byte. STRLEN would
        -- need another ACL rule.
        local bit = call('BITPOS', bitmap, '0', '-1', '-1')
        if bit < 0 then bit = call('BITPOS', bitmap, '1', '-1', '-1') end
        if bit - bit % 8 + 7 <= tonumber(stop) then found[n + 1] = 0 end
      end
      break
    end
    local row = (at - 1) % 128
    local bucket = names .. 'bucket:' .. (at - 1 - row) / 128
    reading = bucket
    -- Reading one more record costs a tenth of a call. So where pets of this status
    -- are close together, read a range and skip the others by their letters.
    -- `spare` is how many more records may be read in vain: if a third of the pets
    -- match, 2 per row. Once it is used up, read row by row.
    local records
    if at - last <= 3 and spare > 0 then
      local stop = row + min(3 * left, left + spare) - 1
      records = call('LRANGE', bucket, row, stop < 127 and stop or '127')
    else
      records = {call('LINDEX', bucket, row)}
    end
    if not records[1] then return nil end
    found[n + 1], found[n + 2] = at, records[1]
    local before, size = left, #records
    n, left = n + 2, left - 1
    for i = 2, left > 0 and size or 0 do
      local status = byte(records[i])
      if status == letter then
        found[n + 1], found[n + 2] = at + i - 1, records[i]
        n, left = n + 2, left - 1
        if left == 0 then break end
      elseif status ~= one and status ~= other then
        return nil
      end
    end
    at, last, spare = at + size - 1, found[n - 1], spare - size + before - left
  end
  return found
end

local done, result = pcall(read, KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3],
  string.byte(ARGV[4]), ARGV[5], ARGV[6])
if done and result then return result end
-- A command's error is a string, or in some versions a table that contains it.
local failure = type(result) == 'table' and result.err or result
if done or string.find(failure, '^WRONGTYPE') then
  failure = 'DAMAGED ' .. reading
end
return redis.error_reply(failure)
