-- The part of the limiter after limit.lua, damaged.lua and usage.lua: decides on the
-- accounts that are not usual.

-- {admitted, state} of an account, or an error if the call is for it alone.
local function decide(i)
  local known, per_minute, per_day, units, per_month, cost =
    decode(layout == 0 and '<dfff' or layout == 1 and '<dddddd' or '<d', asked, first + size * (i - 1))
  if layout == 0 then per_month, cost = 2 ^ 53, 1 end
  if all_minute then per_minute, per_day, units, per_month, cost = all_minute, all_day, all_units, all_month, all_cost end
  local mode, state = string.byte(asked, i - n - 2), seen[i]
  local epoch, _, minute, minute_end, day, day_end, month, ban, utc_day, month_base
  local rest = '' -- of a later version
  if state and #state >= 80 then
    epoch, _, minute, minute_end, day, day_end, month, ban, utc_day, month_base = decode('<dddddddddd', state)
    rest = string.sub(state, 81)
  elseif state then
    local elsewhere = type(state) == 'table' and not string.find(state.err, '^WRONGTYPE')
    return {elsewhere and -5 or -2, ''}
  elseif redis.pcall('GET', KEYS[i]) then -- an error: wrong type
    return {-2, ''}
  elseif mode == 2 then
    return {-4, ''}
  else
    -- Nothing is raised, because other accounts may have been charged.
    local marker = string.match(KEYS[i], '^[^{]*') .. 'limits-place'
    local place = mode < 2 and redis.pcall('GET', marker) or ''
    if type(place) == 'table' then return n == 1 and damaged(marker, place) or {-5, ''} end
    if string.find(place, '^elsewhere') then return {-3, ''} end
    -- A new account, or a state that was lost with or without its records. A
    -- caller with a cached record must read it again; one that has just read it
    -- may proceed. The epoch is always new: one taken from a record could be old,
    -- and a worker that caches another record of the account would take it for
    -- the current one.
    epoch, minute, minute_end, day, day_end, month = time[1] * 1000000 + time[2], 0, 0, 0, 0, 0
    ban, utc_day, month_base = 0, 0, 0
    if mode == 1 then
      known = epoch
    else
      state = encode('<d', epoch) .. string.rep('\0', 72)
      call('SET', KEYS[i], state, 'PX', KEEP)
    end
  end
  if epoch ~= known then return {-1, state} end

  local function pack()
    return encode('<dddddddddd', epoch, ban > 0 and 0 or utc_day, minute, minute_end, day, day_end, month, ban, utc_day, month_base)
  end

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
  -- Stored even if nothing is admitted: otherwise each denial would move the ends.
  if moved then call('SET', KEYS[i], pack() .. rest, 'PX', KEEP) end

  local last_day, used = utc_day, month - month_base
  local failure
  utc_day, month, month_base, failure = open_day(KEYS[i], now, utc_day, month, month_base)
  if failure then return n == 1 and failure or {-5, ''} end
  if minute_end <= now then minute, minute_end = 0, next_minute end
  if day_end <= now then day, day_end = 0, next_day end
  local left = ban > 0 and 0 or math.max(math.min(per_minute - minute, per_day - day, per_month - month), 0)
  local admitted = math.floor(math.min(units, left) / cost)
  local charged = admitted * cost
  minute, day, month = minute + charged, day + charged, month + charged
  state = pack()
  if admitted > 0 then
    if utc_day == last_day then
      call('SETRANGE', KEYS[i], '0', state)
    else
      failure = add_usage(KEYS[i], now, last_day, '', used, state .. rest)
      if failure then return n == 1 and failure or {-5, ''} end
    end
  end
  return {admitted, state}
end

for _, i in ipairs(unusual) do
  local answer = decide(i)
  if answer.err then return answer end
  seen[i] = answer
end
return seen
