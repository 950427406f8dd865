-- Creates pets in the given order, with consecutive ids: records, index and
-- idempotency records in one step. The pets of a bucket are created together or not
-- at all. If one is not created, nor are those after it.
--
-- KEYS  1 last id   2 changes   3… bitmaps of the pets' statuses, in the order
--       in which these first appear; then, if the pets have them, the
--       idempotency record of each, all different
-- ARGV  1 prefix of bucket names (buckets share the slot of KEYS)
--       2 seconds to keep the idempotency records, or '' if there are none
--       3… records; if there are idempotency records, each is followed by the
--         digest of its body, and the last one by '1' if a repeated request must
--         write, too: WAIT and WAITAOF wait for the last write of their
--         connection, which then also covers the original create
--
-- Reply: {number of created pets, id of the first, error or nil}, then, if there
-- are idempotency records, for each pet:
--   0     it is the next created one, or the error stopped it
--   id    the same request created it earlier
--   -1    its idempotency key belongs to another body
--   error its idempotency record is damaged
-- Only an error if no pet was created and no idempotency record was found.
--   error FULL <why>   there can be no more pets; nothing was changed
--   error DAMAGED <key>   inconsistent data: an id would be reused, or a record
--                   would belong to another pet; nothing was changed
local try, byte = redis.pcall, string.byte

local once = ARGV[2] ~= ''
local rewrite = once and #ARGV % 2 == 1
local step, last_arg = once and 2 or 1, rewrite and #ARGV - 1 or #ARGV
local bitmaps, used = {}, 2
for i = 3, last_arg, step do
  local letter = byte(ARGV[i])
  if not bitmaps[letter] then
    used = used + 1
    bitmaps[letter] = KEYS[used]
  end
end

-- The pets to create are records[start] … records[stop].
local records, start, stop = ARGV, 3, last_arg
local names, digests, answers, known
if once then
  records, start, stop = {}, 1, 0
  names, digests, answers = {}, {}, {}
  for i = 3, last_arg, 2 do
    local place = (i - 1) / 2
    local name, digest = KEYS[used + place], ARGV[i + 1]
    local before = try('GET', name)
    if not before then
      stop = stop + 1
      records[stop], names[stop], digests[stop] = ARGV[i], name, digest
      answers[place] = 0
    else
      known = true
      local id, body
      if type(before) == 'string' then id, body = string.match(before, '^(%d+):(.*)$') end
      if not id then
        answers[place] = damaged(name, before)
      elseif body ~= digest then
        answers[place] = -1
      else
        answers[place] = tonumber(id)
        if rewrite then redis.call('SET', name, before, 'KEEPTTL') end
      end
    end
  end
end

local count, created, id, failure = stop - start + 1, 0, 0
if count > 0 then
  local newest = try('INCRBY', KEYS[1], count)
  if type(newest) == 'table' then
    failure = damaged(KEYS[1], newest)
  else
    id = newest - count + 1
    if id <= 1 then
      -- Unless this is the very first pet, ids would be reused.
      local changes = try('GET', KEYS[2])
      if type(changes) == 'table' then
        failure = damaged(KEYS[2], changes)
      elseif changes or id < 1 then
        failure = damaged(KEYS[1])
      end
    end
    while created < count and not failure do
      local first, before = start + created, id + created - 1
      if before >= 4000000000 then -- kMaxPets, the end of a bucket
        failure = redis.error_reply('FULL the catalogue has 4000000000 pets, the most it can have')
        break
      end
      local position = before % 128
      local last = first + 127 - position
      if last > stop then last = stop end
      local size = last - first + 1
      local bucket = ARGV[1] .. 'bucket:' .. (before - position) / 128
      local length = try('RPUSH', bucket, unpack(records, first, last))
      if type(length) == 'table' then
        failure = damaged(bucket, length)
      elseif length ~= position + size then
        failure = damaged(before == 0 and KEYS[1] or bucket)
      else
        for i = first, last do
          local bitmap = bitmaps[byte(records[i])]
          -- '1' is a string because formatting a number would cost a printf.
          local bit = try('SETBIT', bitmap, id + i - start, '1')
          if type(bit) == 'table' then
            failure = damaged(bitmap, bit)
            for j = first, i - 1 do
              redis.call('SETBIT', bitmaps[byte(records[j])], id + j - start, '0')
            end
            break
          end
        end
      end
      if not failure then
        created = created + size
      elseif type(length) == 'number' then
        for _ = 1, size do redis.call('RPOP', bucket) end
      end
    end
    if failure then
      if id == 1 and created == 0 then
        redis.call('DEL', KEYS[1])
      else
        redis.call('INCRBY', KEYS[1], created - count)
      end
    end
  end
  if failure and created == 0 and not known then return failure end
end

-- Nothing can fail after this point: SET overwrites any type.
if id == 1 and created > 0 then
  -- Distinguishes a recreated catalogue from its predecessor.
  local t = redis.call('TIME')
  redis.call('SET', KEYS[2], string.format('%.0f', t[1] * 1000000 + t[2]))
end
if not once then return {created, id, failure} end
for i = 1, created do
  redis.call('SET', names[i], string.format('%.0f:%s', id + i - 1, digests[i]), 'EX', ARGV[2])
end
return {created, id, failure or false, unpack(answers)}
