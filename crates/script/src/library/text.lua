-- Values as text: what `<%= %>` and `<%- %>` print, and `html.escape`.
--
-- Owns which values can be printed. The replacements themselves are escape.rs.

local kit = ...

local fail = kit.fail

local ffi = require("ffi")
local type, tostring = type, tostring
local getmetatable = debug.getmetatable
local string_of = ffi.string
local bytes = ffi.typeof("uint8_t[?]")
local made_size, made_max, piece_size = kit.escaped_size, kit.escapes_kept, kit.escape_piece

-- LuaJIT's own calls into C stay in native code; the addresses are Rust functions.
local measure = ffi.cast("uint32_t (*)(const char *, uint32_t, uint32_t)", kit.escape_measure)
local write = ffi.cast("uint32_t (*)(const char *, uint32_t, uint32_t, uint8_t *, uint32_t, uint32_t)", kit.escape_write)

-- What a table shows itself as. LuaJIT's own functions take anything for it, and show that in its turn.
local function shown(value)
  local text = tostring(value)
  if type(text) ~= "string" then
    fail("'__tostring' must return a string")
  end
  return text
end
kit.shown = shown

local function other_text(value)
  if value == nil or value == kit.null then
    return ""
  end
  if type(value) == "boolean" then
    return tostring(value)
  end
  local meta = getmetatable(value)
  if type(meta) == "table" and meta.__tostring then
    return shown(value)
  end
  fail("cannot print a " .. type(value))
end

local function text_of(value)
  local kind = type(value)
  if kind == "string" or kind == "number" then
    return value
  end
  return other_text(value)
end

-- Texts with escapes that were made before; when there are too many, all are forgotten. Making one costs an
-- allocation and an interned string, so what a page prints again and again is looked up.
local made, made_count = {}, 0

-- How many bytes a text has with its escapes. It is measured and written in pieces, between which a page can be interrupted.
local function measured(text, size)
  local result = 0
  for offset = 0, size - 1, piece_size do
    local left = size - offset
    result = result + measure(text, offset, left < piece_size and left or piece_size)
  end
  return result
end

local function escaped(text, size, escaped_size)
  local place, written = bytes(escaped_size), 0
  for offset = 0, size - 1, piece_size do
    local left = size - offset
    written = write(text, offset, left < piece_size and left or piece_size, place, written, escaped_size)
  end
  local result = string_of(place, escaped_size)
  if size <= made_size then
    if made_count >= made_max then
      made, made_count = {}, 0
    end
    made[text] = result
    made_count = made_count + 1
  end
  return result
end

local function escape(value)
  local kind = type(value)
  if kind == "number" then
    return value
  end
  if kind ~= "string" then
    value = other_text(value)
  end
  local size = #value
  local escaped_size = size <= piece_size and measure(value, 0, size) or measured(value, size)
  if escaped_size == size then
    return value
  end
  return made[value] or escaped(value, size, escaped_size)
end

kit.text_of = text_of
kit.escape = escape
kit.publish("html", kit.seal("html", {
  escape = function(value)
    return tostring(escape(value))
  end,
}))
