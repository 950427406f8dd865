-- Creates a pet: id, record, index and idempotency record in one step.
--
-- KEYS  1 last id   2 changes   3 bitmap of the pet's status
--       4 idempotency record (only with ARGV 4)
-- ARGV  1 record   2 longest record that a bucket packs   3 what bucket names
--       start with (the buckets share the slot of KEYS)
--       4 digest of the body   5 seconds to remember it
--
-- Replies
--   {id, 0}   created        {id, 1}   created before, by the same request
--   {0, 2}    the idempotency key belongs to another body
local record, packed, names = ARGV[1], tonumber(ARGV[2]), ARGV[3]
if KEYS[4] then
  local before = redis.call('GET', KEYS[4])
  if before then
    local id, digest = string.match(before, '^(%d+):(.*)$')
    if digest ~= ARGV[4] then return {0, 2} end
    return {tonumber(id), 1}
  end
end

local id = redis.call('INCR', KEYS[1])
local bucket, field = string.format('%.0f', math.floor(id / 128)), id % 128
if #record > packed then
  redis.call('HSET', names .. 'long:' .. bucket, field, record)
  record = string.sub(record, 1, 1) .. '>'
end
redis.call('HSET', names .. 'bucket:' .. bucket, field, record)
redis.call('SETBIT', KEYS[3], id, 1)
-- Tells a catalogue that was started anew from the one before it.
if id == 1 then
  local t = redis.call('TIME')
  redis.call('SET', KEYS[2], string.format('%.0f', t[1] * 1000000 + t[2]))
end
if KEYS[4] then
  redis.call('SET', KEYS[4], string.format('%.0f:%s', id, ARGV[4]), 'EX', ARGV[5])
end
return {id, 0}
