-- `spawn`, `self`, `send`, `receive`, `register` and `whereis`: page processes, their messages and their names.
--
-- Owns what a message may hold (what a process begins with is copying.lua's). It crosses as bytes, so that nobody shares a table with another process, on whatever
-- scheduler that is. Who has which name is the host's to know.

local kit = ...

local fail = kit.fail

local host = kit.host
local type, error, pairs = type, error, pairs
local pcall = pcall
local current = kit.current
local encode, decode = kit.buffer_encode, kit.buffer_decode
local size_max, values_max, depth_max = kit.message_size, kit.message_values, kit.message_depth

local find = string.find

local plain = { string = true, number = true, boolean = true, ["nil"] = true }

-- Adds up what a message holds, with small steps that can be interrupted: encoding it afterwards cannot.
local function weigh(value, depth, account)
  local kind = type(value)
  account.values = account.values + 1
  if kind == "string" then
    account.size = account.size + #value
  elseif kind == "table" then
    if depth == depth_max then
      error("a message has at most " .. depth_max .. " tables within each other; this one may contain itself", 0)
    end
    for key, member in pairs(value) do
      weigh(key, depth + 1, account)
      weigh(member, depth + 1, account)
    end
  elseif not plain[kind] then
    error("a message cannot hold a " .. kind, 0)
  end
  if account.values > values_max then
    error("a message holds at most " .. values_max .. " values", 0)
  end
  if account.size > size_max then
    error("a message holds at most " .. size_max .. " bytes of text", 0)
  end
end

kit.publish("self", function()
  local context = current[1]
  local name = context.name
  if not name then
    name = host.self()
    context.name = name
  end
  return name
end)

-- Whether this is what a process is called anyway: a name that it has taken does not begin with a digit.
local function is_process(name)
  return find(name, "^%d") ~= nil
end

kit.publish("register", function(name, where)
  if type(name) ~= "string" then
    fail("register takes a name, not a " .. type(name))
  end
  if where ~= nil and where ~= "server" and where ~= "cluster" then
    fail('a name is registered for the "server" or the "cluster", not for ' .. kit.shown_as(where))
  end
  local given, why = host.register(name)
  if not given or where ~= "cluster" then
    return given, why
  end
  return host.lease(name)
end)

kit.publish("whereis", function(name)
  if type(name) ~= "string" then
    fail("whereis takes a name, not a " .. type(name))
  end
  return host.whereis(name)
end)

kit.publish("send", function(name, message)
  if type(name) ~= "string" then
    fail("send takes the name of a process and a message, not a " .. type(name))
  end
  if message == nil then
    fail("nil is no message")
  end
  local fine, problem = pcall(weigh, message, 0, { size = 0, values = 0 })
  if not fine then
    fail(problem)
  end
  if not is_process(name) then
    local process, unheard = host.whereis(name)
    if unheard then
      return nil, unheard
    end
    name = process or name
  end
  return host.send(name, encode(message))
end)

kit.publish("receive", function(seconds)
  if seconds ~= nil and (type(seconds) ~= "number" or not (seconds >= 0)) then
    fail("receive takes seconds, not " .. kit.shown_as(seconds))
  end
  local text = host.receive(seconds or -1)
  if not text then
    return nil
  end
  return decode(text)
end)

kit.publish("spawn", function(body, ...)
  if type(body) ~= "function" then
    fail("spawn takes a function, not a " .. type(body))
  end
  return host.spawn(kit.pack(current[1], body, ...))
end)
