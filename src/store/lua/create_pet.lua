-- Creates a pet: id, record, index and idempotency record in one step.
--
-- KEYS  1 last id   2 changes   3 bitmap of the pet's status
--       4 idempotency record (only with ARGV 3)
-- ARGV  1 record   2 prefix of bucket names (buckets share the slot of KEYS)
--       3 digest of the body   4 seconds to keep the idempotency record
--       5 '1' if a repeated request must write, too: WAIT and WAITAOF wait for
--         the last write of their connection, and then for the first answer's
--
-- Replies
--   {id, 0}   created
--   {id, 1}   created before, by the same request
--   {0, 2}    the idempotency key belongs to another body
--   error FULL <why>   there can be no more pets; nothing was changed
--   error DAMAGED <key>   inconsistent data: an id would be reused, or the
--                   record would belong to another pet; nothing was changed

-- The error reply if `key` is damaged, or `failure` itself if a command failed
-- for another reason. Rolls back `id`.
local function damaged(key, failure, id)
  if id == 1 then
    redis.call('DEL', KEYS[1])
  elseif id then
    redis.call('INCRBY', KEYS[1], -1)
  end
  local text = type(failure) == 'table' and failure.err
  if text and string.find(text, 'bit offset', 1, true) then
    return redis.error_reply('FULL proto-max-bulk-len ends the bitmap before this pet')
  end
  if text and not string.find(text, '^WRONGTYPE') and not string.find(text, 'not an integer')
      and not string.find(text, 'overflow') then
    return failure
  end
  return redis.error_reply('DAMAGED ' .. key)
end

local pcall = redis.pcall
local before = KEYS[4] and pcall('GET', KEYS[4])
if before then
  local id, digest
  if type(before) == 'string' then id, digest = string.match(before, '^(%d+):(.*)$') end
  if not id then return damaged(KEYS[4], before) end
  if digest ~= ARGV[3] then return {0, 2} end
  if ARGV[5] then redis.call('SET', KEYS[4], before, 'KEEPTTL') end
  return {tonumber(id), 1}
end

local id = pcall('INCR', KEYS[1])
if type(id) == 'table' then return damaged(KEYS[1], id) end
if id <= 1 then
  -- Unless this is the very first pet, ids would be reused.
  local changes = pcall('GET', KEYS[2])
  if type(changes) == 'table' then return damaged(KEYS[2], changes, id) end
  if changes or id < 1 then return damaged(KEYS[1], nil, id) end
elseif id > 4000000000 then -- kMaxPets
  local full = 'FULL the catalogue has 4000000000 pets, the most it can have'
  return damaged(nil, redis.error_reply(full), id)
end

local position = (id - 1) % 128
local bucket = ARGV[2] .. 'bucket:' .. (id - 1 - position) / 128
local length = pcall('RPUSH', bucket, ARGV[1])
if length ~= position + 1 then
  if type(length) == 'table' then return damaged(bucket, length, id) end
  redis.call('RPOP', bucket)
  return damaged(id == 1 and KEYS[1] or bucket, nil, id)
end
local bit = pcall('SETBIT', KEYS[3], id, '1') -- string: a number costs a printf
if bit ~= 0 and bit ~= 1 then
  redis.call('RPOP', bucket)
  return damaged(KEYS[3], bit, id)
end
-- Nothing can fail after this point: SET overwrites any type.
if id == 1 then
  -- Distinguishes a recreated catalogue from its predecessor.
  local t = redis.call('TIME')
  redis.call('SET', KEYS[2], string.format('%.0f', t[1] * 1000000 + t[2]))
end
if KEYS[4] then
  redis.call('SET', KEYS[4], string.format('%.0f:%s', id, ARGV[3]), 'EX', ARGV[4])
end
return {id, 0}
