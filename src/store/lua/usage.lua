-- Prepended, after damaged.lua, to each script that adds to the usage of an
-- account. A day is one in UTC, counted from 1970-01-01.
local MINUTE, DAY = 60000, 86400000
-- A state keeps the units of its day until the next charge moves them into the
-- usage, so it must live as long as the usage of that day.
local KEEP = '37238400000' -- 431 days; a string: redis.call would format a number

-- The month of a day, such as 203012, and the day of that month.
-- http://howardhinnant.github.io/date_algorithms.html#civil_from_days
local function month_of(day)
  local floor = math.floor
  local since = day + 719468 -- 0000-03-01: leap days end these years
  local era, of_era = floor(since / 146097), since % 146097 -- of 400 years
  local year = floor((of_era - floor(of_era / 1460) + floor(of_era / 36524) - floor(of_era / 146096)) / 365)
  local of_year = of_era - 365 * year - floor(year / 4) + floor(year / 100)
  local month = floor((5 * of_year + 2) / 153) -- 0 is March
  year = year + 400 * era + floor((month + 2) / 12)
  return 100 * year + (month + 2) % 12 + 1, of_year - floor((153 * month + 2) / 5) + 1
end

local function usage_key(key, month)
  return string.sub(key, 1, -6) .. 'usage:' .. string.format('%06d', month)
end

-- The units in the usage of a month, or nil and an error.
local function units_in(key, month)
  local usage, sum = redis.pcall('HGETALL', usage_key(key, month)), 0
  if usage.err then return nil, damaged(usage_key(key, month), usage) end
  for i = 1, #usage, 2 do
    if #usage[i] == 2 then sum = sum + (tonumber(usage[i + 1]) or 0) end
  end
  return sum
end

-- The day to which a request is charged now, the month's count, and the month's
-- count when that day began. A day in the state remains while Redis's clock is
-- set back, but not if it is more than a day ahead. A month that begins may have a
-- usage already, if the clock was ahead once. If that cannot be read, the month's
-- counts are 0, and an error follows.
local function open_day(key, now, utc_day, month, month_base)
  local today = math.floor(now / DAY)
  if utc_day == today or utc_day == today + 1 then return utc_day, month, month_base end
  local this_month, failure = (month_of(today)), nil
  if this_month ~= month_of(utc_day) then
    month = 0
    if utc_day > 0 then month, failure = units_in(key, this_month) end
  end
  return today, month or 0, month or 0, failure
end

-- Adds to one field of the usage: the units admitted on a day, or the requests
-- denied (`suffix` 'd'). Also stores `state`, unless that is nil. Returns nil, or
-- an error, and then has changed nothing, so the caller may be called again.
local function add_usage(key, now, utc_day, suffix, amount, state)
  if not (amount >= 0 and amount <= 2 ^ 53 and utc_day >= 0 and utc_day <= 2932896) -- 9999-12-31
      or amount % 1 ~= 0 or utc_day % 1 ~= 0 then
    return damaged(key)
  end
  if amount == 0 then
    if state then redis.call('SET', key, state, 'PX', KEEP) end
    return nil
  end
  local month, day_of_month = month_of(utc_day)
  local usage = usage_key(key, month)
  local field, units = string.format('%02d', day_of_month) .. suffix, string.format('%.0f', amount)
  -- While a slot of a Cluster moves, its new server creates a key that it does not
  -- have yet, and the old one could then not move its own. Commands that name
  -- several keys are refused until all are there.
  local result = redis.pcall('MGET', key, usage)
  if result.err then return result end
  result = redis.pcall('HINCRBY', usage, field, units)
  if type(result) == 'table' then return damaged(usage, result) end
  -- 31 + 400 days after the month has begun.
  result = redis.pcall('PEXPIRE', usage, (utc_day - day_of_month + 432) * DAY - now)
  if state and type(result) ~= 'table' then result = redis.pcall('SET', key, state, 'PX', KEEP) end
  if type(result) ~= 'table' or not result.err then return nil end
  redis.call('HINCRBY', usage, field, '-' .. units)
  return result
end
