-- GETs one path with each API key in a file, one per line, in turn. Arguments:
-- where to start, file.
local head, tail
local keys, at = {}, 0

function init(args)
   for key in io.lines(args[2]) do
      keys[#keys + 1] = key
   end
   at = tonumber(args[1]) % #keys
   wrk.headers["Authorization"] = "Bearer @"
   head, tail = wrk.format("GET"):match("^(.-)@(.*)$")
end

function request()
   at = at % #keys + 1
   return head .. keys[at] .. tail
end
