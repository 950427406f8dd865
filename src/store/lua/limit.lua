-- Decides on one request of an account and charges both of its windows, or
-- neither. A window is a counter that Redis itself expires: it opens with the
-- first request counted in it, and its end never moves.
--
-- KEYS  1 account state   2 minute window   3 day window
-- ARGV  1 epoch the caller knows   2 limit a minute   3 limit a day
--
-- Replies
--   "<epoch>"                                 the caller's epoch is out of date
--   {minute, day, minute end, day end}                        admitted
--   {minute, day, minute end, day end, now, ban end or 0}     denied
-- with counts after the decision and times in milliseconds.
local MINUTE, DAY = 60000, 86400000
local seen = redis.call('MGET', KEYS[1], KEYS[2], KEYS[3])
local state = seen[1] or '0'
local minute, day = tonumber(seen[2] or 0), tonumber(seen[3] or 0)

local function now()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

local function denied(banned_until)
  local at = now()
  return {minute, day,
    seen[2] and redis.call('PEXPIRETIME', KEYS[2]) or at + MINUTE,
    seen[3] and redis.call('PEXPIRETIME', KEYS[3]) or at + DAY,
    at, banned_until}
end

if state ~= ARGV[1] then
  local epoch, banned_until = string.match(state, '^(%d+)!(%d+)$')
  if epoch ~= ARGV[1] then return epoch or state end
  if now() < tonumber(banned_until) then return denied(tonumber(banned_until)) end
  redis.call('SET', KEYS[1], epoch)
end

if minute >= tonumber(ARGV[2]) or day >= tonumber(ARGV[3]) then return denied(0) end

if seen[2] then redis.call('INCR', KEYS[2])
else redis.call('SET', KEYS[2], 1, 'PX', MINUTE) end
if seen[3] then redis.call('INCR', KEYS[3])
else redis.call('SET', KEYS[3], 1, 'PX', DAY) end
return {minute + 1, day + 1,
  redis.call('PEXPIRETIME', KEYS[2]), redis.call('PEXPIRETIME', KEYS[3])}
