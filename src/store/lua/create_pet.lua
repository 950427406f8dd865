-- Creates a pet: id, record, index and idempotency record in one step.
--
-- KEYS  1 last id   2 changes   3 bitmap of the pet's status
--       4 idempotency record (only with ARGV 3)
-- ARGV  1 record   2 what bucket names start with (the buckets share the slot
--       of KEYS)   3 digest of the body   4 seconds to remember it
--
-- Replies
--   {id, 0}   created        {id, 1}   created before, by the same request
--   {0, 2}    the idempotency key belongs to another body
--   error DAMAGED   the bucket has not the length that the last id calls for, so
--                   the record would have been another pet's; nothing was done
if KEYS[4] then
  local before = redis.call('GET', KEYS[4])
  if before then
    local id, digest = string.match(before, '^(%d+):(.*)$')
    if digest ~= ARGV[3] then return {0, 2} end
    return {tonumber(id), 1}
  end
end

local id = redis.call('INCR', KEYS[1])
local position = (id - 1) % 128
local bucket = ARGV[2] .. 'bucket:' .. (id - 1 - position) / 128
local length = redis.pcall('RPUSH', bucket, ARGV[1])
if length ~= position + 1 then
  redis.call('INCRBY', KEYS[1], -1)
  if type(length) == 'table' then return length end -- the error of RPUSH
  redis.call('RPOP', bucket)
  return redis.error_reply('DAMAGED ' .. bucket)
end
redis.call('SETBIT', KEYS[3], id, '1') -- text: a number costs a printf
-- Tells a catalogue that was started anew from the one before it.
if id == 1 then
  local t = redis.call('TIME')
  redis.call('SET', KEYS[2], string.format('%.0f', t[1] * 1000000 + t[2]))
end
if KEYS[4] then
  redis.call('SET', KEYS[4], string.format('%.0f:%s', id, ARGV[3]), 'EX', ARGV[4])
end
return {id, 0}
