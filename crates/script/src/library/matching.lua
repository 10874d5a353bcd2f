-- `string.find`, `match`, `gmatch` and `gsub`: in C where that is sure to be quick, in Lua where it might not be.
--
-- Owns the estimate. A matcher in C cannot be interrupted, so the most that a pattern could cost counts: the length of
-- the text to the power of how many items can take any number of bytes.

local kit = ...

local fail = kit.fail

local type, select, tostring, tonumber, unpack = type, select, tostring, tonumber, unpack
local sub, concat, floor, max, min = string.sub, table.concat, math.floor, math.max, math.min
local find, match, gmatch, gsub = string.find, string.match, string.gmatch, string.gsub
local linear_find, pattern_size = kit.find, kit.pattern_size
local compile, search, capture_of = kit.compile_pattern, kit.search, kit.capture_of
local steps_max, patterns_max = kit.pattern_steps, kit.patterns_kept

-- The length of text up to which a pattern is matched in C.
local function size_for(items)
  local degree, choices = items.is_anchored and 0 or 1, 1
  for index = 1, #items do
    local item = items[index]
    if item.mark == "?" then
      choices = choices * 2
    elseif item.mark and index < #items or item.opens or item.kind == 7 then
      degree = degree + 1
    end
  end
  return floor((steps_max / choices / max(#items / 32, 1)) ^ (1 / max(degree, 1)))
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
  if find(pattern, "[%^$*+?.([%%-]") then
    items = compiled(pattern)
  else
    -- What C searches for as it is; it is compiled when something else is asked for.
    items = { is_plain = true, size = floor(steps_max / max(#pattern, 1)) }
  end
  known[pattern] = items
  known_count = known_count + 1
  return items
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
  local at = init == nil and 1 or tonumber(init)
  if not at then
    fail("a place in a text is a number, not a " .. type(init))
  end
  if at < 0 then
    at = #text + at + 1
  end
  return min(max(at, 1), #text + 1)
end

-- A search for text as it is. C may look at every byte of the pattern at every place.
local function find_plain(text, pattern, init)
  if #text * #pattern <= steps_max then
    return find(text, pattern, init, true)
  end
  local start = linear_find(text, pattern, first_place(text, init))
  if start then
    return start, start + #pattern - 1
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

-- What a replacement text means for a match: `%0` to `%9` and `%%`.
local function filled(template, whole, ...)
  local values, count = { ... }, select("#", ...)
  return (gsub(template, "%%(.?)", function(letter)
    if letter == "0" or letter == "1" and count == 0 then
      return whole
    elseif find(letter, "%d") then
      local value = values[letter + 0]
      if value == nil then
        fail("invalid capture index")
      end
      return tostring(value)
    end
    return letter
  end))
end

local function replacement(with, whole, ...)
  local value
  local first = ...
  if select("#", ...) == 0 then
    first = whole
  end
  if type(with) == "function" then
    if select("#", ...) == 0 then
      value = with(whole)
    else
      value = with(...)
    end
  elseif type(with) == "table" then
    value = with[first]
  else
    return filled(with, whole, ...)
  end
  if not value then
    return whole
  elseif type(value) ~= "string" and type(value) ~= "number" then
    fail("invalid replacement value (a " .. type(value) .. ")")
  end
  return value
end

-- One match from `at` on as `find` gives it: start, stop, captures.
local function next_match(items, text, pattern, at)
  if not items then
    return find(text, pattern, at)
  end
  return as_found(items, search(items, text, at))
end

-- Adds what lies before a match and what takes its place; where to look next, or nothing at the end.
local function replace_one(pieces, text, at, with, start, stop, ...)
  if not start then
    pieces[#pieces + 1] = sub(text, at)
    return nil
  end
  pieces[#pieces + 1] = sub(text, at, start - 1)
  pieces[#pieces + 1] = replacement(with, sub(text, start, stop), ...)
  if stop < start then
    pieces[#pieces + 1] = sub(text, start, start)
    return start + 1
  end
  return stop + 1
end

function kit.string.gsub(text, pattern, with, count_max)
  local kind = type(with)
  if type(text) == "number" then
    text = tostring(text)
  end
  if type(pattern) == "number" then
    pattern = tostring(pattern)
  end
  if type(text) ~= "string" or type(pattern) ~= "string" then
    return gsub(text, pattern, with, count_max)
  end
  local most = tonumber(count_max)
  if count_max ~= nil and not most then
    fail("bad argument #4 to 'gsub' (number expected, got " .. type(count_max) .. ")")
  end
  local items = items_for(text, pattern)
  if kind ~= "function" and kind ~= "table" and (not items or kind ~= "string") then
    return gsub(text, pattern, with, count_max)
  end
  local is_anchored = sub(pattern, 1, 1) == "^"
  local pieces, count, at = {}, 0, 1
  while at and at <= #text + 1 and (not most or count < most) do
    local following = replace_one(pieces, text, at, with, next_match(items, text, pattern, at))
    if not following then
      return concat(pieces), count
    end
    at, count = following, count + 1
    if is_anchored then
      break
    end
  end
  pieces[#pieces + 1] = sub(text, at)
  return concat(pieces), count
end
