-- What pages may use of LuaJIT's own libraries.
--
-- Owns the list. Whatever is not named here (ffi, io, debug, package, jit, dofile, getfenv, newproxy, ..) is not there.

local kit = ...

local fail = kit.fail

local type, select, pcall, rawget, next, pairs = type, select, pcall, rawget, next, pairs

local function members(source, names)
  local result = {}
  for name in names:gmatch("%S+") do
    result[name] = source[name]
  end
  return result
end

for name, value in pairs(members(_G, [[
  assert error getmetatable ipairs next pairs pcall rawequal rawget rawset select setmetatable tonumber tostring
  type unpack
]])) do
  kit.publish(name, value)
end
-- A library is no table (base.lua); what looks through its names gets a copy of them.
local plain_pairs, sealed = pairs, kit.sealed
kit.publish("pairs", function(value)
  local names = type(value) == "userdata" and sealed[value]
  if not names then
    return plain_pairs(value)
  end
  local copy = {}
  for name, member in plain_pairs(names) do
    copy[name] = member
  end
  return next, copy, nil
end)
kit.publish("client_error", kit.status_of)
-- LuaJIT's own calls the handler from C.
local function handled(handler, fine, ...)
  if fine then
    return true, ...
  end
  return false, (select(2, pcall(handler, ...)))
end
kit.publish("xpcall", function(body, handler, ...)
  if type(handler) ~= "function" then
    fail("bad argument #2 to 'xpcall' (function expected, got " .. type(handler) .. ")")
  end
  return handled(handler, pcall(body, ...))
end)
kit.publish("_VERSION", "Lua 5.1")
-- LuaJIT asks no metatable for the length of a table.
kit.publish("rawlen", function(value)
  if type(value) ~= "table" and type(value) ~= "string" then
    fail("rawlen takes a table or a string, not a " .. type(value))
  end
  return #value
end)

function kit.environment_face()
  local members = kit.members
  return kit.seal("_G", setmetatable({}, {
    -- Asking `_G` for what is not there is how programs find out.
    __index = function(_, name)
      return rawget(members, name)
    end,
  }))
end
kit.shared_face = kit.environment_face()
kit.publish("_G", kit.shared_face)

kit.math = members(math, [[
  abs acos asin atan atan2 ceil cos cosh deg exp floor fmod frexp huge ldexp log log10 max min modf pi pow rad
  sin sinh sqrt tan tanh
]])

kit.bit = members(bit, [[
  arshift band bnot bor bswap bxor lshift rol ror rshift tobit tohex
]])

kit.table = members(table, "concat insert maxn move remove")
kit.table.unpack = unpack
-- LuaJIT has it only when it is built to be as Lua 5.2.
kit.table.pack = function(...)
  return { n = select("#", ...), ... }
end
kit.string = members(string, "byte char find format gmatch gsub len lower match rep reverse sub upper")

kit.publish("collectgarbage", function(what)
  if what ~= "count" then
    fail("collectgarbage(\"count\") is all there is: the server collects")
  end
  return collectgarbage("count")
end)
