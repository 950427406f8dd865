-- Takes an account out of use, to move it to another Redis: renames its state, so
-- that nothing more can be charged. No state may be created meanwhile, see
-- limit.lua.
--
-- KEYS  1 account state   2 its name while it is moved   3 strikes   4 bans
--       5… usage in each month
-- Reply: {1 if renamed now, 0 if renamed earlier or if there is none; then for each
--         of the others the value or nil (of a usage, its fields and values), and
--         when it expires, in Unix ms}
local now = redis.call('EXISTS', KEYS[1])
if now == 1 then redis.call('RENAME', KEYS[1], KEYS[2]) end
local reply = {now}
for i = 2, #KEYS do
  reply[2 * i - 2] = redis.call(i <= 4 and 'GET' or 'HGETALL', KEYS[i])
  reply[2 * i - 1] = redis.call('PEXPIRETIME', KEYS[i])
end
return reply
