-- Decides on requests of several accounts, each independently. Charges admitted
-- requests to all windows of their account, or to none. The windows of a minute
-- and a day open with the first request counted in them, and their ends never
-- move. One exception: if the clock was set back, the end of a window or ban
-- moves to at most its length from now. A month is one of the calendar, in UTC.
--
-- Follows limit_read.lua, or limit_read_cluster.lua, which read the states, and
-- is followed by limit_unusual.lua.
--
-- KEYS  1 … n  states of n accounts, all distinct
--       n+1 count of pets   n+2 changes of pets: the catalogue's version, for the
--       workers' caches; absent if no request needs it, or if the catalogue is on
--       another Redis
--       With limit_read_cluster.lua, only the first state; the others are ARGV
--       2 … n, because all KEYS must be in one slot.
-- ARGV  1  one string: for each account the epoch that the caller knows, as a
--          double, the limits per minute and day, and the units that all of its
--          requests cost, as floats. If the last byte is 1: all as doubles, and two
--          more, which are the limit per month (2^53 for none) and the cost of one
--          request (1 otherwise). If the last byte is 2, all accounts have the same
--          numbers: first those five, as doubles, then only the epochs. Then for
--          each account one byte:
--            0  no further information
--            1  the caller has just read the key's record
--            2  in a Cluster, where the script cannot read <prefix>:limits-place
--            3  in a Cluster; the caller has read it: accounts live here
--          then the last byte
--
-- An account is usual if the caller's epoch is the current one, there is no ban, a
-- window of a day is open, a request was charged today, and all requests were
-- admitted.
--
-- Reply: if all accounts are usual, one string: the windows of each, which are the
-- numbers 3 to 7 of its state, then a stamp. Otherwise an array of the same parts,
-- with {admitted, state} in place of the windows of each account that is not usual.
-- The stamp is the time in milliseconds as a double, the lengths of count and of
-- changes as one byte each, count, and changes. The caller must validate these
-- two, which are returned unchecked because no account depends on them.
-- `admitted` is the number of admitted requests, or, if nothing was charged:
--   -1  the caller's epoch is outdated; the state contains the current one
--   -2  the state is damaged
--   -3  the account has no state here, and <prefix>:limits-place says that
--       accounts live on another Redis. That key is not among KEYS: it is read only
--       for such an account, so other calls cost nothing more.
--   -4  the account has no state here; the caller must read <prefix>:limits-place
--   -5  a command failed for this account alone: in a Cluster, another server has
--       it, or its usage cannot be written. In a call of its own, the error is the
--       reply.
local decode, encode = struct.unpack, struct.pack
local asked = ARGV[1]
local layout = decode('B', asked, #asked)
local format, size, first = 'dfff', 20, 1
local all_minute, all_day, all_units, all_month, all_cost -- layout 2
if layout == 1 then
  format, size = 'ddddd', 48 -- without the cost
elseif layout == 2 then
  format, size, first = 'd', 8, 41
  all_minute, all_day, all_units, all_month, all_cost = decode('<ddddd', asked)
end
local n = (#asked - first) / (size + 1)
local time = call('TIME')
local now = time[1] * 1000 + time[2] / 1000
now = now - now % 1
local today = (now - now % 86400000) / 86400000
local next_minute, next_day = now + 60000, now + 86400000
local at = first - size -- of an account in `asked`
local unusual -- the other accounts

-- Nearly all accounts of a busy worker are usual. This is a shortcut for them:
-- limit_unusual.lua gives the same result with more instructions. Redis's Lua
-- hashes each byte of each string, so the length of strings matters here, and it
-- interprets each operation in some 40 instructions.
--
-- The formats name no byte order, because struct takes as long for '<' as for a
-- number. Where the native one is big-endian, `usual` is never equal to `today`, so
-- all accounts are left to limit_unusual.lua.
for i = 1, n do
  at = at + size
  repeat -- only for break, which continues with the next account
    local state = seen[i]
    if state and #state >= 80 then
      -- After those that the layout has, one is the position behind them.
      local known, per_minute, per_day, units, per_month = decode(format, asked, at)
      if all_minute then per_minute, per_day, units, per_month = all_minute, all_day, all_units, all_month end
      local epoch, usual, minute, minute_end, day, day_end, month = decode('ddddddd', state)
      if minute_end <= now then minute, minute_end = 0, next_minute end
      minute = minute + units
      day = day + units
      month = month + units
      if usual == today and epoch == known and day_end > now and day_end <= next_day and minute_end <= next_minute
          and minute <= per_minute and day <= per_day
          and not (layout > 0 and month > per_month) then
        local charged = encode('ddddd', minute, minute_end, day, day_end, month)
        call('SETRANGE', KEYS[i], '16', charged)
        seen[i] = charged
        break
      end
    end
    unusual = unusual or {}
    unusual[#unusual + 1] = i
  until true
end

local count, changes = seen[n + 1] or '0', seen[n + 2] or '0'
if #count > 20 then count = '' end -- not a number
if #changes > 20 then changes = '' end
seen[n + 1], seen[n + 2] = encode('<dBB', now, #count, #changes) .. count .. changes, nil
if not unusual then return table.concat(seen) end
