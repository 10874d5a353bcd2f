-- What the other parts of the library stand on: sealed tables, the environment of pages, captured functions.
--
-- Owns the rules about globals. Never seen by a page: pages get what lies in `kit.environment`.

local kit = ...

local newproxy, getmetatable = newproxy, getmetatable

-- A library as pages see it: reads go through, nothing can be written, not even with rawset (it is no table).
function kit.seal(name, members, call)
  local face = newproxy(true)
  local meta = getmetatable(face)
  meta.__index = members
  meta.__newindex = function(_, key)
    error("'" .. name .. "' is read-only: cannot set '" .. tostring(key) .. "'", 2)
  end
  meta.__metatable = false
  meta.__call = call
  return face
end

local environment = {}

setmetatable(environment, {
  __newindex = function(_, name)
    error("assign to undeclared global '" .. tostring(name) .. "': declare it with local", 2)
  end,
  __index = function(_, name)
    error("undefined global '" .. tostring(name) .. "'", 2)
  end,
  __metatable = false,
})

-- Gives pages a global.
function kit.publish(name, value)
  rawset(environment, name, value)
end

kit.environment = environment

-- Compiled modules by name; the server puts them here.
kit.modules = {}
