-- `table.sort` that can be interrupted.
--
-- Owns which lists are sorted here. LuaJIT's own sort calls page code from C, where it cannot yield, compares long texts byte by
-- byte, and takes a time that grows with the square of the length where somebody chose the values for that.

local kit = ...

local fail = kit.fail

local type, rawget, min = type, rawget, math.min
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

-- Whether LuaJIT's own sort is quick with these: few numbers, or few texts that are short together. Where they are mixed it
-- complains at once, as long as none of them has something to say about it.
local function is_quick(list, count)
  if count > native_count then
    return false
  end
  local size = 0
  for index = 1, count do
    local value = rawget(list, index)
    local kind = type(value)
    if kind == "string" then
      size = size + #value
    elseif kind == "table" or kind == "userdata" then
      return false
    end
  end
  return size <= native_bytes
end

function kit.table.sort(list, less)
  if type(list) ~= "table" then
    fail("bad argument #1 to 'sort' (table expected, got " .. type(list) .. ")")
  end
  local count = #list
  if less == nil then
    if is_quick(list, count) then
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
