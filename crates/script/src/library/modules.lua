-- `require`: modules that the server handed in, by name.
--
-- Owns the modules that are loaded. Never looks for a file.

local kit = ...

local type, error, tostring, find = type, error, tostring, string.find

local running, setmetatable, pcall, pairs = coroutine.running, setmetatable, pcall, pairs

local loaded, source_of = {}, kit.modules

-- What each coroutine is loading. Two runs may load one module at the same time; the first one done is kept.
local loading = setmetatable({}, { __mode = "k" })

kit.publish("require", function(name)
  if type(name) ~= "string" or not find(name, "^[%w_-]+") or find(name, "[^%w_.-]") or find(name, "..", 1, true) then
    error("not the name of a module: " .. tostring(name), 2)
  end
  local value = loaded[name]
  if value ~= nil then
    return value
  end
  local mine = loading[running()]
  if not mine then
    mine = {}
    loading[running()] = mine
  end
  if mine[name] then
    error("module '" .. name .. "' requires itself", 2)
  end
  local module = source_of[name]
  if not module then
    error("module '" .. name .. "' is not there", 2)
  end
  mine[name] = true
  local fine, result = pcall(module, name)
  mine[name] = nil
  if not fine then
    error(result, 0)
  end
  if result == nil then
    result = true
  end
  if loaded[name] == nil then
    loaded[name] = result
  end
  return loaded[name]
end)

-- The next `require` of any module runs it anew.
function kit.forget()
  for name in pairs(loaded) do
    loaded[name] = nil
  end
end
