-- `string.gsub`: in C where that is sure to be quick, in Lua where it might not be, or calls what the page gave.
--
-- Owns what takes the place of a match. How a match is found is matching.lua.

local kit = ...

local fail = kit.fail

local type, select, tostring = type, select, tostring
local byte, find, gsub, sub = string.byte, string.find, string.gsub, string.sub
local floor, concat = math.floor, table.concat
local new_buffer, get = kit.buffer.new, kit.buffer.get
local items_for, as_found, as_text = kit.items_for, kit.as_found, kit.as_text
local search, to_number = kit.search, kit.to_number
local values_max, bytes_max, replaced_max = kit.values_joined, kit.bytes_joined, kit.replaced_size

-- Bytes that C writes in the time that it takes to make a text of a capture.
local CAPTURE_BYTES = 16

-- A replacement text as a list: pieces that stand for themselves, and numbers of captures (`%0` to `%9`).
local function parsed(template)
  local list, count, at = {}, 0, 1
  while true do
    local sign = find(template, "%", at, true)
    if not sign then
      break
    end
    local code = byte(template, sign + 1)
    local is_digit = code and code >= 48 and code <= 57
    list[count + 1] = sub(template, at, sign - 1)
    -- C takes the zero byte that it has behind a text for one that is quoted.
    list[count + 2] = is_digit and code - 48 or code and sub(template, sign + 1, sign + 1) or "\0"
    count, at = count + 2, sign + 2
  end
  list[count + 1] = sub(template, at)
  return list
end

-- What is put together: pieces, of which those that are many or large become one.
local function press(made)
  local out = made.out or new_buffer()
  out:put(concat(made))
  return { out = out }
end

local function total(made)
  local rest = concat(made)
  if not made.out then
    return rest
  end
  made.out:put(rest)
  return get(made.out)
end

-- What takes the place of a match, and all that was made before.
local function add_template(made, list, whole, ...)
  local captures, size = select("#", ...), made.size or 0
  for index = 1, #list do
    local part = list[index]
    if type(part) == "number" then
      if part == 0 or part == 1 and captures == 0 then
        part = whole
      elseif part > captures then
        fail("invalid capture index")
      else
        part = tostring((select(part, ...)))
      end
    end
    made[#made + 1] = part
    size = size + #part
    if size >= bytes_max or #made >= values_max then
      made, size = press(made), 0
    end
  end
  made.size = size
  return made
end

local function replacement(with, whole, ...)
  local value
  if type(with) == "table" then
    local first = ...
    if select("#", ...) == 0 then
      first = whole
    end
    value = with[first]
  elseif select("#", ...) == 0 then
    value = with(whole)
  else
    value = with(...)
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

-- Adds what lies before a match and what takes its place: all that was made, and where to look next, or nothing at the end.
local function replace_one(made, text, at, with, list, start, stop, ...)
  if not start then
    made[#made + 1] = sub(text, at)
    return made, nil
  end
  made[#made + 1] = sub(text, at, start - 1)
  if list then
    made = add_template(made, list, sub(text, start, stop), ...)
  else
    made[#made + 1] = replacement(with, sub(text, start, stop), ...)
  end
  if stop < start then
    made[#made + 1] = sub(text, start, start)
    return made, start + 1
  end
  return made, stop + 1
end

-- Whether C is quick with this template for as many matches as there may be. No capture is given more bytes in all than the
-- text has; a match takes some time of its own.
local function is_quick(text, template)
  local matches = #text + 1
  local size = matches * (#template + 1)
  if size * CAPTURE_BYTES <= replaced_max then
    return true
  elseif size > replaced_max then
    return false
  end
  local _, captures = gsub(template, "%%%d", "")
  return size + matches * captures * CAPTURE_BYTES <= replaced_max
end

local function most_of(count_max)
  if count_max == nil then
    return nil
  end
  local most = to_number(count_max)
  if not most then
    fail("bad argument #4 to 'gsub' (number expected, got " .. type(count_max) .. ")")
  end
  return floor(most)
end

function kit.string.gsub(text, pattern, with, count_max)
  text, pattern, with = as_text(text), as_text(pattern), as_text(with)
  local kind = type(with)
  local calls = kind == "function" or kind == "table"
  if type(text) ~= "string" or type(pattern) ~= "string" or not calls and kind ~= "string" then
    return gsub(text, pattern, with, count_max)
  end
  local most, items = most_of(count_max), items_for(text, pattern)
  if not calls and not items and is_quick(text, with) then
    return gsub(text, pattern, with, most)
  end
  local list = kind == "string" and parsed(with) or nil
  local is_anchored = byte(pattern) == 94
  local made, count, at, following = {}, 0, 1, nil
  while at <= #text + 1 and (not most or count < most) do
    made, following = replace_one(made, text, at, with, list, next_match(items, text, pattern, at))
    if not following then
      return total(made), count
    end
    at, count = following, count + 1
    if #made >= values_max then
      made = press(made)
    end
    if is_anchored then
      break
    end
  end
  made[#made + 1] = sub(text, at)
  return total(made), count
end
