-- Reads what an account has used, all at one moment: the state and a month's
-- ledger, read one after the other, would count a day that ends in between twice
-- or not at all. Writes nothing.
--
-- KEYS  1 account state   2 strikes   3 bans   4 … ledgers of months
--
-- Reply: {seconds, microseconds, state, strikes, bans, {field, value, …} for each
--   ledger}; or the number of the key that holds another type
local reply = redis.call('TIME')
for i, key in ipairs(KEYS) do
  local value = redis.pcall(i <= 3 and 'GET' or 'HGETALL', key)
  if type(value) == 'table' and value.err then
    return string.find(value.err, '^WRONGTYPE') and i or value
  end
  reply[i + 2] = value
end
return reply
