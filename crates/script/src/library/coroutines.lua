-- `coroutine` as pages see it.
--
-- Owns what is yielded: a tag first, or nothing at all at the end of a slice (which no page can yield itself). What is
-- meant for the host goes through all coroutines that a page has made.

local kit = ...

local fail = kit.fail

local resume, native_yield, status, create = coroutine.resume, coroutine.yield, coroutine.status, coroutine.create
local running, isyieldable = coroutine.running, coroutine.isyieldable
local select, error, type = select, error, type
local setmetatable = setmetatable
local tops, contexts = kit.tops, kit.contexts
local depth_max = kit.coroutine_depth

local USER = kit.tag_USER

local cannot_wait = "cannot wait here: a function of C called this"

local no_resume = "a coroutine cannot be resumed here: a function of C called this"
local not_own = "this coroutine belongs to another request"
local too_deep = "C stack overflow: more than " .. depth_max .. " coroutines resume each other"

-- How many coroutines were there, each resumed by the one before, at the last resume of each. A resume takes room on the
-- stack of the processor, which is not that of the coroutine.
local depths = setmetatable({}, { __mode = "k" })

-- Raises an error where nothing can wait.
local function require_yieldable(name)
  if not isyieldable() then
    fail(name .. " " .. cannot_wait)
  end
end

kit.require_yieldable = require_yieldable

local function tail(_, ...)
  return true, ...
end

-- What a resume of `inner` gave: an end, a value for whoever resumed it, or something for the host.
local settle
function settle(inner, fine, ...)
  if not fine or status(inner) == "dead" then
    return fine, ...
  end
  if (...) == USER and select("#", ...) > 0 then
    return tail(...)
  end
  return settle(inner, resume(inner, native_yield(...)))
end

-- Why the running coroutine cannot resume another one; nothing where it can.
local function refused(inner)
  if not isyieldable() then
    -- What waits in there could not wait here, and would be left to whoever resumes it next.
    return no_resume
  end
  local current = running()
  if contexts[inner] ~= contexts[current] then
    return not_own
  end
  local depth = (depths[current] or 0) + 1
  if depth > depth_max then
    return too_deep
  end
  depths[inner] = depth
end

local function safe_resume(inner, ...)
  if type(inner) ~= "thread" then
    fail("bad argument #1 to 'resume' (coroutine expected, got " .. type(inner) .. ")")
  end
  -- LuaJIT has the words for what can be resumed by nobody.
  if status(inner) == "suspended" then
    local why = refused(inner)
    if why then
      return false, why
    end
  end
  return settle(inner, resume(inner, ...))
end

local function safe_yield(...)
  if tops[running()] then
    fail("attempt to yield outside a coroutine")
  end
  require_yieldable("coroutine.yield")
  return native_yield(USER, ...)
end

-- What a page does in a coroutine it does for the same run. It may be kept for longer, and must not come to the next one.
local function create_shared(body, name)
  if type(body) ~= "function" then
    fail("bad argument #1 to '" .. name .. "' (function expected, got " .. type(body) .. ")")
  end
  local inner, context = create(body), contexts[running()]
  contexts[inner], context.is_shared = context, true
  return inner
end

local refusals = { [no_resume] = true, [not_own] = true, [too_deep] = true }

local function unwrap(fine, ...)
  if not fine then
    if refusals[(...)] then
      fail((...))
    end
    -- An error of the coroutine has its place.
    error((...), 0)
  end
  return ...
end

kit.publish("coroutine", kit.seal("coroutine", {
  create = function(body)
    return create_shared(body, "create")
  end,
  resume = safe_resume,
  yield = safe_yield,
  status = status,
  running = function()
    local current = running()
    return not tops[current] and current or nil
  end,
  isyieldable = function()
    return not tops[running()]
  end,
  wrap = function(body)
    local inner = create_shared(body, "wrap")
    return function(...)
      return unwrap(safe_resume(inner, ...))
    end
  end,
}))
