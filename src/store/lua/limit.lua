-- Decides on requests of an account and charges both of its windows for those
-- admitted, or neither. A window is a counter that Redis itself expires: it
-- opens with the first request counted in it, and its end never moves.
--
-- KEYS  1 account state   2 minute window   3 day window
--       4 last pet id     5 changes of pets  (only where they share the slot or
--       Redis is no cluster: they ride along for the worker's caches)
-- ARGV  1 epoch the caller knows   2 limit a minute   3 limit a day
--       4 number of requests   5 "1": tell the time
--
-- Replies
--   "<epoch>"     the caller's epoch is out of date; nothing was charged
--   {admitted, minute, day, minute end, day end, now, ban end, last id, changes}
-- with the counts after the decision and times in milliseconds; `now` is told
-- when asked for or when a request was denied, else it is 0.
local MINUTE, DAY = 60000, 86400000
local call, keys, args = redis.call, KEYS, ARGV
local minute_key, day_key = keys[2], keys[3]
local seen = call('MGET', unpack(keys))
local state, minute, day = seen[1], seen[2], seen[3]
local banned_until = 0

local function now()
  local t = call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

if state ~= args[1] then
  if not state then
    -- Never seen, or gone with its data or its keys: whoever knows the account
    -- has to look again whether it still is.
    local t = call('TIME')
    state = string.format('%.0f', t[1] * 1000000 + t[2])
    call('SET', keys[1], state, 'PX', DAY)
    return state
  end
  local epoch, ban = string.match(state, '^(%d+)!(%d+)$')
  if epoch ~= args[1] then return epoch or state end
  banned_until = ban + 0
  if now() >= banned_until then
    call('SET', keys[1], epoch, 'PX', DAY)
    banned_until = 0
  end
end

local requests = args[4] + 0
local left = math.min(args[2] - (minute or 0), args[3] - (day or 0))
if banned_until > 0 then left = 0 end

local admitted, charge = requests, args[4]  -- a text spares Redis a conversion
if left < requests then
  admitted = math.max(left, 0)
  charge = string.format('%.0f', admitted)
end
if admitted > 0 then
  if minute then minute = call('INCRBY', minute_key, charge)
  else minute = admitted; call('SET', minute_key, charge, 'PX', MINUTE) end
  if day then day = call('INCRBY', day_key, charge)
  else day = admitted; call('SET', day_key, charge, 'PX', DAY) end
end

local at = (admitted < requests or args[5] == '1') and now() or 0
return {admitted, (minute or 0) + 0, (day or 0) + 0,
  minute and call('PEXPIRETIME', minute_key) or at + MINUTE,
  day and call('PEXPIRETIME', day_key) or at + DAY,
  at, banned_until, (seen[4] or 0) + 0, (seen[5] or 0) + 0}
