-- Follows damaged.lua and usage.lua. Counts requests of an account that a worker
-- denied, bans the account if there were too many, and returns its status.
--
-- KEYS  1 account state   2 strikes   3 bans
-- ARGV  1 epoch the caller knows   2 number of strikes: denials that may lead to a
--       ban   3 strikes allowed   4 their window, 5 first ban, 6 longest ban, in
--       seconds   7 number of all denials, for the account's usage
--
-- Reply: {strikes, 1 if banned now, now, account state}; strikes is -1 if the
-- caller's epoch is outdated and no strike was counted
--   error DAMAGED <key>   inconsistent data; the account was not banned
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)

local state = redis.pcall('GET', KEYS[1])
if not state then return {-1, 0, now, ''} end
if type(state) == 'table' or #state < 80 then return damaged(KEYS[1], state) end
local epoch, _, minute, minute_end, day, day_end, month, ban, utc_day, month_base = struct.unpack('<dddddddddd', state)

local failure = add_usage(KEYS[1], now, (open_day(KEYS[1], now, utc_day, month, month_base)), 'd', tonumber(ARGV[7]))
if failure then return failure end
if epoch ~= tonumber(ARGV[1]) then return {-1, 0, now, state} end

local function pack()
  return struct.pack('<dddddddddd', epoch, ban > 0 and 0 or utc_day, minute, minute_end, day, day_end, month, ban, utc_day, month_base)
end
local function store()
  redis.call('SET', KEYS[1], pack() .. string.sub(state, 81), 'PX', KEEP)
end

-- As in limit.lua, setting the clock back does not extend windows or bans.
local moved = false
if minute_end > now + MINUTE then minute_end, moved = now + MINUTE, true end
if day_end > now + DAY then day_end, moved = now + DAY, true end
if ban > now then
  local ahead = redis.call('PEXPIRETIME', KEYS[3]) - DAY - now
  if ahead > 0 then
    ban, moved = ban - ahead, true
    redis.call('PEXPIRE', KEYS[3], DAY)
  end
else
  ban = 0
end
if moved then store() end

local function status_reply(strikes, new_ban)
  if minute_end <= now then minute, minute_end = 0, now + MINUTE end
  if day_end <= now then day, day_end = 0, now + DAY end
  utc_day, month, month_base = open_day(KEYS[1], now, utc_day, month, month_base)
  return {strikes, new_ban, now, pack()}
end

-- Denials during a ban neither extend it nor count.
if ban > 0 then return status_reply(0, 0) end

-- Without denials, the caller only asks for the status. The strikes of other
-- locations must keep their end, and lead to a ban only where they are counted.
if ARGV[2] == '0' then
  local counted = redis.pcall('GET', KEYS[2])
  local strikes = tonumber(counted or 0)
  if not strikes then return damaged(KEYS[2], counted) end
  return status_reply(strikes, 0)
end

local strikes = redis.pcall('INCRBY', KEYS[2], ARGV[2])
if type(strikes) == 'table' then return damaged(KEYS[2], strikes) end
local window = ARGV[4] * 1000
if strikes == tonumber(ARGV[2]) then
  redis.call('PEXPIRE', KEYS[2], window)
else
  redis.call('PEXPIRE', KEYS[2], window, 'LT')
end
if strikes <= tonumber(ARGV[3]) then return status_reply(strikes, 0) end

-- Each ban that begins within a day of the previous one lasts longer.
local level = redis.pcall('INCR', KEYS[3])
if type(level) == 'table' then return damaged(KEYS[3], level) end
redis.call('PEXPIRE', KEYS[3], DAY)
local seconds = math.min(tonumber(ARGV[6]), ARGV[5] * 2 ^ math.min(level - 1, 40))
ban = now + seconds * 1000
store()
redis.call('DEL', KEYS[2])
return status_reply(strikes, 1)
