-- A peer for comparison: the same three operations for nginx's Lua module, with
-- a pool of persistent connections and one EVALSHA per request. It has no bans
-- and no cursors and checks less than our module, all in its favour.
local redis = require "nginx.redis"
local cjson = require "cjson.safe"

local M = {}

local ADDRESS = "unix:" .. assert(os.getenv("PEER_REDIS"))
local SCRIPT = assert(io.open(assert(os.getenv("PEER_SCRIPT")))):read("*a")
local STATUS = { available = true, pending = true, sold = true }
local sha

local function fail(status, code, message)
  ngx.status = status
  ngx.header["Content-Type"] = "application/json"
  ngx.print(cjson.encode { code = code, message = message, status = status })
  return ngx.exit(status)
end

local function call(...)
  local connection = redis:new()
  connection:set_timeouts(1000, 1000, 1000)
  local ok, problem = connection:connect(ADDRESS)
  if not ok then return nil, problem end
  if not sha then
    sha, problem = connection:script("load", SCRIPT)
    if not sha then return nil, problem end
  end
  local reply
  reply, problem = connection:evalsha(sha, 1, ...)
  if not reply then
    if problem and problem:find("NOSCRIPT", 1, true) then sha = nil end
    return nil, problem
  end
  connection:set_keepalive(60000, 128)
  return reply
end

local function key_name()
  local header = ngx.var.http_authorization
  local key = header and header:match("^[Bb]earer +(%S+)$")
  return key and "p:key:" .. ngx.encode_base64(ngx.sha1_bin(key))
end

-- Runs the operation and sets the rate headers. Responds itself if the request
-- is refused.
local function run(...)
  local name = key_name()
  if not name then return fail(401, "unauthorized", "Missing or invalid API key") end
  local reply, problem = call(name, ...)
  if not reply then return fail(503, "unavailable", problem) end
  if reply[1] == -1 then return fail(401, "unauthorized", "Missing or invalid API key") end
  ngx.header["X-RateLimit-Limit"] = reply[2]
  ngx.header["X-RateLimit-Remaining"] = reply[3]
  ngx.header["X-RateLimit-Reset"] = reply[4]
  if reply[1] == 0 then
    ngx.header["Retry-After"] = reply[5]
    return fail(429, "rate_limited", "Rate limit exceeded")
  end
  ngx.header["Content-Type"] = "application/json"
  return reply[5]
end

local function send(body)
  ngx.header["Content-Length"] = #body
  ngx.print(body)
end

-- In the access phase, in front of any other handler.
function M.admit()
  run("admit")
end

function M.get(id)
  local pet = run("get", id)
  if not pet or pet == ngx.null then
    return fail(404, "not_found", "The animal could not be found")
  end
  ngx.header["Deprecation"] = "true"
  send(pet)
end

local function list()
  local args = ngx.req.get_uri_args()
  local limit = tonumber(args.limit or 20)
  if not limit or limit < 1 or limit > 100 then
    return fail(400, "invalid_request", "limit")
  end
  if args.status and not STATUS[args.status] then
    return fail(400, "invalid_request", "status")
  end
  local rows = run("list", args.status and "p:" .. args.status or "p:all",
    args.cursor or "-inf", limit)
  send("[" .. table.concat(rows, ",") .. "]")
end

local function create()
  ngx.req.read_body()
  local pet = cjson.decode(ngx.req.get_body_data() or "")
  if type(pet) ~= "table" or type(pet.name) ~= "string" or type(pet.categoryId) ~= "number" then
    return fail(400, "invalid_request", "body")
  end
  local status = pet.status or "available"
  if not STATUS[status] then return fail(400, "invalid_request", "status") end
  local made = run("create", string.format(',"name":%s,"categoryId":%d,"status":"%s"}',
    cjson.encode(pet.name), pet.categoryId, status), status)
  ngx.status = 201
  send(made)
end

function M.pets()
  local method = ngx.req.get_method()
  if method == "GET" then return list() end
  if method == "POST" then return create() end
  return fail(405, "method_not_allowed", "method")
end

return M
