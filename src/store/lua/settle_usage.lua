-- Follows damaged.lua and usage.lua. Moves the units of the account's running day
-- from its state into its usage, where they outlive the state, and, to reset the
-- account, empties all of its windows. A ban stays. The caller must then give the
-- account a new epoch (touch_account.lua), because workers deny from their caches.
--
-- KEYS  1 account state
-- ARGV  1 1 to empty the windows, else 0
-- Reply: 1, or 0 if the account has no state
--   error DAMAGED <key>   inconsistent data; nothing was changed
local state = redis.pcall('GET', KEYS[1])
if not state then return 0 end
if type(state) == 'table' or #state < 80 then return damaged(KEYS[1], state) end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local epoch, usual, minute, minute_end, day, day_end, month, ban, utc_day, month_base = struct.unpack('<dddddddddd', state)
local used = month - month_base
if ARGV[1] == '1' then minute, minute_end, day, day_end, month = 0, 0, 0, 0, 0 end
local settled = struct.pack('<dddddddddd', epoch, usual, minute, minute_end, day, day_end, month, ban, utc_day, month)
return add_usage(KEYS[1], now, utc_day, '', used, settled .. string.sub(state, 81)) or 1
