-- GETs the paths in a file, one per line, in turn. Arguments: where to start,
-- file.
local requests, at = {}, 0

function init(args)
   for path in io.lines(args[2]) do
      requests[#requests + 1] = wrk.format("GET", path)
   end
   at = tonumber(args[1]) % #requests
end

function request()
   at = at % #requests + 1
   return requests[at]
end
