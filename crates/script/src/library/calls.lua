-- What pages wait for: `kit.host` has a function for each call that the host declares, and `sleep` is one as it is.
--
-- Owns how an answer is read. What a call does, and what its name is, is the host's to say.

local kit = ...

local fail, require_yieldable = kit.fail, kit.require_yieldable
local yield, isyieldable, match, gsub = coroutine.yield, coroutine.isyieldable, string.match, string.gsub
local pairs, setmetatable, type = pairs, setmetatable, type

local host = setmetatable({}, { __index = function(_, name)
  fail("there is no host here for " .. name)
end })
kit.host = host

-- If something is wrong it is raised where the page waits.
local function values(failure, ...)
  if failure then
    fail(failure)
  end
  return ...
end

local function value_or_reason(failure, value, reason)
  if failure then
    fail(failure)
  elseif reason then
    return nil, reason
  end
  return value
end

local function outcome(failure, _, reason)
  if failure then
    fail(failure)
  elseif reason then
    return nil, reason
  end
  return true
end

local function as_given(...)
  return ...
end

-- By the numbers of call.rs.
local readers = { values, value_or_reason, outcome, as_given }

for name, number in pairs(kit.calls) do
  local read, shown = readers[kit.answers[name]], match(name, "[^.]+$")
  host[gsub(name, "%.", "_")] = function(...)
    if not isyieldable() then
      require_yieldable(shown)
    end
    return read(yield(number, ...))
  end
end

kit.publish("sleep", function(seconds)
  if type(seconds) ~= "number" or not (seconds >= 0) then
    fail("sleep takes seconds, not " .. kit.shown_as(seconds))
  end
  return host.sleep(seconds)
end)
