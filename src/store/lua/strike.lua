-- Counts requests of an account that a worker denied from memory, bans the
-- account when there were too many, and tells how it stands.
--
-- KEYS  1 account state   2 strikes   3 bans
-- ARGV  1 epoch the caller knows   2 number of denials   3 denials allowed
--       4 their window, 5 first ban, 6 longest ban, in seconds
--
-- Reply: {strikes, 1 if banned now, now, account state}, with -1 strikes where
-- the caller's epoch is out of date and nothing was counted.
local DAY = 86400000  -- also how long a ban makes the next one longer
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local state = redis.call('GET', KEYS[1]) or ''
if #state ~= 48 then return {-1, 0, now, ''} end
local epoch, ban, minute, minute_end, day, day_end = struct.unpack('<dddddd', state)
if epoch ~= tonumber(ARGV[1]) then return {-1, 0, now, state} end

local function standing(strikes, new_ban)
  if minute_end <= now then minute, minute_end = 0, now + 60000 end
  if day_end <= now then day, day_end = 0, now + DAY end
  return {strikes, new_ban, now,
    struct.pack('<dddddd', epoch, ban, minute, minute_end, day, day_end)}
end

-- Requests during a ban neither extend it nor count.
if now < ban then return standing(0, 0) end
ban = 0

local strikes = redis.call('INCRBY', KEYS[2], ARGV[2])
if strikes == tonumber(ARGV[2]) then
  redis.call('PEXPIRE', KEYS[2], ARGV[4] * 1000)
end
if strikes <= tonumber(ARGV[3]) then return standing(strikes, 0) end

local level = redis.call('INCR', KEYS[3])
redis.call('PEXPIRE', KEYS[3], DAY)
local seconds = math.min(tonumber(ARGV[6]), ARGV[5] * 2 ^ math.min(level - 1, 40))
ban = now + seconds * 1000
redis.call('SET', KEYS[1], struct.pack('<dd', epoch, ban) .. string.sub(state, 17),
  'PXAT', ban + 2 * DAY)
redis.call('DEL', KEYS[2])
return standing(strikes, 1)
