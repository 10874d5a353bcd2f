-- `table.sort` that can be interrupted.
--
-- Owns which lists are sorted here. LuaJIT's own sort calls page code from C, where it cannot yield, compares long texts byte by
-- byte, and takes a time that grows with the square of the length where somebody chose the values for that.

local kit = ...

local fail = kit.fail

local type, rawget, min = type, rawget, math.min
local getmetatable = debug.getmetatable
local native_sort = table.sort
local native_count, native_bytes = kit.sort_size, kit.sort_bytes

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

-- As LuaJIT says it, at the place of the page's call.
local function refuse(first, second)
  if first == second then
    fail("attempt to compare two " .. first .. " values")
  end
  fail("attempt to compare " .. first .. " with " .. second)
end

local function order_of(value)
  local meta = getmetatable(value)
  return type(meta) == "table" and rawget(meta, "__lt") or nil
end

-- The same for any values.
local function ascending_any(one, other)
  local first, second = type(one), type(other)
  if first ~= second then
    refuse(first, second)
  elseif first ~= "number" and first ~= "string" and first ~= "cdata" then
    local order = order_of(one)
    if not order or order ~= order_of(other) then
      refuse(first, second)
    end
  end
  return one < other
end

-- What the values of a list are, where all are the same, and the bytes of texts.
local function kind_of(list, count)
  local kind, size = type(rawget(list, 1)), 0
  for index = 1, count do
    local value = rawget(list, index)
    if type(value) ~= kind then
      return "mixed", size
    elseif kind == "string" then
      size = size + #value
    end
  end
  return kind, size
end

function kit.table.sort(list, less)
  if type(list) ~= "table" then
    fail("bad argument #1 to 'sort' (table expected, got " .. type(list) .. ")")
  end
  local count = #list
  if less == nil then
    local kind, size = kind_of(list, count)
    local is_plain = kind == "number" or kind == "string"
    if is_plain and count <= native_count and size <= native_bytes then
      return native_sort(list)
    end
    less = is_plain and ascending or ascending_any
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
