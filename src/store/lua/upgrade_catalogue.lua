-- Converts the catalogue from format 1, where the id of a pet was its position. The
-- word in place of the last id stops scripts of versions that only know format 1.
--
-- KEYS  1 last id   2 count   3 segments
-- Reply: the number of pets, as text; '0' without a catalogue
--   error DAMAGED <key>   nothing was changed
local FENCE = 'format-2'
local last = redis.pcall('GET', KEYS[1])
if not last then return '0' end
if last == FENCE then return redis.call('GET', KEYS[2]) or '0' end
if type(last) == 'table' or not string.find(last, '^%d+$') then return damaged(KEYS[1], last) end

-- The replication id under which the first segment began; see create_pets.lua for
-- what it is for. Redis may forbid INFO, and then the next create starts a segment.
local info = redis.pcall('INFO', 'replication')
local id = type(info) == 'string' and string.match(info, 'master_replid:(%x+)') or ''
if #id ~= 40 then id = string.rep('-', 40) end
redis.call('SET', KEYS[2], last)
redis.call('SET', KEYS[3], '0000000001:0000000000000001 ' .. id)
redis.call('SET', KEYS[1], FENCE)
return last
