-- Takes an account out of use, to move it to another Redis: renames its state, so
-- that nothing more can be charged. No state may be created meanwhile, see
-- limit.lua.
--
-- KEYS  1 account state   2 its name while it is moved   3 strikes   4 bans
--       5… usage in each month
-- Reply: {1 if renamed now, 0 if renamed earlier or if there is none; then for each
--         of the others the value or nil (of a usage, its fields and values), and
--         when it expires, in Unix ms}; or the number of the key that holds another
--         type, and nothing was renamed. Strikes and bans of another type count as
--         none.
local values = {}
for i, key in ipairs(KEYS) do
  local value = redis.pcall(i <= 4 and 'GET' or 'HGETALL', key)
  if type(value) == 'table' and value.err then
    if not string.find(value.err, '^WRONGTYPE') then return value end
    if i ~= 3 and i ~= 4 then return i end
    value = false
  end
  values[i] = value
end

local now = 0
if values[1] then
  redis.call('RENAME', KEYS[1], KEYS[2])
  now, values[2] = 1, values[1]
end
local reply = {now}
for i = 2, #KEYS do
  reply[2 * i - 2] = values[i]
  reply[2 * i - 1] = redis.call('PEXPIRETIME', KEYS[i])
end
return reply
