-- Converts the state of an account from format 1, 48 bytes, to format 2: see
-- "State of an account" in docs/redis-keys.md. Epoch, windows and ban stay. How
-- much of the open day's window was used today in UTC, or in this month, is not
-- known, so both begin at zero: no limit may refuse what was never counted.
--
-- KEYS  1 account state
-- Reply: 1 if it was converted now, 0 if it needs no conversion, -1 if it is
--        damaged and was left alone
local KEEP = '37238400000' -- as usage.lua
local state = redis.pcall('GET', KEYS[1])
if not state then return 0 end
if type(state) == 'table' then return string.find(state.err, '^WRONGTYPE') and -1 or state end
if #state ~= 48 then return #state >= 80 and 0 or -1 end
local epoch, ban, windows = string.sub(state, 1, 8), string.sub(state, 9, 16), string.sub(state, 17)
local none = string.rep('\0', 8)
redis.call('SET', KEYS[1], epoch .. none .. windows .. none .. ban .. none .. none, 'PX', KEEP)
return 1
