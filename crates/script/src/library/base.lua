-- What the other parts of the library stand on: sealed tables, the environment of pages, captured functions.
--
-- Owns the rules about globals. Never seen by a page: pages get what lies in `kit.environment`.

local kit = ...

local fail = kit.fail

local newproxy, getmetatable, setmetatable = newproxy, getmetatable, setmetatable
local tostring, rawget, type, sub = tostring, rawget, type, string.sub

-- A value that is not what it should be, as errors show it.
function kit.shown_as(value)
  return type(value) == "string" and "the string '" .. sub(value, 1, 40) .. "'" or tostring(value)
end

-- The members of each library, by its face.
kit.sealed = {}

-- Values of the library's that pages may hold and no name leads to, by a name of their own (copying.lua).
kit.marks = {}

-- A library as pages see it: reads go through, nothing can be written, not even with rawset (it is no table).
function kit.seal(name, members, call)
  local face = newproxy(true)
  local meta = getmetatable(face)
  meta.__index = members
  meta.__newindex = function(_, key)
    fail("'" .. name .. "' is read-only: cannot set '" .. tostring(key) .. "'")
  end
  meta.__metatable = false
  meta.__tostring = function()
    return name
  end
  meta.__call = call
  kit.sealed[face] = members
  return face
end

-- What is not there, as somebody reads it.
local absent = {
  __index = function(_, name)
    -- Modules have it, and see no such error.
    local hint = name == "render" and ": pages have `include`, and app modules `render`" or ""
    fail("undefined global '" .. tostring(name) .. "'" .. hint)
  end,
}

-- An environment with these names. It is empty itself: what is there already could be set past `__newindex`, for all
-- who run in it later.
function kit.environment_with(members)
  setmetatable(members, absent)
  return setmetatable({}, {
    __index = members,
    __newindex = function(_, name)
      if rawget(members, name) ~= nil then
        fail("cannot set the global '" .. tostring(name) .. "': declare it with local")
      end
      fail("assign to undeclared global '" .. tostring(name) .. "': declare it with local")
    end,
    __metatable = false,
  })
end

-- The names that all pages have.
local members = {}
kit.members = members
kit.environment = kit.environment_with(members)

-- Whose each environment is: the page's of a site, that of all that pages load, or none of both where modules run in it.
kit.environment_names = setmetatable({ [kit.environment] = { is_shared = true } }, { __mode = "k" })

-- Gives pages a global.
function kit.publish(name, value)
  members[name] = value
end

-- Compiled modules by name; the server puts them here.
kit.modules = {}

-- What a run is at, by its coroutine; coroutines that the page makes share it (coroutines.lua).
kit.contexts = setmetatable({}, { __mode = "k" })

-- The same of the run that is under way, in its first slot (current.rs). It keeps nothing alive that is over.
kit.current = setmetatable({ false }, { __mode = "v" })
