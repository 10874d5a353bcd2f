-- `coroutine` as pages see it, and `sleep`.
--
-- Owns what is yielded: a tag first, or nothing at all at the end of a slice (which no page can yield itself). What is
-- meant for the host goes through all coroutines that a page has made.

local kit = ...

local resume, yield, status, create = coroutine.resume, coroutine.yield, coroutine.status, coroutine.create
local running = coroutine.running
local select, error, type, tostring = select, error, type, tostring
local tops, contexts = kit.tops, kit.contexts

local USER, SLEEP = 3, 4

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
  return settle(inner, resume(inner, yield(...)))
end

local function safe_resume(inner, ...)
  return settle(inner, resume(inner, ...))
end

local function safe_yield(...)
  if tops[running()] then
    error("attempt to yield outside a coroutine", 2)
  end
  return yield(USER, ...)
end

-- What a page does in a coroutine it does for the same run.
local function create_shared(body)
  local inner = create(body)
  contexts[inner] = contexts[running()]
  return inner
end

local function unwrap(fine, ...)
  if not fine then
    error((...), 0)
  end
  return ...
end

kit.publish("coroutine", kit.seal("coroutine", {
  create = create_shared,
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
    local inner = create_shared(body)
    return function(...)
      return unwrap(safe_resume(inner, ...))
    end
  end,
}))

-- What the host replied. If something is wrong it is raised where the page waits; callers end with a tail call of
-- this, so that is one level up.
local function replied(failure, ...)
  if failure then
    error(failure, 2)
  end
  return ...
end

kit.replied = replied

kit.publish("sleep", function(seconds)
  if type(seconds) ~= "number" or not (seconds >= 0) then
    error("sleep takes seconds, not " .. tostring(seconds), 2)
  end
  return replied(yield(SLEEP, seconds))
end)
