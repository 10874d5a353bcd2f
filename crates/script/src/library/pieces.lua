-- `string` and `table` with long texts and lists: what LuaJIT's own do in one go is done in pieces here, between which a page
-- can be interrupted.
--
-- Owns what counts as long. What is short, and every complaint about an argument, is LuaJIT's own.

local kit = ...

local fail = kit.fail

local type, tostring, select, rawget, rawset, next = type, tostring, select, rawget, rawset, next
local find, gmatch, sub = string.find, string.gmatch, string.sub
local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min
local new_buffer, get = kit.buffer.new, kit.buffer.get
local native_tonumber, native_rep, native_reverse = tonumber, string.rep, string.reverse
local native_concat, native_insert, native_maxn = table.concat, table.insert, table.maxn
local piece_size, values_max, shifted_max = kit.text_piece, kit.values_joined, kit.values_shifted
local text_size, number_size, searched_size = kit.text_size, kit.number_size, kit.searched_piece

-- So many values are looked at where they are; more are put into a list.
local FEW = 30

-- A number, or what a text says as one. LuaJIT's own reads a text of any length to its end, and takes "nan", "inf" and "1e999" for
-- numbers: a client would send them, and they fit into no calculation and no JSON.
local function to_number(...)
  local value = ...
  if type(value) ~= "string" then
    return native_tonumber(...)
  elseif #value > number_size then
    return nil
  end
  local number = native_tonumber(...)
  return number and number - number == 0 and number or nil
end
kit.to_number = to_number
kit.publish("tonumber", to_number)

-- The same in a list: very many values would not find room on the stack again for every three of them.
local function text_bytes_in(count, values)
  local size = 0
  for index = 1, count do
    local value = values[index]
    if type(value) == "string" then
      size = size + #value
    end
  end
  return size
end

-- Bytes of texts that are among numbers.
local function text_bytes(count, first, second, third, ...)
  local size = 0
  if type(first) == "string" then
    size = #first
  end
  if type(second) == "string" then
    size = size + #second
  end
  if type(third) == "string" then
    size = size + #third
  end
  if count <= 3 then
    return size
  elseif count > FEW then
    return size + text_bytes_in(count - 3, { ... })
  end
  return size + text_bytes(count - 3, ...)
end

-- Functions of any number of numbers, each of which may be a text that says it.
local function guard(members, names)
  for name in gmatch(names, "%w+") do
    local native = members[name]
    members[name] = function(...)
      local one, other = ...
      local count = select("#", ...)
      if count > 2 or type(one) == "string" or type(other) == "string" then
        if text_bytes(count, ...) > number_size then
          fail("numbers that are texts have more than " .. number_size .. " bytes")
        end
      end
      return native(...)
    end
  end
end
guard(kit.math, "max min")
guard(kit.bit, "band bor bxor")
guard(kit.string, "char")

-- A number as C takes it for a whole one.
local function whole(number)
  return number < 0 and ceil(number) or floor(number)
end
kit.whole = whole

-- What `native` makes of each byte, in the order of the bytes.
local function in_pieces(native)
  return function(text)
    if type(text) ~= "string" or #text <= piece_size then
      return native(text)
    end
    local out = new_buffer()
    for start = 1, #text, piece_size do
      out:put(native(sub(text, start, start + piece_size - 1)))
    end
    return get(out)
  end
end
kit.string.lower, kit.string.upper = in_pieces(string.lower), in_pieces(string.upper)

function kit.string.reverse(text)
  if type(text) ~= "string" or #text <= piece_size then
    return native_reverse(text)
  end
  local out = new_buffer()
  for stop = #text, 1, -piece_size do
    out:put(native_reverse(sub(text, max(stop - piece_size + 1, 1), stop)))
  end
  return get(out)
end

-- A long result is put together from one piece of it: bytes are copied faster than one by one.
local function repeated(text, count, separator)
  local unit = text .. separator
  local together = max(floor(piece_size / #unit), 1)
  local piece, left = together > 1 and native_rep(unit, together) or unit, floor(count) - 1
  local out = new_buffer()
  for _ = 1, floor(left / together) do
    out:put(piece)
  end
  out:put(native_rep(unit, left % together), text)
  return get(out)
end

function kit.string.rep(text, count, separator)
  if type(count) == "string" then
    count = to_number(count) or "not a number"
  end
  local kind, between = type(text), type(separator)
  if type(count) ~= "number" or kind ~= "string" and kind ~= "number" then
    return native_rep(text, count, separator)
  elseif separator ~= nil and between ~= "string" and between ~= "number" then
    return native_rep(text, count, separator)
  end
  text, separator = tostring(text), tostring(separator or "")
  local size = #text + #separator
  if size > 0 and count > 0 and size * count > text_size then
    fail("the result of 'rep' is longer than " .. text_size .. " bytes")
  elseif size > 0 and size * count > piece_size and count >= 1 then
    return repeated(text, count, separator)
  end
  return native_rep(text, count, separator)
end

-- The texts and numbers from `first` to `last` as one text.
local function join(list, separator, first, last)
  local out = new_buffer()
  for start = first, last, values_max do
    local stop = min(start + values_max - 1, last)
    out:put(native_concat(list, separator, start, stop))
    if stop < last then
      out:put(separator)
    end
  end
  return get(out)
end

local function concat_many(list, separator, first, last)
  local between = type(separator)
  if separator ~= nil and between ~= "string" and between ~= "number" then
    return native_concat(list, separator)
  end
  for index = first, last do
    local kind = type(rawget(list, index))
    if kind ~= "string" and kind ~= "number" then
      return native_concat(list, separator, index, index)
    end
  end
  return join(list, separator or "", first, last)
end

local function concat(list, separator, first, last)
  if type(list) == "table" then
    local start, stop = 1, nil
    if first ~= nil then
      start = to_number(first)
    end
    if last == nil then
      stop = #list
    else
      stop = to_number(last)
    end
    if start and stop and stop - start >= values_max then
      return concat_many(list, separator, whole(start), whole(stop))
    end
  end
  return native_concat(list, separator, first, last)
end
kit.table.concat, kit.concat = concat, concat

-- Makes room for a value in a long list.
local function shift(list, place, value)
  for index = #list + 1, place + 1, -1 do
    rawset(list, index, rawget(list, index - 1))
  end
  rawset(list, place, value)
end

function kit.table.insert(list, ...)
  if select("#", ...) == 2 and type(list) == "table" then
    local place = to_number((...))
    -- C makes its least number of what is none of its numbers, and moves everything from there on.
    if place and not (place > -2 ^ 31 and place < 2 ^ 31) then
      fail("bad argument #2 to 'insert' (a place in a list is a number of 32 bits, not " .. tostring(place) .. ")")
    elseif place and #list - place >= shifted_max then
      return shift(list, whole(place), (select(2, ...)))
    end
  end
  return native_insert(list, ...)
end

function kit.table.maxn(list)
  if type(list) ~= "table" then
    return native_maxn(list)
  end
  local most = 0
  for key in next, list do
    if type(key) == "number" and key > most then
      most = key
    end
  end
  return most
end

-- Whether there is any byte of a class in a text; the pattern is that class.
function kit.has_any(text, class)
  for start = 1, #text, searched_size do
    local piece = #text <= searched_size and text or sub(text, start, start + searched_size - 1)
    if find(piece, class) then
      return true
    end
  end
  return false
end
