-- Creates pets in the given order, at consecutive positions and with consecutive
-- ids: records, index and idempotency records in one step. The pets of a bucket are
-- created together or not at all. If one is not created, nor are those after it.
--
-- KEYS  1 count   2 changes   3 segments   4… bitmaps of the pets' statuses, in the
--       order in which these first appear; then, if the pets have them, the
--       idempotency record of each, all different
-- ARGV  1 prefix of the catalogue's names (which share the slot of KEYS)
--       2 seconds to keep the idempotency records, or '' if there are none
--       3… records; if there are idempotency records, each is followed by the
--         digest of its body, and the last one by '1' if a repeated request must
--         write, too: WAIT and WAITAOF wait for the last write of their
--         connection, which then also covers the original create
--       last: the replication id of this server, as the connection reported it, or
--         question marks (see redis::Command::replication_id), or
--         '=<position>:<id>' for pets whose ids are given: where the first one must
--         be
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
--   error TAKEN     another pet has this position, or a given id is not above the
--                   last one; nothing was changed
local try, byte, match, sub = redis.pcall, string.byte, string.match, string.sub
-- Instead of a replication id: of a server that does not report it; and of data
-- that were restored, imported or edited, which may lack ids that were given.
local UNKNOWN = '----------------------------------------'
local CLEARED = '========================================'

local hint = ARGV[#ARGV]
local once = ARGV[2] ~= ''
local rewrite = once and #ARGV % 2 == 0
local step, last_arg = once and 2 or 1, rewrite and #ARGV - 2 or #ARGV - 1
local bitmaps, used = {}, 3
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

local count, created, position, id, failure = stop - start + 1, 0, 0, 0
local segments, segments_end -- the new value, or from this byte on
if count > 0 then
  -- '1' is a string because formatting a number would cost a printf.
  local newest = try('INCRBY', KEYS[1], count == 1 and '1' or count)
  if type(newest) == 'table' then
    failure = damaged(KEYS[1], newest)
  else
    position = newest - count + 1
    -- The last segment, and the replication id under which it began.
    local tail = try('GETRANGE', KEYS[3], '-68', '-1')
    local first, first_id, began_under
    if type(tail) == 'string' then
      local rest
      first, first_id, rest = match(tail, '^(%d+):(%d+) ()')
      if rest ~= 29 then first = nil end
      began_under = sub(tail, 29)
    end
    if position <= 1 then
      -- Unless this is the very first pet, ids would be reused.
      local changes = try('GET', KEYS[2])
      if type(changes) == 'table' then
        failure = damaged(KEYS[2], changes)
      elseif type(tail) == 'table' then
        failure = damaged(KEYS[3], tail)
      elseif changes or position < 1 or tail ~= '' then
        failure = damaged(KEYS[1])
      end
      id = 1
    elseif first and position >= first + 0 then
      id = position - first + first_id
    else
      failure = damaged(KEYS[3], tail)
    end

    if began_under ~= hint and not failure then
      -- If the data have another history, pets that are lost may have had the next
      -- ids. The clock has passed those, unless it was set back or belongs to
      -- another server.
      local history, next_id = UNKNOWN, id
      local place, given = match(hint, '^=(%d+):(%d+)$')
      if given then
        id = tonumber(given)
        if tonumber(place) ~= position or id < next_id then
          failure = redis.error_reply('TAKEN other pets have these positions or ids')
        end
        history = CLEARED
      else
        local info = hint ~= UNKNOWN and try('INFO', 'replication')
        local now = type(info) == 'string' and match(info, 'master_replid:(%x+)')
        if now and #now == 40 then history = now end
        local is_other = began_under == CLEARED or history ~= UNKNOWN and history ~= began_under
        if position > 1 and is_other then
          local t = redis.call('TIME')
          id = t[1] * 1000000 + t[2]
          if id <= next_id then
            id = next_id + 0x100000 + (tonumber(sub(history, 1, 6), 16) or 0)
          end
        end
      end
      if not failure and (position == 1 or id ~= next_id or given and began_under ~= CLEARED) then
        local before = ''
        if position > 1 then
          local changes = try('GET', KEYS[2])
          if type(changes) ~= 'string' or not match(changes, '^%d+$') or #changes > 18 then
            failure = damaged(KEYS[2], changes)
          end
          -- An import may start many segments; if each copied those before it, Redis
          -- would be blocked. An empty SETRANGE only returns the length.
          local length = given and position > first + 0 and try('SETRANGE', KEYS[3], '0', '')
          if type(length) == 'number' then
            segments_end = length - 40
          else
            -- Without a segment that has no pets.
            before = sub(redis.call('GET', KEYS[3]), 1, position == first + 0 and -69 or -41)
          end
          if (segments_end or #before) >= 2800000 then -- 28 bytes each
            failure = redis.error_reply('FULL the catalogue has 100000 segments, the most it can have')
          end
        end
        segments = string.format('%s%010.0f:%016.0f %s', before, position, id, history)
      end
    end
    if id > 9007199254739968 then -- Lua's numbers are exact up to 2^53
      failure = damaged(KEYS[3])
    end
    while created < count and not failure do
      local first, before = start + created, position + created - 1
      if before >= 4000000000 then -- kMaxPets, the end of a bucket
        failure = redis.error_reply('FULL the catalogue has 4000000000 pets, the most it can have')
        break
      end
      local row = before % 128
      local last = first + 127 - row
      if last > stop then last = stop end
      local size = last - first + 1
      local bucket = ARGV[1] .. 'bucket:' .. (before - row) / 128
      local length = try('RPUSH', bucket, unpack(records, first, last))
      if type(length) == 'table' then
        failure = damaged(bucket, length)
      elseif length ~= row + size then
        failure = damaged(before == 0 and KEYS[1] or bucket)
      else
        for i = first, last do
          local bitmap = bitmaps[byte(records[i])]
          -- '1' is a string because formatting a number would cost a printf.
          local bit = try('SETBIT', bitmap, position + i - start, '1')
          if type(bit) == 'table' then
            failure = damaged(bitmap, bit)
            for j = first, i - 1 do
              redis.call('SETBIT', bitmaps[byte(records[j])], position + j - start, '0')
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
      if position == 1 and created == 0 then
        redis.call('DEL', KEYS[1])
      else
        redis.call('INCRBY', KEYS[1], created - count)
      end
    end
  end
  if failure and created == 0 and not known then return failure end
end

-- Nothing may fail after this point: the pets exist. SET overwrites any type.
if segments and created > 0 then
  -- SETRANGE obeys proto-max-bulk-len.
  if not segments_end then
    redis.call('SET', KEYS[3], segments)
  elseif type(try('SETRANGE', KEYS[3], segments_end, segments)) == 'table' then
    redis.call('SET', KEYS[3], sub(redis.call('GET', KEYS[3]), 1, segments_end) .. segments)
  end
  if position == 1 then
    -- Distinguishes a recreated catalogue from its predecessor.
    local t = redis.call('TIME')
    redis.call('SET', KEYS[2], string.format('%.0f', t[1] * 1000000 + t[2]))
    -- Versions that would take the number of pets for an id stop at this.
    redis.call('SET', ARGV[1] .. 'last-id', 'format-2')
  else
    -- Without an entry for this number, workers read the segments again. The log only
    -- becomes useless: while the slot moves, it may be on the other server.
    redis.call('INCR', KEYS[2])
    try('DEL', ARGV[1] .. 'change-log')
  end
end
if not once then return {created, id, failure} end
for i = 1, created do
  redis.call('SET', names[i], string.format('%.0f:%s', id + i - 1, digests[i]), 'EX', ARGV[2])
end
return {created, id, failure or false, unpack(answers)}
