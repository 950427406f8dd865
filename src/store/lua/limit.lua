-- Decides on requests of several accounts, each independently. Charges admitted
-- requests to both windows of their account, or to neither. A window opens with
-- the first request counted in it, and its end never moves. One exception: if
-- the clock was set back, the end of a window or ban moves to at most its
-- length from now.
--
-- Follows limit_read.lua, or limit_read_cluster.lua, which read the states.
--
-- KEYS  1 … n  states of n accounts, all distinct
--       n+1 last pet id   n+2 changes of pets: the catalogue's version, for the
--       workers' caches; absent if the catalogue is on another Redis
--       With limit_read_cluster.lua, only the first state; the others are ARGV
--       2 … n, because all KEYS must be in one slot.
-- ARGV  1  one string: for each account four doubles, which are the epoch that the
--          caller knows, the limits per minute and per day, and the number of
--          requests; then for each account one byte:
--            0  no further information
--            1  the caller has just read the key's record
--            2  in a Cluster, where the script cannot read <prefix>:limits-place
--            3  in a Cluster; the caller has read it: accounts live here
--
-- An account is usual if the caller's epoch is the current one, there is no ban, a
-- day was open, and all requests were admitted.
--
-- Reply: if all accounts are usual, one string: the windows of each, which are the
-- last four numbers of its state, then a stamp. Otherwise an array of the same
-- parts, with {admitted, state} in place of the windows of each account that is not
-- usual. The stamp is the time in milliseconds as a double, the lengths of last id
-- and of changes as one byte each, last id, and changes. The caller must validate
-- these two, which are returned unchecked because no account depends on them.
-- `admitted` is the number of admitted requests, or, if nothing was charged:
--   -1  the caller's epoch is outdated; the state contains the current one
--   -2  the state is damaged
--   -3  the account has no state here, and <prefix>:limits-place says that
--       accounts live on another Redis. That key is not among KEYS: it is read only
--       for such an account, so other calls cost nothing more.
--   -4  the account has no state here; the caller must read <prefix>:limits-place
--   -5  the account is on another server of the Cluster
local MINUTE, DAY = 60000, 86400000
local KEEP = '172800000' -- a string: redis.call would format a number, at a cost
local call, decode, encode = redis.call, struct.unpack, struct.pack
local asked, n = ARGV[1], #ARGV[1] / 33
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local next_minute, next_day = now + MINUTE, now + DAY
local all_usual = true

for i = 1, n do
  local known, per_minute, per_day, requests = decode('<dddd', asked, 32 * i - 31)
  local state, charged = seen[i], nil
  -- Nearly all accounts of a busy worker are usual. This is a shortcut for them:
  -- the general branches below give the same result with a fifth more instructions.
  if state and #state == 48 then
    local epoch, ban, minute, minute_end, day, day_end = decode('<dddddd', state)
    if minute_end <= now then minute, minute_end = 0, next_minute end
    minute, day = minute + requests, day + requests
    if epoch == known and ban == 0 and day_end > now and day_end <= next_day and minute_end <= next_minute
        and minute <= per_minute and day <= per_day then
      charged = encode('<dddd', minute, minute_end, day, day_end)
      call('SETRANGE', KEYS[i], '16', charged)
      seen[i] = charged
    end
  end

  if not charged then
    all_usual = false
    local mode, admitted = string.byte(asked, 32 * n + i), -1
    local epoch, ban, minute, minute_end, day, day_end
    if state and #state == 48 then
      epoch, ban, minute, minute_end, day, day_end = decode('<dddddd', state)
    elseif not state and redis.pcall('GET', KEYS[i]) then -- an error: wrong type
      admitted, state = -2, ''
    elseif not state and mode == 2 then
      admitted, state = -4, ''
    elseif not state and mode < 2 and string.find(call('GET', string.match(KEYS[i], '^[^{]*') .. 'limits-place') or '', '^elsewhere') then
      admitted, state = -3, ''
    elseif not state then
      -- A new account, or a state that was lost with or without its records. A
      -- caller with a cached record must read it again; one that has just read it
      -- may proceed. The epoch is always new: one taken from a record could be old,
      -- and a worker that caches another record of the account would take it for
      -- the current one.
      epoch, ban, minute, minute_end, day, day_end = time[1] * 1000000 + time[2], 0, 0, 0, 0, 0
      if mode == 1 then
        known = epoch
      else
        state = encode('<dddddd', epoch, 0, 0, 0, 0, 0)
        call('SET', KEYS[i], state, 'PX', KEEP)
      end
    else
      local elsewhere = type(state) == 'table' and not string.find(state.err, '^WRONGTYPE')
      admitted, state = elsewhere and -5 or -2, ''
    end

    if admitted == -1 and epoch == known then
      local moved = false
      if minute_end > next_minute then minute_end, moved = next_minute, true end
      if day_end > next_day then day_end, moved = next_day, true end
      if ban > now then
        -- The count of bans expires one day after this ban began.
        local bans = string.sub(KEYS[i], 1, -6) .. 'bans'
        -- An error: in a Cluster, the account is moving to another server.
        local expires = redis.pcall('PEXPIRETIME', bans)
        local ahead = type(expires) == 'number' and expires - next_day or 0
        if ahead > 0 then
          ban, moved = ban - ahead, true
          call('PEXPIRE', bans, DAY)
        end
      else
        ban = 0
      end
      -- Stored even if nothing is admitted: otherwise each denial would move the
      -- ends.
      if moved then
        state = encode('<dddddd', epoch, ban, minute, minute_end, day, day_end)
        call('SET', KEYS[i], state, 'PX', KEEP)
      end

      local opens = day_end <= now
      if minute_end <= now then minute, minute_end = 0, next_minute end
      if opens then day, day_end = 0, next_day end
      admitted = ban > 0 and 0 or math.max(math.min(requests, per_minute - minute, per_day - day), 0)
      state = encode('<dddddd', epoch, ban, minute + admitted, minute_end, day + admitted, day_end)
      if admitted > 0 then
        if opens then call('SET', KEYS[i], state, 'PX', KEEP)
        else call('SETRANGE', KEYS[i], '0', state) end
      end
    end
    seen[i] = {admitted, state}
  end
end

local last, changes = seen[n + 1] or '0', seen[n + 2] or '0'
if #last > 20 then last = '' end -- not a number
if #changes > 20 then changes = '' end
seen[n + 1], seen[n + 2] = encode('<dBB', now, #last, #changes) .. last .. changes, nil
return all_usual and table.concat(seen) or seen
