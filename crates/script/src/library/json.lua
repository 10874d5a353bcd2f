-- `json.encode` and `json.decode`.
--
-- Owns the mapping: an array is a table with an element 1 (or one made by `json.array`), of elements 1 to n without a hole, however
-- it was made; everything else is an object, whose fields are in the order of their names, so that equal tables have one text;
-- `json.null` stands for null. Both directions are UTF-8, and what one writes the other reads, as does every other reader of the
-- server. In Lua, so that native code does it, a long text can be interrupted, and nothing crosses.

local kit = ...

local raise = kit.fail

local type, error, tostring, tonumber, pairs, setmetatable = type, error, tostring, tonumber, pairs, setmetatable
local rawget = rawget
local byte, char, sub, find, format, gsub = string.byte, string.char, string.sub, string.find, string.format, string.gsub
local floor, huge, concat, sort = math.floor, math.huge, kit.concat, kit.table.sort
local getmetatable = debug.getmetatable
local new_buffer, get = kit.buffer.new, kit.buffer.get
local depth_max, piece_size, number_size = kit.json_depth, kit.json_piece, kit.json_number

local null = kit.seal("null", {})
kit.null = null
local array_meta = { __metatable = "json.array" }
kit.marks["json array"] = array_meta

local escapes = { ['"'] = '\\"', ["\\"] = "\\\\", ["\b"] = "\\b", ["\f"] = "\\f", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }
for code = 0, 31 do
  escapes[char(code)] = escapes[char(code)] or format("\\u%04x", code)
end
-- What could end a script element early when the text stands in a page.
escapes["<"] = "\\u003c"

-- What a text is to JSON: written as it is, with escapes, or not at all.
local PLAIN, NOT_UTF8 = 0, 2
local measure, valid_length = kit.json_text_kind, kit.valid_length

-- What errors call a value.
local function called(name)
  if type(name) == "number" then
    return "element " .. name
  end
  return name and "the text of '" .. gsub(name, "[\128-\255]", "?") .. "'" or "the text"
end

local function put_string(out, text, name)
  local kind = measure(text)
  if kind == NOT_UTF8 then
    error("json.encode: " .. called(name) .. " is not UTF-8", 0)
  elseif kind == PLAIN then
    out:put('"', text, '"')
  elseif #text <= piece_size then
    out:put('"', (gsub(text, '[%z\1-\31"\\<]', escapes)), '"')
  else
    out:put('"')
    for start = 1, #text, piece_size do
      out:put((gsub(sub(text, start, start + piece_size - 1), '[%z\1-\31"\\<]', escapes)))
    end
    out:put('"')
  end
end

local put_value

-- The first element that is not there.
local function hole(list)
  local index = 1
  while rawget(list, index) ~= nil do
    index = index + 1
  end
  return "no element " .. index
end

local function put_array(out, list, depth)
  local count, last = 0, 0
  for key in pairs(list) do
    if type(key) ~= "number" or key < 1 or key % 1 ~= 0 then
      error("json.encode: an array has elements 1 to n, and none at '" .. tostring(key) .. "'", 0)
    end
    count = count + 1
    last = key > last and key or last
  end
  if last > count then
    error("json.encode: an array has no holes: there is " .. hole(list) .. ", and one at " .. last .. " (json.null stands for nothing)", 0)
  end
  out:put("[")
  for index = 1, count do
    if index > 1 then
      out:put(",")
    end
    put_value(out, list[index], depth, index)
  end
  out:put("]")
end

-- The shortest text that stands for this number and no other.
local function number_text(value)
  if value % 1 == 0 and value > -2 ^ 53 and value < 2 ^ 53 then
    return format("%.0f", value)
  end
  local text = format("%.14g", value)
  if tonumber(text) ~= value then
    text = format("%.15g", value)
  end
  if tonumber(text) ~= value then
    text = format("%.16g", value)
  end
  return tonumber(text) == value and text or format("%.17g", value)
end

-- Up to this many names are sorted here, in native code.
local FEW = 16

local function sort_names(names, count)
  if count > FEW then
    return sort(names)
  end
  for index = 2, count do
    local name, place = names[index], index
    while place > 1 and name < names[place - 1] do
      names[place] = names[place - 1]
      place = place - 1
    end
    names[place] = name
  end
end

-- The names of an object in their order; and where numbers are among them, which number each stands for.
local function names_of(fields)
  local names, count, numbers = {}, 0, nil
  for name in pairs(fields) do
    local text = name
    if type(name) == "number" then
      text = number_text(name)
      numbers = numbers or {}
      numbers[text] = name
    elseif type(name) ~= "string" then
      error("json.encode: a " .. type(name) .. " cannot be the name of a field", 0)
    end
    count = count + 1
    names[count] = text
  end
  sort_names(names, count)
  return names, count, numbers
end

local function put_object(out, fields, depth)
  local names, count, numbers = names_of(fields)
  out:put("{")
  local before
  for index = 1, count do
    local name = names[index]
    if name == before then
      error("json.encode: there are two fields '" .. name .. "': a number and a string", 0)
    end
    if before then
      out:put(",")
    end
    before = name
    if measure(name) == NOT_UTF8 then
      error("json.encode: the name of a field is not UTF-8: '" .. gsub(name, "[\128-\255]", "?") .. "'", 0)
    end
    put_string(out, name)
    out:put(":")
    put_value(out, fields[numbers and numbers[name] or name], depth, name)
  end
  out:put("}")
end

function put_value(out, value, depth, name)
  local kind = type(value)
  if kind == "string" then
    put_string(out, value, name)
  elseif kind == "number" then
    if value ~= value or value - value ~= 0 then
      error("json.encode: " .. tostring(value) .. " has no form in JSON", 0)
    end
    -- What a buffer writes of a number is right up to 14 digits.
    out:put(value % 1 == 0 and value > -1e14 and value < 1e14 and value or number_text(value))
  elseif kind == "boolean" then
    out:put(value and "true" or "false")
  elseif value == nil or value == null then
    out:put("null")
  elseif kind == "table" then
    if depth >= depth_max then
      error("json.encode: deeper than " .. depth_max .. " levels, or a table within itself", 0)
    end
    if value[1] ~= nil or getmetatable(value) == array_meta then
      put_array(out, value, depth + 1)
    else
      put_object(out, value, depth + 1)
    end
  else
    error("json.encode: a " .. kind .. " has no form in JSON", 0)
  end
end

local function encode(value)
  local out = new_buffer()
  put_value(out, value, 0)
  return get(out)
end

local function fail(at, what)
  error("json.decode: " .. what .. " at byte " .. at, 0)
end

-- The first byte from `at` on that is no white space, and where it is.
local function skip(text, at)
  local code = byte(text, at)
  while code == 32 or code == 10 or code == 13 or code == 9 do
    at = at + 1
    code = byte(text, at)
  end
  return code, at
end

local plain = { ['"'] = '"', ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n", r = "\r", t = "\t" }

local function utf8_of(code)
  if code < 0x80 then
    return char(code)
  elseif code < 0x800 then
    return char(0xC0 + floor(code / 64), 0x80 + code % 64)
  elseif code < 0x10000 then
    return char(0xE0 + floor(code / 4096), 0x80 + floor(code / 64) % 64, 0x80 + code % 64)
  end
  return char(0xF0 + floor(code / 262144), 0x80 + floor(code / 4096) % 64, 0x80 + floor(code / 64) % 64, 0x80 + code % 64)
end

local function hex_at(text, at)
  local digits = sub(text, at, at + 3)
  if not find(digits, "^%x%x%x%x$") then
    fail(at, "four hexadecimal digits expected")
  end
  return tonumber(digits, 16)
end

-- What the escape whose letter is at `at` stands for, and where the text goes on.
local function escaped(text, at)
  local letter = sub(text, at, at)
  if plain[letter] then
    return plain[letter], at + 1
  elseif letter ~= "u" then
    fail(at, "not an escape")
  end
  local code = hex_at(text, at + 1)
  at = at + 5
  if code >= 0xD800 and code < 0xDC00 and sub(text, at, at + 1) == "\\u" then
    local low = hex_at(text, at + 2)
    if low >= 0xDC00 and low < 0xE000 then
      return utf8_of(0x10000 + (code - 0xD800) * 1024 + low - 0xDC00), at + 6
    end
  end
  if code >= 0xD800 and code < 0xE000 then
    code = 0xFFFD
  end
  return utf8_of(code), at
end

-- The string whose first byte after the quotation mark is at `at`, and where the text goes on.
local function string_at(text, at)
  local start, pieces, count = at, nil, 0
  while true do
    local code = byte(text, at)
    if code == 34 then
      local last = sub(text, start, at - 1)
      if not pieces then
        return last, at + 1
      end
      pieces[count + 1] = last
      return concat(pieces), at + 1
    elseif code == 92 then
      pieces = pieces or {}
      pieces[count + 1] = sub(text, start, at - 1)
      pieces[count + 2], at = escaped(text, at + 1)
      count, start = count + 2, at
    elseif not code then
      fail(at, "the text ends within a string")
    elseif code < 32 then
      fail(at, "a control character within a string")
    else
      at = at + 1
    end
  end
end

local function number_at(text, at)
  local stop = at
  while true do
    local code = byte(text, stop)
    -- Digits, sign, point and exponent.
    if not code or not (code >= 48 and code <= 57 or code == 45 or code == 43 or code == 46 or code == 69 or code == 101) then
      break
    end
    stop = stop + 1
  end
  if stop - at > number_size then
    fail(at, "a number of more than " .. number_size .. " bytes")
  end
  local digits = sub(text, at, stop - 1)
  local value = tonumber(digits)
  if not value or find(digits, "^-?0%d") or find(digits, "^-?%.") or find(digits, "%.%f[^%d.]") or byte(digits) == 43 then
    fail(at, "a value expected")
  elseif value == huge or value == -huge then
    fail(at, "a number out of range")
  end
  return value, stop
end

local value_at

local function array_at(text, at, depth)
  local list, count = setmetatable({}, array_meta), 0
  local code, place = skip(text, at)
  if code == 93 then
    return list, place + 1
  end
  while true do
    count = count + 1
    list[count], place = value_at(text, place, depth)
    code, place = skip(text, place)
    if code == 93 then
      return list, place + 1
    elseif code ~= 44 then
      fail(place, "',' or ']' expected")
    end
    place = place + 1
  end
end

local function object_at(text, at, depth)
  local fields = {}
  local code, place = skip(text, at)
  if code == 125 then
    return fields, place + 1
  end
  while true do
    code, place = skip(text, place)
    if code ~= 34 then
      fail(place, "the name of a field expected")
    end
    local name
    name, place = string_at(text, place + 1)
    code, place = skip(text, place)
    if code ~= 58 then
      fail(place, "':' expected")
    end
    fields[name], place = value_at(text, place + 1, depth)
    code, place = skip(text, place)
    if code == 125 then
      return fields, place + 1
    elseif code ~= 44 then
      fail(place, "',' or '}' expected")
    end
    place = place + 1
  end
end

local words = { [116] = { "true", true }, [102] = { "false", false }, [110] = { "null", null } }

function value_at(text, at, depth)
  local code, place = skip(text, at)
  if code == 34 then
    return string_at(text, place + 1)
  elseif code == 123 or code == 91 then
    if depth >= depth_max then
      fail(place, "deeper than " .. depth_max .. " levels")
    elseif code == 123 then
      return object_at(text, place + 1, depth + 1)
    end
    return array_at(text, place + 1, depth + 1)
  end
  local word = words[code]
  if word and sub(text, place, place + #word[1] - 1) == word[1] then
    return word[2], place + #word[1]
  end
  return number_at(text, place)
end

local function decode(text)
  if type(text) ~= "string" then
    error("json.decode takes a string, not a " .. type(text), 0)
  end
  local valid = valid_length(text)
  if valid < #text then
    fail(valid + 1, "not UTF-8")
  end
  local value, at = value_at(text, 1, 0)
  local code, place = skip(text, at)
  if code then
    fail(place, "something after the value")
  end
  return value
end

-- Errors name the place of the page that called.
local function placed(fine, ...)
  if not fine then
    raise((...))
  end
  return ...
end

local pcall = pcall

kit.encode_json = encode

-- What the session keeps.
function kit.decode_json(text)
  return placed(pcall(decode, text))
end

-- `request.json`: whoever sent it is to blame.
function kit.decode_body(text)
  local fine, value = pcall(decode, text)
  if not fine and type(value) == "string" and find(value, "json.decode: ", 1, true) == 1 then
    kit.fail_for_client(400, "request.json: " .. sub(value, #"json.decode: " + 1))
  end
  return placed(fine, value)
end

kit.publish("json", kit.seal("json", {
  null = null,
  array = function(list)
    list = list == nil and {} or list
    local meta = type(list) == "table" and getmetatable(list)
    if type(list) ~= "table" or meta and meta ~= array_meta then
      raise("json.array takes a table without a metatable, not " .. (meta and "one that has one" or "a " .. type(list)))
    end
    return meta and list or setmetatable(list, array_meta)
  end,
  encode = function(value)
    return placed(pcall(encode, value))
  end,
  decode = function(text)
    return placed(pcall(decode, text))
  end,
}))
