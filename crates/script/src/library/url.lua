-- `url`: texts as parts of URLs.
--
-- Owns which bytes stand for themselves. What a browser sends is taken apart by the server, into `request.query`.

local kit = ...

local fail = kit.fail

local type, tostring, pairs, sort = type, tostring, pairs, kit.table.sort
local format, char, gsub = string.format, string.char, kit.string.gsub
local concat, to_number = kit.concat, kit.to_number

-- All but the unreserved ones (RFC 3986, 2.3).
local RESERVED = "[^%w%-._~]"

local escapes, bytes = {}, {}
for code = 0, 255 do
  escapes[char(code)] = format("%%%02X", code)
end

local function encoded(value)
  return (gsub(tostring(value), RESERVED, escapes))
end

local function byte_of(digits)
  local known = bytes[digits]
  if not known then
    known = char(to_number(digits, 16))
    bytes[digits] = known
  end
  return known
end

local function check(name, value)
  if type(value) ~= "string" and type(value) ~= "number" then
    fail("url." .. name .. " takes a string or a number, not a " .. type(value))
  end
end

local url = {}

-- As one piece of a path or a query.
function url.encode(value)
  check("encode", value)
  return encoded(value)
end

-- What such a piece stands for. A plus is a blank, as in a query; what is no escape stays.
function url.decode(text)
  check("decode", text)
  return (gsub(gsub(tostring(text), "%+", " "), "%%(%x%x)", byte_of))
end

local function add(written, name, value)
  local kind = type(value)
  if kind ~= "string" and kind ~= "number" and kind ~= "boolean" then
    fail("url.query: '" .. tostring(name) .. "' is a " .. kind .. ", not a string, a number, a boolean or a list of them")
  end
  written[#written + 1] = encoded(name) .. "=" .. encoded(value)
end

-- Names with their values as a query, in the order of the names; a list gives its name once for each value.
function url.query(values)
  if type(values) ~= "table" then
    fail("url.query takes a table, not a " .. type(values))
  end
  local names = {}
  for name in pairs(values) do
    if type(name) ~= "string" then
      fail("url.query takes values by name: '" .. tostring(name) .. "' is a " .. type(name))
    end
    names[#names + 1] = name
  end
  sort(names)
  local written = {}
  for place = 1, #names do
    local name = names[place]
    local value = values[name]
    local list = type(value) == "table" and value or { value }
    for index = 1, #list do
      add(written, name, list[index])
    end
  end
  return concat(written, "&")
end

kit.publish("url", kit.seal("url", url))
