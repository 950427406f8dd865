-- Prepended to each script that reports damage.

-- The error reply if `key` is damaged, or FULL if it is a bitmap that ends
-- before the pet, or `failure` itself if a command failed for another reason.
local function damaged(key, failure)
  local text = type(failure) == 'table' and failure.err
  if text and string.find(text, 'bit offset', 1, true) then
    return redis.error_reply('FULL proto-max-bulk-len ends the bitmap before this pet')
  end
  if text and not string.find(text, '^WRONGTYPE') and not string.find(text, 'not an integer')
      and not string.find(text, 'overflow') then
    return failure
  end
  return redis.error_reply('DAMAGED ' .. key)
end
