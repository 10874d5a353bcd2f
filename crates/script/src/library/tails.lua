-- Calls that Lua forgets: who ends with `return f()` is off the stack while `f` runs.
--
-- Owns the line of such a call. Never guesses: a function with such calls in several lines has none.

local kit = ...

local getinfo, getlocal, type, sub = debug.getinfo, debug.getlocal, type, string.sub
local running = coroutine.running
local band, concat = bit.band, table.concat
local util = require("jit.util")
local funcinfo, funcbc = util.funcinfo, util.funcbc

local MARK = kit.mark

-- Numbers of operations as in globals.lua: a call whose results are returned, with a fixed number of arguments and without.
local FIXED, OPEN = kit.operation_at(2, "return a()"), kit.operation_at(4, "return a(b())")

local function tail_line(code)
  local line
  -- Nobody interrupts this.
  if funcinfo(code).bytecodes > kit.tail_code then
    return 0
  end
  for place = 1, funcinfo(code).bytecodes - 1 do
    local operation = band(funcbc(code, place), 0xff)
    if operation == FIXED or operation == OPEN then
      local this = funcinfo(code, place).currentline
      if line and line ~= this then
        return 0
      end
      line = this
    end
  end
  return line or 0
end

-- Whom a function of the library is calling: it says so by the name of a local variable.
local function called_at(coroutine, level)
  local name, value
  local index = 0
  -- LuaJIT has no function with more than 250 of them.
  repeat
    index = index + 1
    name, value = getlocal(coroutine, level, index)
    if name == "called" and type(value) == "function" then
      return value
    end
  until not name
end

-- The page and the line (0 where it is not known) of whom the library calls at this level of the running coroutine, where that
-- is not the function of the level within it.
function kit.lost_at(level, inner)
  local own = running()
  -- No page is called from the main coroutine.
  local called = own and called_at(own, level + 1)
  local about = called and called ~= inner and getinfo(called, "S")
  if about and sub(about.source, 1, #MARK) ~= MARK then
    return about.short_src, tail_line(called)
  end
  return nil
end

-- A level of the library, a page or module and a line (0 where it is not known) for each function that the library calls
-- and that is not on the stack of this coroutine any more.
function kit.lost(coroutine)
  local lines, count, inner = {}, 0, nil
  for level = 0, kit.traceback_levels - 1 do
    local about = getinfo(coroutine, level, "Sf")
    if not about then
      break
    end
    local called = sub(about.source, 1, #MARK) == MARK and called_at(coroutine, level)
    if called and called ~= inner then
      local source = getinfo(called, "S").source
      if sub(source, 1, #MARK) ~= MARK then
        lines[count + 1], lines[count + 2], lines[count + 3] = level, sub(source, 2), tail_line(called)
        count = count + 3
      end
    end
    inner = about.func
  end
  return concat(lines, "\n")
end
