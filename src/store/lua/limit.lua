-- Decides on requests of some accounts, on each account by itself, and charges
-- both of its windows for those admitted, or neither. A window opens with the
-- first request counted in it. Its end never moves, except that it is never more
-- than one window ahead, and a ban never more than its length, when the clock
-- was set back.
--
-- KEYS  1 … n  states of n accounts, no two the same
--       n+1 last pet id   n+2 changes of pets  (they ride along for the worker's
--       caches)
-- ARGV  1  what is asked of each account, five doubles in one text for all of
--          them: the epoch that the caller knows, the limits of a minute and a
--          day, the number of requests, and 1 if the caller has just read the
--          record of the key, else 0
--
-- Reply: {now, last id, changes, and for each account: admitted, its state},
-- times in milliseconds. The caller judges the numbers of pets, which come as
-- they are: no account depends on them. Not a number of requests but
--   -1  the caller's epoch is out of date, the state tells today's
--   -2  the state is damaged
-- where nothing was charged.
local MINUTE, DAY = 60000, 86400000
local KEEP = '172800000' -- text, for a number costs redis.call a printf
local call, decode, encode, min, max = redis.call, struct.unpack, struct.pack, math.min, math.max
local KEYS, asked, n = KEYS, ARGV[1], #KEYS - 2
local seen = call('MGET', unpack(KEYS))
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local next_minute, next_day = now + MINUTE, now + DAY
local reply = {now, seen[n + 1], seen[n + 2]}
for i = 2, 3 do
  if reply[i] and #reply[i] > 20 then reply[i] = '' end -- no number
end

for i = 1, n do
  local known, per_minute, per_day, requests, fresh = decode('<ddddd', asked, 40 * i - 39)
  local state, admitted = seen[i], -1
  local epoch, ban, minute, minute_end, day, day_end = 0, 0, 0, 0, 0, 0
  if not state and redis.pcall('GET', KEYS[i]) then -- an error: of another type
    admitted, state = -2, ''
  elseif not state then
    -- Never seen, or lost with or without its records: whoever remembers one has
    -- to read it again; who has just done so may go on. The epoch is always a new
    -- one. One taken from a record could be an old one, which a worker that
    -- remembers another record of the account would take as today's.
    epoch = time[1] * 1000000 + time[2]
    if fresh == 1 then
      known = epoch
    else
      state = encode('<dddddd', epoch, 0, 0, 0, 0, 0)
      call('SET', KEYS[i], state, 'PX', KEEP)
    end
  elseif #state == 48 then
    epoch, ban, minute, minute_end, day, day_end = decode('<dddddd', state)
  else
    admitted, state = -2, ''
  end

  if admitted == -1 and epoch == known then
    local moved = false
    if minute_end > next_minute then minute_end, moved = next_minute, true end
    if day_end > next_day then day_end, moved = next_day, true end
    if ban > now then
      -- The count of bans is kept for a day from when this one began.
      local bans = string.sub(KEYS[i], 1, -6) .. 'bans'
      local ahead = call('PEXPIRETIME', bans) - next_day
      if ahead > 0 then
        ban, moved = ban - ahead, true
        call('PEXPIRE', bans, DAY)
      end
    else
      ban = 0
    end
    -- Also if nothing is admitted, or the ends would move with each denial.
    if moved then
      state = encode('<dddddd', epoch, ban, minute, minute_end, day, day_end)
      call('SET', KEYS[i], state, 'PX', KEEP)
    end

    local opens = day_end <= now
    if minute_end <= now then minute, minute_end = 0, next_minute end
    if opens then day, day_end = 0, next_day end
    admitted = ban > 0 and 0 or max(min(requests, per_minute - minute, per_day - day), 0)
    state = encode('<dddddd', epoch, ban, minute + admitted, minute_end, day + admitted, day_end)
    if admitted > 0 then
      if opens then call('SET', KEYS[i], state, 'PX', KEEP)
      else call('SETRANGE', KEYS[i], '0', state) end
    end
  end
  reply[2 * i + 2], reply[2 * i + 3] = admitted, state
end
return reply
