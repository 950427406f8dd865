-- Creates pets in the given order and stops at the first that cannot be
-- created. Appended to create_pet.lua, whose text is wrapped in "local function
-- create(KEYS, ARGV) … end", so there is only one way to create a pet.
--
-- KEYS  1 last id   2 changes   3, 4, 5 bitmaps of available, pending, sold
-- ARGV  1 prefix of bucket names (buckets share the slot of KEYS)
--       2… records
-- Reply: {pets created}, then the error of the next pet if there was one
local bitmaps = {a = KEYS[3], p = KEYS[4], s = KEYS[5]}
local keys, args = {KEYS[1], KEYS[2]}, {false, ARGV[1]}
for i = 2, #ARGV do
  keys[3], args[1] = bitmaps[string.sub(ARGV[i], 1, 1)], ARGV[i]
  local ran, reply = pcall(create, keys, args)
  if not ran or reply.err then
    local message = type(reply) == 'table' and reply.err or tostring(reply)
    return {i - 2, message}
  end
end
return {#ARGV - 1}
