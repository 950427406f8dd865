-- Counts requests of an account that a worker denied from memory, bans the
-- account when there were too many, and tells how it stands.
--
-- KEYS  1 account state   2 minute window   3 day window   4 strikes   5 bans
-- ARGV  1 epoch the caller knows   2 number of denials   3 denials allowed
--       4 their window, 5 first ban, 6 longest ban, in seconds
--
-- Replies
--   "<epoch>"      the caller's epoch is out of date; nothing was counted
--   {minute, day, minute end, day end, now, ban end or 0, strikes, 1 if banned now}
local MEMORY = 86400000  -- how long a ban makes the next one longer
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local seen = redis.call('MGET', KEYS[1], KEYS[2], KEYS[3])
local state = seen[1] or '0'
local epoch, banned_until = string.match(state, '^(%d+)!(%d+)$')
if (epoch or state) ~= ARGV[1] then return epoch or state end
banned_until = tonumber(banned_until or 0)

local function standing(strikes, new_ban)
  return {tonumber(seen[2] or 0), tonumber(seen[3] or 0),
    seen[2] and redis.call('PEXPIRETIME', KEYS[2]) or now + 60000,
    seen[3] and redis.call('PEXPIRETIME', KEYS[3]) or now + 86400000,
    now, banned_until, strikes, new_ban}
end

-- Requests during a ban neither extend it nor count.
if now < banned_until then return standing(0, 0) end
banned_until = 0

local strikes = redis.call('INCRBY', KEYS[4], ARGV[2])
if strikes == tonumber(ARGV[2]) then
  redis.call('PEXPIRE', KEYS[4], ARGV[4] * 1000)
end
if strikes <= tonumber(ARGV[3]) then return standing(strikes, 0) end

local level = redis.call('INCR', KEYS[5])
redis.call('PEXPIRE', KEYS[5], MEMORY)
local seconds = math.min(tonumber(ARGV[6]), ARGV[5] * 2 ^ math.min(level - 1, 40))
banned_until = now + seconds * 1000
redis.call('SET', KEYS[1], string.format('%s!%.0f', ARGV[1], banned_until),
  'PXAT', banned_until + MEMORY)
redis.call('DEL', KEYS[4])
return standing(strikes, 1)
