-- Errors of the library, at the place that is to blame for them: where a page or a module called it.
--
-- Owns how that place is found, and whose fault it is. However deep in the library something is noticed, nobody counts levels.

local kit = ...

local error, find, getinfo, type = error, string.find, debug.getinfo, type

-- What the names of the library's chunks begin with (library.rs).
local MARK = "=[library]"
kit.mark = MARK

-- Further out nobody looks: a place there says little, and errors may be caught at every level.
local levels_max = kit.traceback_levels

-- The innermost level that is no function of the library's and none in C, as Lua writes places; nil where there is none, or
-- where Lua has forgotten its line (tails.lua).
local function place()
  local inner
  for level = 3, levels_max do
    local about = getinfo(level, "Slf")
    if not about then
      return nil
    end
    if find(about.source, MARK, 1, true) == 1 then
      local source, line
      if inner then
        source, line = kit.lost_at(level + 1, inner)
      end
      if source then
        return line > 0 and source .. ":" .. line .. ": " or nil
      end
    elseif about.currentline > 0 then
      return about.short_src .. ":" .. about.currentline .. ": "
    elseif about.what ~= "C" then
      return nil
    end
    inner = about.func
  end
end

-- Raises an error where the page called the library.
function kit.fail(message)
  local before = type(message) == "string" and place()
  error(before and before .. message or message, 0)
end

local function fail_with(status, message)
  kit.current[1].blamed = { status, message }
  error(message, 0)
end

-- The same where the client is to blame, for what it sent: where nobody catches it, the request is answered with this status.
function kit.fail_for_client(status, message)
  local before = place()
  fail_with(status, before and before .. message or message)
end

-- The same where the store is to blame, which takes no changes now. It is noticed behind the last line of a page, so
-- there is no place.
function kit.fail_for_store(message)
  fail_with(503, message)
end

-- A status and its message, of this coroutine's run.
function kit.blamed(coroutine)
  local context = kit.contexts[coroutine]
  local blamed = context and context.blamed
  return blamed and blamed[1] .. " " .. blamed[2] or ""
end

-- The status by which a request is answered where the page is not to blame for an error; nil for any other error. What
-- middleware catches it can tell apart by this, and raise again.
function kit.status_of(failure)
  local context = kit.current[1]
  local blamed = context and context.blamed
  return blamed and blamed[2] == failure and blamed[1] or nil
end

-- While the library itself is loaded nothing is lost.
function kit.lost_at()
  return nil
end
