-- Publishes the plans of a host's configuration. Drops hosts that are gone.
-- Sees at most 32, another choice with each call.
--
-- KEYS  1 hosts
-- ARGV  1 host   2 its plans   3 how long they count, in seconds
-- Reply: for each host, mostly this one, too: its name, its configuration, the
--   version of its module, and for how many more seconds it counts
local now = tonumber(redis.call('TIME')[1])
redis.call('HSET', KEYS[1], ARGV[1], string.format('%d ', now) .. ARGV[2])
local some = redis.call('HRANDFIELD', KEYS[1], 32, 'WITHVALUES')
local reply = {}
for i = 1, #some, 2 do
  local published, json = string.match(some[i + 1], '^(%d+) (.*)')
  local left = ARGV[3] - now + (tonumber(published) or 0)
  if left < 0 then redis.call('HDEL', KEYS[1], some[i])
  else
    local valid, host = pcall(cjson.decode, json)
    if valid and type(host) == 'table' then
      for _, member in ipairs({'host', 'config', 'version'}) do
        reply[#reply + 1] = type(host[member]) == 'string' and host[member] or ''
      end
      reply[#reply + 1] = math.min(left, tonumber(ARGV[3]))
    end
  end
end
redis.call('PEXPIRE', KEYS[1], ARGV[3] * 1000)
return reply
