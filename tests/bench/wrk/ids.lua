-- GETs random pets. Arguments: seed, highest id.
local head, tail, highest

function init(args)
   math.randomseed(tonumber(args[1]))
   highest = tonumber(args[2])
   head, tail = wrk.format("GET", "/v1/pets/@"):match("^(.-)@(.*)$")
end

function request()
   return head .. math.random(highest) .. tail
end
