-- `string.find`, `match` and `gmatch`: in C where that is sure to be quick, in Lua where it might not be.
--
-- Owns the estimate. A matcher in C cannot be interrupted, so the most that a pattern could cost counts: the length of
-- the text to the power of how many items can take any number of bytes.

local kit = ...

local fail = kit.fail

local type, tostring, unpack = type, tostring, unpack
local byte, sub, floor, max, min = string.byte, string.sub, math.floor, math.max, math.min
local find, match, gmatch = string.find, string.match, string.gmatch
local linear_find, has_any, to_number, whole = kit.find, kit.has_any, kit.to_number, kit.whole
local pattern_size, needle_size = kit.pattern_size, kit.needle_size
local compile, search, capture_of = kit.compile_pattern, kit.search, kit.capture_of
local steps_max, patterns_max = kit.pattern_steps, kit.patterns_kept

-- The length of text up to which a pattern is matched in C.
local function size_for(items)
  local degree, choices, weight = items.is_anchored and 0 or 1, 1, #items
  for index = 1, #items do
    local item = items[index]
    weight = weight + (item.weight or 0)
    if item.mark == "?" then
      choices = choices * 2
    elseif item.mark and index < #items or item.opens or item.kind == 7 then
      degree = degree + 1
    end
  end
  return floor((steps_max / choices / max(weight / 8, 1)) ^ (1 / max(degree, 1)))
end

-- Patterns seen before. When there are too many, all are forgotten.
local known, known_count = {}, 0

local function compiled(pattern)
  if #pattern > pattern_size then
    fail("the pattern is longer than " .. pattern_size .. " bytes")
  end
  local items = compile(pattern)
  items.size = size_for(items)
  return items
end

local function learn(pattern)
  if known_count >= patterns_max then
    known, known_count = {}, 0
  end
  local items
  if has_any(pattern, "[%^$*+?.([%%-]") then
    items = compiled(pattern)
  else
    -- What C searches for as it is; it is compiled when something else is asked for.
    items = { is_plain = true, size = floor(steps_max / max(#pattern, 1)) }
  end
  -- What is long would be held for long.
  if #pattern <= pattern_size then
    known[pattern] = items
    known_count = known_count + 1
  end
  return items
end

-- C takes numbers for their texts.
local function as_text(value)
  return type(value) == "number" and tostring(value) or value
end

-- The items of a pattern, or nothing where C is to match (or to complain).
local function items_for(text, pattern)
  if type(text) ~= "string" or type(pattern) ~= "string" then
    return nil
  end
  local items = known[pattern] or learn(pattern)
  if #text <= items.size then
    return nil
  end
  return items.is_plain and compiled(pattern) or items
end

local function first_place(text, init)
  local at = init == nil and 1 or to_number(init)
  if not at then
    fail("a place in a text is a number, not a " .. type(init))
  end
  if at < 0 then
    at = #text + at + 1
  end
  return min(max(whole(at), 1), #text + 1)
end

-- A search for text as it is. C may look at every byte of the pattern at every place.
local function find_plain(text, pattern, init)
  if #text * #pattern <= steps_max then
    return find(text, pattern, init, true)
  end
  local size = #pattern
  if size > needle_size then
    fail("the text to find is longer than " .. needle_size .. " bytes")
  end
  -- So much at a time, and what may begin in there and end behind it.
  local step = needle_size / 2
  for from = first_place(text, init), #text - size + 1, step do
    local start = linear_find(text, pattern, from, from + step + size - 2)
    if start then
      return start, start + size - 1
    end
  end
  return nil
end

local function captures_of(found, items, start, stop)
  if items.captures == 0 then
    return sub(found.text, start, stop)
  end
  local values = {}
  for capture = 1, items.captures do
    values[capture] = capture_of(found, capture)
  end
  return unpack(values, 1, items.captures)
end

-- A match as `find` gives it: start, stop, captures; or nil.
local function as_found(items, start, stop, found)
  if not start then
    return nil
  elseif items.captures > 0 then
    return start, stop, captures_of(found, items, start, stop)
  end
  return start, stop
end

function kit.string.find(text, pattern, init, plain)
  text, pattern = as_text(text), as_text(pattern)
  if type(text) ~= "string" or type(pattern) ~= "string" then
    return find(text, pattern, init, plain)
  end
  local items = not plain and (known[pattern] or learn(pattern))
  if plain or items.is_plain then
    return find_plain(text, pattern, init)
  elseif #text <= items.size then
    return find(text, pattern, init)
  end
  return as_found(items, search(items, text, first_place(text, init)))
end

function kit.string.match(text, pattern, init)
  text, pattern = as_text(text), as_text(pattern)
  local items = items_for(text, pattern)
  if not items then
    return match(text, pattern, init)
  end
  local start, stop, found = search(items, text, first_place(text, init))
  if start then
    return captures_of(found, items, start, stop)
  end
  return nil
end

function kit.string.gmatch(text, pattern)
  text, pattern = as_text(text), as_text(pattern)
  if type(pattern) == "string" and byte(pattern) == 94 then
    -- Here it stands for itself.
    pattern = "%" .. pattern
  end
  local items = items_for(text, pattern)
  if not items then
    return gmatch(text, pattern)
  end
  local at = 1
  return function()
    if at > #text + 1 then
      return nil
    end
    local start, stop, found = search(items, text, at)
    if not start then
      at = #text + 2
      return nil
    end
    at = stop < start and start + 1 or stop + 1
    return captures_of(found, items, start, stop)
  end
end

kit.items_for, kit.as_found, kit.as_text = items_for, as_found, as_text
