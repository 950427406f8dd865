-- 70 % GET the first page, 20 % GET one of 1,000 pets, 10 % create a pet.
-- Argument: seed.
local list, create
local pets = {}

function init(args)
   math.randomseed(tonumber(args[1]))
   list = wrk.format("GET", "/v1/pets")
   for id = 1, 1000 do
      pets[id] = wrk.format("GET", "/v1/pets/" .. id)
   end
   wrk.headers["Content-Type"] = "application/json"
   create = wrk.format("POST", "/v1/pets", nil,
      '{"name":"Rex the dog 00000001","categoryId":7,"status":"available"}')
end

function request()
   local dice = math.random(10)
   if dice <= 7 then
      return list
   elseif dice <= 9 then
      return pets[math.random(#pets)]
   end
   return create
end
