-- `table.sort` that can be interrupted, and bounds for the other long calls of `table` and `string`.
--
-- Owns the sorting and what `string.format` shows of tables. LuaJIT's own call page code from C, where it cannot yield, and
-- where the stack ends early.

local kit = ...

local fail = kit.fail

local type, tostring, select, unpack = type, tostring, select, unpack
local gmatch, native_format = string.gmatch, string.format
local has_table, shown = kit.has_table, kit.shown
local min = math.min
local native_sort, native_rep = table.sort, string.rep
local native_size, text_size = kit.sort_size, kit.text_size

-- Runs of this length are sorted by insertion first.
local RUN = 8

local function sort_runs(list, count, less)
  for low = 1, count, RUN do
    for index = low + 1, min(low + RUN - 1, count) do
      local value, place = list[index], index
      while place > low and less(value, list[place - 1]) do
        list[place] = list[place - 1]
        place = place - 1
      end
      list[place] = value
    end
  end
end

local function merge_pass(from, to, count, width, less)
  for low = 1, count, 2 * width do
    local middle, stop = min(low + width, count + 1), min(low + 2 * width, count + 1)
    local left, right = low, middle
    for place = low, stop - 1 do
      if left < middle and (right >= stop or not less(from[right], from[left])) then
        to[place] = from[left]
        left = left + 1
      else
        to[place] = from[right]
        right = right + 1
      end
    end
  end
end

local function ascending(one, other)
  return one < other
end

function kit.table.sort(list, less)
  if type(list) ~= "table" then
    fail("bad argument #1 to 'sort' (table expected, got " .. type(list) .. ")")
  end
  local count, kind = #list, type(list[1])
  if less == nil then
    if count <= native_size and (kind == "number" or kind == "string") then
      return native_sort(list)
    end
    less = ascending
  elseif type(less) ~= "function" then
    fail("bad argument #2 to 'sort' (function expected, got " .. type(less) .. ")")
  end
  sort_runs(list, count, less)
  local from, to, width = list, {}, RUN
  while width < count do
    merge_pass(from, to, count, width, less)
    from, to, width = to, from, 2 * width
  end
  if from ~= list then
    for index = 1, count do
      list[index] = from[index]
    end
  end
end

function kit.string.rep(text, count, separator)
  local size = type(count) == "number" and #tostring(text) + #tostring(separator or "") or 0
  if size > 0 and count > 0 and size * count > text_size then
    fail("the result of 'rep' is longer than " .. text_size .. " bytes")
  end
  return native_rep(text, count, separator)
end

-- The values of a format with texts in the place of tables that are shown as texts.
local function shown_in(format, ...)
  local values, count, index = { ... }, select("#", ...), 0
  for letter in gmatch(format, "%%[-+ #0]*%d*%.?%d*(.?)") do
    if letter ~= "%" then
      index = index + 1
      if (letter == "s" or letter == "q") and type(values[index]) == "table" then
        values[index] = shown(values[index])
      end
    end
  end
  return unpack(values, 1, count)
end

function kit.string.format(format, ...)
  if has_table(select("#", ...), ...) and type(format) == "string" then
    return native_format(format, shown_in(format, ...))
  end
  return native_format(format, ...)
end
