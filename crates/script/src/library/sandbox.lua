-- What pages may use of LuaJIT's own libraries.
--
-- Owns the list. Whatever is not named here (ffi, io, debug, package, jit, dofile, getfenv, newproxy, ..) is not there.

local kit = ...

local fail = kit.fail

local type, tostring, select, pcall = type, tostring, select, pcall
local rawequal, rawget = rawequal, rawget
local concat, gmatch, gsub, sub = table.concat, string.gmatch, string.gsub, string.sub
local floor, max = math.floor, math.max
local native_load, now, native_log = kit.load, kit.now, kit.log
local line_size, date_size = kit.line_size, kit.date_size

local function members(source, names)
  local result = {}
  for name in names:gmatch("%S+") do
    result[name] = source[name]
  end
  return result
end

for name, value in pairs(members(_G, [[
  assert error getmetatable ipairs next pairs pcall rawequal rawget rawset select setmetatable tonumber tostring
  type unpack
]])) do
  kit.publish(name, value)
end
-- LuaJIT's own calls the handler from C.
local function handled(handler, fine, ...)
  if fine then
    return true, ...
  end
  return false, (select(2, pcall(handler, ...)))
end
kit.publish("xpcall", function(body, handler, ...)
  if type(handler) ~= "function" then
    fail("bad argument #2 to 'xpcall' (function expected, got " .. type(handler) .. ")")
  end
  return handled(handler, pcall(body, ...))
end)
kit.publish("_VERSION", "Lua 5.1")
-- LuaJIT asks no metatable for the length of a table.
kit.publish("rawlen", function(value)
  if type(value) ~= "table" and type(value) ~= "string" then
    fail("rawlen takes a table or a string, not a " .. type(value))
  end
  return #value
end)

function kit.environment_face()
  local members = kit.members
  return kit.seal("_G", setmetatable({}, {
    -- Asking `_G` for what is not there is how programs find out.
    __index = function(_, name)
      return rawget(members, name)
    end,
  }))
end
local globals = kit.environment_face()
kit.publish("_G", globals)

kit.math = members(math, [[
  abs acos asin atan atan2 ceil cos cosh deg exp floor fmod frexp huge ldexp log log10 max min modf pi pow rad
  sin sinh sqrt tan tanh
]])

kit.bit = members(bit, [[
  arshift band bnot bor bswap bxor lshift rol ror rshift tobit tohex
]])

kit.table = members(table, "concat insert maxn move remove")
kit.table.unpack = unpack
-- LuaJIT has it only when it is built to be as Lua 5.2.
kit.table.pack = function(...)
  return { n = select("#", ...), ... }
end
kit.string = members(string, "byte char find format gmatch gsub len lower match rep reverse sub upper")

kit.publish("collectgarbage", function(what)
  if what ~= "count" then
    fail("collectgarbage(\"count\") is all there is: the server collects")
  end
  return collectgarbage("count")
end)

local jumps = {
  ["and"] = true, ["or"] = true, ["elseif"] = true, ["break"] = true, ["continue"] = true, ["goto"] = true,
}

-- Why a text would take LuaJIT longer than its length tells; nothing where it would not.
local function is_costly(text)
  local count = 0
  for word in gmatch(text, "%l%l+") do
    if jumps[word] then
      count = count + 1
    end
  end
  for _ in gmatch(text, "[&|?][&|.]") do
    count = count + 1
  end
  if count > kit.load_jumps then
    return "the text has more than " .. kit.load_jumps .. " jumps (and, or, elseif, break, goto, &&, ||, ?.)"
  end
  count = 0
  for digits, exponent in gmatch(text, "([%d.]+)([eE]?)") do
    count = count + (exponent == "" and 0 or 1) + floor(#digits / 20)
  end
  if count > kit.load_numbers then
    return "the text has more than " .. kit.load_numbers .. " numbers with an exponent, or of more than 20 digits"
  end
end

-- What a function gives piece by piece.
local function whole_text(source)
  local pieces, count, size = {}, 0, 0
  for piece in source do
    if piece == "" then
      break
    elseif type(piece) ~= "string" and type(piece) ~= "number" then
      fail("bad argument #1 to 'load' (the function gave a " .. type(piece) .. " in the place of a string)")
    end
    count, size = count + 1, size + #tostring(piece)
    pieces[count] = piece
    if size > kit.load_size then
      break
    end
  end
  return concat(pieces)
end

-- Text only: byte code can be made to read and write memory.
local function load_text(text, name, mode, environment)
  if type(text) == "function" then
    text = whole_text(text)
  end
  -- Anything else would leave the chunk without an environment of ours.
  if environment == nil or rawequal(environment, globals) then
    environment = kit.environment
  elseif type(environment) ~= "table" then
    fail("bad argument #4 to 'load' (table expected, got " .. type(environment) .. ")")
  end
  if type(text) ~= "string" then
    fail("bad argument #1 to 'load' (a string or a function that gives strings expected)")
  end
  if #text > kit.load_size then
    return nil, "the text is longer than " .. kit.load_size .. " bytes"
  end
  local why = is_costly(text)
  if why then
    return nil, why
  end
  name = type(name) == "string" and sub(name, 1, kit.name_size) or "=(load)"
  return native_load(text, (gsub(name, "%z", "")) .. "\0", environment)
end
kit.publish("load", load_text)
kit.publish("loadstring", function(text, name)
  return load_text(text, name)
end)

-- The values as a line. What is too much of it is left out, and said to be.
local function line_of(...)
  local words, count, size = { ... }, select("#", ...), -1
  for index = 1, count do
    local word = tostring(words[index])
    -- A `__tostring` may give anything.
    word = type(word) == "string" and word or tostring(word)
    size = size + 1 + #word
    local room = #word - max(size - line_size, 0)
    words[index] = room == #word and word or sub(word, 1, max(room, 0))
  end
  local line = sub(concat(words, " ", 1, count), 1, line_size)
  return size > line_size and line .. " .. (" .. size - line_size .. " bytes more)" or line
end

local function logger(level)
  return function(...)
    native_log(level, line_of(...))
  end
end
kit.publish("print", logger(2))
kit.publish("log", kit.seal("log", {
  debug = logger(1),
  info = logger(2),
  warn = logger(3),
  error = logger(4),
}, function(_, ...)
  native_log(2, line_of(...))
end))

local date, time_of, difference = os.date, os.time, os.difftime

local function date_at(format, seconds)
  if type(format) == "string" and #format > date_size then
    fail("the format of a date is longer than " .. date_size .. " bytes")
  end
  return date(format or "%c", seconds or now())
end
local function http_date(seconds)
  return date("!%a, %d %b %Y %H:%M:%S GMT", seconds or now())
end
-- The fields are read here: LuaJIT's own would call an `__index` from C.
local function moment(fields)
  if fields == nil then
    return now() - now() % 1
  end
  if type(fields) ~= "table" then
    fail("bad argument #1 to 'time' (table expected, got " .. type(fields) .. ")")
  end
  local to_number = kit.to_number
  return time_of {
    year = to_number(fields.year),
    month = to_number(fields.month),
    day = to_number(fields.day),
    hour = to_number(fields.hour),
    min = to_number(fields.min),
    sec = to_number(fields.sec),
    isdst = fields.isdst,
  }
end
kit.publish("time", kit.seal("time", { now = now, date = date_at, http = http_date }))
kit.publish("os", kit.seal("os", {
  clock = kit.clock,
  date = date_at,
  difftime = difference,
  time = moment,
}))
