-- GET of one path with the API keys in a file, one a line, in turn. Arguments:
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
