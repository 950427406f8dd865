-- Creates pets in the order given and stops at the first that cannot be created.
-- Runs behind create_pet.lua, whose text is wrapped in "local function
-- create(KEYS, ARGV) … end", so that a pet is created in one way only.
--
-- KEYS  1 last id   2 changes   3, 4, 5 bitmaps of available, pending, sold
-- ARGV  1 what bucket names start with (the buckets share the slot of KEYS)
--       2… records
-- Reply: {pets created}, and the error of the next one if there was one
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
