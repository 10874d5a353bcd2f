-- `require`: modules that the server handed in, by name.
--
-- Owns which modules belong together: a set is taken over as a whole, and what runs goes on with the one it began with.
-- Never looks for a file.

local kit = ...

local fail = kit.fail

local type, error, tostring, find = type, error, tostring, string.find
local setfenv, setmetatable, pairs, next, huge = setfenv, setmetatable, pairs, next, math.huge
local getinfo, getlocal = debug.getinfo, debug.getlocal

local required

-- Which module a value is, or is a member of, as `copying.lua` names it for the other engine.
local module_names = setmetatable({}, { __mode = "k" })
kit.module_names = module_names

local function note_names(name, value)
  if type(value) ~= "table" and type(value) ~= "function" then
    return
  end
  module_names[value] = { name = name }
  if type(value) ~= "table" then
    return
  end
  for key, member in next, value do
    local is_part = type(member) == "function" or type(member) == "table"
    if type(key) == "string" and is_part and not module_names[member] then
      module_names[member] = { name = name, key = key }
    end
  end
end

-- Where `required` has the module that it runs, among its local variables.
local CALLED = 3

-- What modules see: what pages see, with a `require` that finds the others of the same set.
local function environment_of(set)
  local names = {}
  for name, value in pairs(kit.members) do
    names[name] = value
  end
  names.require = function(name)
    return required(set, name)
  end
  names.render = kit.render
  names.websocket = kit.websocket
  local environment = kit.environment_with(names)
  kit.environment_names[environment] = {}
  return environment
end

-- Two runs may load one module at the same time; the first one done is kept.
local function new_set(sources)
  local set = { sources = sources, loaded = {} }
  local environment = environment_of(set)
  set.environment = environment
  for _, module in pairs(sources) do
    setfenv(module, environment)
  end
  return set
end

-- Whether a module is being loaded by this coroutine. It need not be on the stack itself, as it may end with the call that
-- led here; who loads it is. (A mark would have to be taken away where a module fails, and who catches that to do so
-- takes the way to the failure from the traceback.)
local function is_loading(module)
  for level = 3, huge do
    local about = getinfo(level, "f")
    if not about then
      return false
    end
    if about.func == required then
      local _, loading = getlocal(level, CALLED)
      if loading == module then
        return true
      end
    end
  end
end

function required(set, name)
  local called
  local value = set.loaded[name]
  if value ~= nil then
    return value
  end
  if type(name) ~= "string" or #name > kit.name_size or not find(name, "^[%w_-]+") or find(name, "[^%w_.-]") or find(name, "..", 1, true) then
    fail("not the name of a module: " .. tostring(name))
  end
  local module = set.sources[name]
  if not module then
    fail("module '" .. name .. "' is not there, or cannot be compiled")
  end
  if is_loading(module) then
    fail("module '" .. name .. "' requires itself")
  end
  called = module
  local result = called(name)
  called = nil
  if result == nil then
    result = true
  end
  if set.loaded[name] == nil then
    set.loaded[name] = result
    note_names(name, result)
  end
  return set.loaded[name]
end

local current

-- What was handed in since the last call is the set from now on, in the place of the one before.
function kit.adopt()
  local sources = {}
  for name, module in pairs(kit.modules) do
    sources[name] = module
  end
  -- Where there is no memory for it, nothing has changed.
  local set = new_set(sources)
  for name in pairs(sources) do
    kit.modules[name] = nil
  end
  current = set
end

-- A module of the set in force.
function kit.required_now(name)
  if not current then
    fail("there are no modules")
  end
  return required(current, name)
end

kit.publish("require", kit.required_now)

-- The environment of the set in force.
function kit.modules_environment()
  if not current then
    fail("there are no modules")
  end
  return current.environment
end

-- The function that a module of the set in force is compiled to; nil where there is none of that name.
function kit.module_code(name)
  return current and current.sources[name]
end

local ANSWERS, PROCESS = 1, 2

local function nothing() end

local function check_process(given)
  if type(given) ~= "function" then
    error("a process is a function: the module ends with `return` and one, not with a " .. type(given), 0)
  end
end

-- What a process of the site does: what a module of the set in force gives, when it is called.
function kit.process_of_module(name)
  return function()
    local process = required(current, name)
    check_process(process)
    return process()
  end
end

-- Runs a module of the set in force: a function that answers requests with it, where that is its purpose.
function kit.open_module(name, purpose)
  local given = required(current, name)
  if purpose == PROCESS then
    check_process(given)
  end
  if purpose ~= ANSWERS then
    return nothing
  end
  return kit.answers_of(given)
end
