-- Creates pets for the peers. ARGV: first id, last id, and N: one pet in N is
-- pending.
local rare = tonumber(ARGV[3])
for id = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  local status = id % 2 == 0 and 'sold' or 'available'
  if id % rare == math.floor(rare / 2) then status = 'pending' end
  redis.call('HSET', 'p:pets', id, string.format(
    '{"id":%d,"name":"Rex the dog %08d","categoryId":7,"status":"%s"}', id, id, status))
  redis.call('ZADD', 'p:all', id, id)
  redis.call('ZADD', 'p:' .. status, id, id)
end
redis.call('SET', 'p:seq', ARGV[2])
