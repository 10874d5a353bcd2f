-- What a spawned process begins with: a function, all that it refers to, and its arguments, copied into another engine.
--
-- Owns the form in which that crosses, and what cannot. Values are copied, and shared and circular references stay what they
-- are. The library, environments and app modules are not copied: they are named, and the other engine has its own.

local kit = ...

local fail = kit.fail

local type, pairs, next, select, unpack = type, pairs, next, select, unpack
local error, tostring, pcall = error, tostring, pcall
local setmetatable, getmetatable, setfenv, getfenv = setmetatable, debug.getmetatable, setfenv, getfenv
local getupvalue, setupvalue, upvalueid, upvaluejoin = debug.getupvalue, debug.setupvalue, debug.upvalueid, debug.upvaluejoin
local getinfo, find, sub = debug.getinfo, string.find, string.sub
local dump, instances = string.dump, kit.instances
local encode, decode = kit.buffer_encode, kit.buffer_decode
local size_max, values_max = kit.message_size, kit.message_values
local mark = kit.mark

-- Kinds of objects. An object is a list that begins with its kind; another object in it is `{ number }`.
local TABLE, FUNCTION, LIBRARY, MODULE, MEMBER, PAGE, MODULES, SHARED = 1, 2, 3, 4, 5, 6, 7, 8

-- What the library gives pages: the name of each value, and the value of each name.
local names, values = {}, {}

local function note(name, value)
  local kind = type(value)
  if kind ~= "string" and kind ~= "number" then
    names[value], values[name] = name, value
  end
end

for name, value in pairs(kit.members) do
  note(name, value)
  for key, member in pairs(kit.sealed[value] or {}) do
    note(name .. "." .. key, member)
  end
end
for name, value in pairs(kit.marks) do
  note(name, value)
end
note("_G", kit.shared_face)
note("html text", kit.escape)
note("plain text", kit.text_of)

local plain = { string = true, number = true, boolean = true, ["nil"] = true }

-- What there is no copy of, and what to do about it.
local function refused(value, context)
  if value == context.request then
    return "`request`", ": read what the process needs of it into local variables first"
  elseif value == context.response then
    return "`response`", ": a process makes no answer"
  elseif value == context.out then
    return "the output of the page", ": a process prints nowhere"
  elseif type(value) == "function" then
    return "a function of the library that is this page's own", ""
  end
  return type(value) == "thread" and "a coroutine" or "a " .. type(value), ""
end

-- Where a value was found: in which object, and as what of it.
local function way_to(state, within, what)
  local way = what
  while within do
    local origin = state.origins[within]
    way = way .. " of " .. origin[2]
    within = origin[1]
  end
  return #way > 200 and sub(way, 1, 200) .. " .." or way
end

-- The function of a page or a module: not the library's, and none in C.
local function is_page_code(value)
  local about = getinfo(value, "S")
  return about.what ~= "C" and find(about.source, mark, 1, true) ~= 1
end

-- The object for a value that is none of the plain ones; whether it is to be looked into. Nothing where there is no copy.
local function object_for(state, value)
  local module, environment = kit.module_names[value], kit.environment_names[value]
  local context = state.context
  if names[value] then
    return { LIBRARY, names[value] }
  elseif environment then
    return environment.file and { PAGE, environment.site, environment.file } or { environment.is_shared and SHARED or MODULES }
  elseif module then
    return module.key and { MEMBER, module.name, module.key } or { MODULE, module.name }
  elseif type(value) == "table" and value ~= context.request and value ~= context.response then
    return { TABLE }, true
  elseif type(value) == "function" and is_page_code(value) then
    return { FUNCTION }, true
  end
end

-- The reference to a value; its object is made here, and looked into later. `within` is the object that it was found in, `what` it is there.
local function reference(state, value, within, what)
  if plain[type(value)] then
    if type(value) == "string" then
      state.size = state.size + #value
    end
    return value
  end
  local known = state.ids[value]
  if known then
    return { known }
  end
  local object, is_open = object_for(state, value)
  if not object then
    local noun, hint = refused(value, state.context)
    error("spawn cannot copy " .. noun .. " (" .. way_to(state, within, what) .. ")" .. hint, 0)
  end
  local id = #state.objects + 1
  state.objects[id], state.ids[value], state.origins[id] = object, id, { within, what }
  if is_open then
    state.open[#state.open + 1] = value
  end
  return { id }
end

local function count(state, more)
  state.values = state.values + more
  if state.values > values_max then
    error("spawn: a process begins with at most " .. values_max .. " values", 0)
  end
  if state.size > size_max then
    error("spawn: a process begins with at most " .. size_max .. " bytes", 0)
  end
end

local function fill_table(state, id, value)
  local object, meta = state.objects[id], getmetatable(value)
  object[2] = meta and reference(state, meta, id, "the metatable") or false
  local place = 2
  for key, member in next, value do
    object[place + 1] = reference(state, key, id, "a key")
    local what = type(key) == "string" and "the field '" .. sub(key, 1, 40) .. "'" or "an element"
    object[place + 2] = reference(state, member, id, what)
    place = place + 2
    count(state, 2)
  end
end

local function fill_function(state, id, value)
  local object, code = state.objects[id], dump(value)
  state.size = state.size + #code
  object[2], object[3] = code, reference(state, getfenv(value), id, "the environment")
  local index = 1
  while true do
    local name, member = getupvalue(value, index)
    if not name then
      break
    end
    local variable = upvalueid(value, index)
    local number = state.upvalue_ids[variable]
    if not number then
      number = state.upvalue_count + 1
      state.upvalue_count, state.upvalue_ids[variable] = number, number
      state.upvalues[number] = reference(state, member, id, "the variable '" .. name .. "'")
    end
    object[3 + index] = number
    index = index + 1
    count(state, 1)
  end
  count(state, 1)
end

local function pack(state, body, ...)
  local first = reference(state, body, nil, "the function")
  local arguments = { ... }
  local size = select("#", ...)
  for index = 1, size do
    arguments[index] = reference(state, arguments[index], nil, "argument " .. index)
    count(state, 1)
  end
  -- What is looked into grows meanwhile.
  local done = 0
  while done < #state.open do
    done = done + 1
    local value = state.open[done]
    local fill = type(value) == "table" and fill_table or fill_function
    fill(state, state.ids[value], value)
  end
  return encode({ state.objects, state.upvalues, state.upvalue_count, first, arguments, size })
end

-- A function and its arguments as bytes.
function kit.pack(context, body, ...)
  local state = {
    context = context, objects = {}, ids = {}, origins = {}, open = {}, upvalues = {}, upvalue_ids = {}, upvalue_count = 0, size = 0,
    values = 0,
  }
  local fine, packed = pcall(pack, state, body, ...)
  if not fine then
    fail(packed)
  end
  return packed
end

-- The objects as they are before anything refers to another.
local function made(object)
  local kind, first, second = object[1], object[2], object[3]
  if kind == TABLE then
    return {}
  elseif kind == FUNCTION then
    return instances(first, #object - 3)
  elseif kind == LIBRARY then
    return values[first]
  elseif kind == MODULE then
    return kit.required_now(first)
  elseif kind == MEMBER then
    local module = kit.required_now(first)
    local member = type(module) == "table" and module[second]
    if not member then
      error("module '" .. first .. "' has no '" .. tostring(second) .. "' any more", 0)
    end
    return member
  elseif kind == PAGE then
    return kit.page_environment(first, second)
  elseif kind == MODULES then
    return kit.modules_environment()
  end
  return kit.environment
end

local function unpacked(bytes)
  local objects, upvalues, upvalue_count, first, arguments, size = unpack(decode(bytes), 1, 6)
  local copies = {}
  for id = 1, #objects do
    copies[id] = made(objects[id])
  end
  local function value_of(reference)
    if type(reference) == "table" then
      return copies[reference[1]]
    end
    return reference
  end
  -- The first function that has an upvalue, and where: the others join it.
  local owners, places = {}, {}
  for id = 1, #objects do
    local object, copy = objects[id], copies[id]
    if object[1] == TABLE then
      for place = 3, #object, 2 do
        copy[value_of(object[place])] = value_of(object[place + 1])
      end
    elseif object[1] == FUNCTION then
      setfenv(copy, value_of(object[3]))
      for index = 1, #object - 3 do
        local number = object[3 + index]
        if owners[number] then
          upvaluejoin(copy, index, owners[number], places[number])
        else
          owners[number], places[number] = copy, index
          setupvalue(copy, index, value_of(upvalues[number]))
        end
      end
    end
  end
  -- Metatables last: a table may have a `__newindex`.
  for id = 1, #objects do
    local object = objects[id]
    if object[1] == TABLE and object[2] then
      setmetatable(copies[id], value_of(object[2]))
    end
  end
  for index = 1, size do
    arguments[index] = value_of(arguments[index])
  end
  return value_of(first), arguments, size
end

-- What a process of these bytes does: a function without arguments.
function kit.process_of(bytes)
  local body, arguments, size = unpacked(bytes)
  return function()
    return body(unpack(arguments, 1, size))
  end
end
