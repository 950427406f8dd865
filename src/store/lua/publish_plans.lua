-- Publishes the plans of a host's configuration. Drops hosts that are gone, a
-- few with each call.
--
-- KEYS  1 hosts
-- ARGV  1 host   2 its plans   3 how long they count, in seconds
local now = tonumber(redis.call('TIME')[1])
redis.call('HSET', KEYS[1], ARGV[1], string.format('%d ', now) .. ARGV[2])
local some = redis.call('HRANDFIELD', KEYS[1], 16, 'WITHVALUES')
for i = 1, #some, 2 do
  local published = tonumber(string.match(some[i + 1], '^%d+'))
  if not published or published < now - ARGV[3] then redis.call('HDEL', KEYS[1], some[i]) end
end
redis.call('PEXPIRE', KEYS[1], ARGV[3] * 1000)
return 1
