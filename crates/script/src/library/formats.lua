-- `string.format`: LuaJIT's own for what is short, and item by item for the rest.
--
-- Owns what it shows of tables, and long formats and texts. LuaJIT's own calls `__tostring` from C, where it cannot yield and
-- where the stack ends early, and cannot be interrupted.

local kit = ...

local fail = kit.fail

local type, select, pcall = type, select, pcall
local byte, find, gsub, match, sub = string.byte, string.find, string.gsub, string.match, string.sub
local native_format = string.format
local new_buffer, get = kit.buffer.new, kit.buffer.get
local shown, piece_size, format_size, values_max = kit.shown, kit.text_piece, kit.format_size, kit.format_values

-- Whether a table or a long text is among so many values (which may also be read as a number).
local function needs_care(count, first, second, third, ...)
  local one, two, three = type(first), type(second), type(third)
  if one == "table" or two == "table" or three == "table" then
    return true
  elseif one == "string" and #first > format_size or two == "string" and #second > format_size then
    return true
  elseif three == "string" and #third > format_size then
    return true
  end
  return count > 3 and needs_care(count - 3, ...)
end

-- Where the item ends whose sign is before `at`: flags, two digits for the width, two for what is behind the point, a letter.
local function item_end(format, at)
  while true do
    local code = byte(format, at)
    if code ~= 45 and code ~= 43 and code ~= 32 and code ~= 35 and code ~= 48 then
      break
    end
    at = at + 1
  end
  at = match(format, "^%d?%d?()", at)
  if byte(format, at) == 46 then
    at = match(format, "^%d?%d?()", at + 1)
  end
  return at
end

-- A long text as `%q` gives it.
local function quoted(text)
  local out, at = new_buffer(), 1
  out:put('"')
  while at <= #text do
    local stop = at + piece_size - 1
    -- How a control character is written depends on whether a digit is behind it.
    if find(text, "^%d", stop + 1) then
      stop = stop + 1
    end
    out:put(sub(native_format("%q", sub(text, at, stop)), 2, -2))
    at = stop + 1
  end
  out:put('"')
  return get(out)
end

-- What an item makes of its value, which is the argument of that number.
local function made(item, number, is_given, value)
  local letter = sub(item, -1)
  if type(value) == "table" and (letter == "s" or letter == "q") then
    value = shown(value)
  end
  if letter == "q" and type(value) == "string" and #value > piece_size then
    return quoted(value)
  end
  local fine, text
  if is_given then
    fine, text = pcall(native_format, item, value)
  else
    fine, text = pcall(native_format, item)
  end
  if not fine then
    fail((gsub(text, "^bad argument #%d+ to '[^']*'", "bad argument #" .. number .. " to 'format'")))
  end
  return text
end

local function item_by_item(format, count, ...)
  local values, index, at = { ... }, 0, 1
  local out = new_buffer()
  while true do
    local sign = find(format, "%", at, true)
    if not sign then
      break
    end
    out:put(sub(format, at, sign - 1))
    if byte(format, sign + 1) == 37 then
      out:put("%")
      at = sign + 2
    else
      local stop = item_end(format, sign + 1)
      index = index + 1
      out:put(made(sub(format, sign, stop), index + 1, index <= count, values[index]))
      at = stop + 1
    end
  end
  out:put(sub(format, at))
  return get(out)
end

function kit.string.format(format, ...)
  local count = select("#", ...)
  if type(format) == "string" and (#format > format_size or count > values_max or needs_care(count, ...)) then
    return item_by_item(format, count, ...)
  end
  return native_format(format, ...)
end
