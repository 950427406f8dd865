-- Gives an account a new epoch, so all workers on all hosts read its key
-- records again: a worker uses a cached record only while it has the account's
-- epoch. Windows and a running ban stay.
--
-- An epoch is a time in microseconds, so a recreated account is not mistaken
-- for its predecessor. An existing state takes the epoch of the record just
-- written, if that is later, so a worker that then reads the record need not
-- read it twice. A new state never does: the record may have changed again
-- before the state was lost.
--
-- KEYS  1 account state
-- ARGV  1 epoch of the record that was written; empty for none
--       2 1 if the caller has read <prefix>:limits-place: accounts live here
--       3 the state's epoch before the record was written, as the state has it;
--         empty if the record is on the same server. By the clock of another, the
--         record's epoch may be later than that of a change made since, whose
--         readers would not notice if the state then took it.
--       4 1 for a key that was never used before, which no worker can have cached:
--         an account that was charged keeps its epoch, so that workers need not
--         read its other keys again. Before its record is written, any state is
--         enough.
-- Reply: the epoch; 0 if accounts live on another Redis (see limit.lua);
--        -1 if the caller must read <prefix>:limits-place, which in a Cluster is on
--        another server; nothing was changed
local DAY = 86400000
local KEEP = 431 * DAY -- see usage.lua
local t = redis.call('TIME')
local epoch = t[1] * 1000000 + t[2]
local state = redis.call('GET', KEYS[1]) or ''
if #state >= 80 then
  local known = struct.unpack('<d', state)
  if ARGV[4] == '1' and known >= 1 and (ARGV[1] == '' or struct.unpack('<d', state, 65) > 0) then return known end
  local written = tonumber(ARGV[1])
  -- Ignore an epoch a day ahead: the record was probably edited by hand.
  if written and written < epoch + DAY * 1000 and (ARGV[3] == '' or ARGV[3] == string.sub(state, 1, 8)) then epoch = written end
  epoch = math.max(epoch, known + 1)
else
  if ARGV[2] ~= '1' then
    local marker = redis.pcall('GET', string.match(KEYS[1], '^[^{]*') .. 'limits-place')
    if type(marker) == 'table' then return -1 end
    if string.find(marker or '', '^elsewhere') then return 0 end
  end
  state = string.rep('\0', 80)
end
redis.call('SET', KEYS[1], struct.pack('<d', epoch) .. string.sub(state, 9),
  'PXAT', math.max(redis.call('PEXPIRETIME', KEYS[1]), t[1] * 1000 + KEEP))
return epoch
