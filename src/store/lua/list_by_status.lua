-- The next pets of one status, in order of their ids.
--
-- KEYS  1 bitmap of the status
-- ARGV  1 id to start after   2 how many   3 what bucket names start with (the
--       buckets share the slot of KEYS)
-- Reply: {id, record, id, record, …}
local names = ARGV[3]
local id, left = tonumber(ARGV[1]), tonumber(ARGV[2])
local found, bucket, fields = {}, nil, {}

local function read()
  if not bucket then return end
  local number = string.format('%.0f', bucket)
  local records = redis.call('HMGET', names .. 'bucket:' .. number, unpack(fields))
  for i, record in ipairs(records) do
    if record and string.sub(record, 2, 2) == '>' then
      record = redis.call('HGET', names .. 'long:' .. number, fields[i])
    end
    found[#found + 1] = bucket * 128 + fields[i]
    found[#found + 1] = record or ''
  end
  fields = {}
end

while left > 0 do
  id = redis.call('BITPOS', KEYS[1], 1, id + 1, -1, 'BIT')
  if id < 0 then break end
  local number = math.floor(id / 128)
  if number ~= bucket then
    read()
    bucket = number
  end
  fields[#fields + 1] = id % 128
  left = left - 1
end
read()
return found
