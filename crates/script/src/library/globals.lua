-- Which globals a function names that its environment does not have.
--
-- Owns the walk through byte code. Never runs what it looks at, and is not for pages.

local kit = ...

local getfenv, pcall, type, load = getfenv, pcall, type, load
local band, rshift = bit.band, bit.rshift
local concat = table.concat
local pairs, getmetatable = pairs, debug.getmetatable
local util = require("jit.util")
local funcinfo, funcbc, funck = util.funcinfo, util.funcbc, util.funck

-- The operation of the first instruction of a text. Numbers of operations change between versions of LuaJIT, so they are
-- read from code of which it is known what it does.
local function operation_at(place, text)
  return band(funcbc(load(text), place), 0xff)
end
kit.operation_at = operation_at
local READ, WRITE = operation_at(1, "a = b"), operation_at(2, "a = b")

local function value_in(environment, name)
  return environment[name]
end

-- Environments raise an error for what is not there.
local function is_in(environment, name)
  local fine, value = pcall(value_in, environment, name)
  return fine and value ~= nil
end

local lines, count, environment

local function walk(code)
  local about = funcinfo(code)
  for place = 1, about.bytecodes - 1 do
    local instruction = funcbc(code, place)
    local operation = band(instruction, 0xff)
    if operation == READ or operation == WRITE then
      local name = funck(code, -rshift(instruction, 16) - 1)
      if operation == WRITE or not is_in(environment, name) then
        lines[count + 1] = funcinfo(code, place).currentline
        lines[count + 2] = operation == WRITE and "write" or "read"
        lines[count + 3] = name
        count = count + 3
      end
    end
  end
  -- Constants that are objects are numbered down from -1; the functions within this one are among them.
  for index = 1, about.gcconsts do
    local constant = funck(code, -index)
    if type(constant) == "proto" then
      walk(constant)
    end
  end
end

-- The function of a page, or that of the module which has this name.
local function code_of(subject)
  return type(subject) == "function" and subject or kit.module_code(subject)
end

-- A line, a way of use and a name for each place where a global is named that is not there, or is set.
function kit.strangers(subject)
  local code = code_of(subject)
  if not code then
    return ""
  end
  lines, count, environment = {}, 0, getfenv(code)
  walk(code)
  return concat(lines, "\n")
end

-- The names that the environment of a page or a module has, and those of its libraries behind a point.
function kit.globals(subject)
  local names, code = {}, code_of(subject)
  if not code then
    return ""
  end
  for name, value in pairs(getmetatable(getfenv(code)).__index) do
    names[#names + 1] = name
    local meta = type(value) == "userdata" and getmetatable(value)
    for member in pairs(meta and meta.__index or {}) do
      names[#names + 1] = name .. "." .. member
    end
  end
  return concat(names, "\n")
end
