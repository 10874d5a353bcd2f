-- `load` and `loadstring`.
--
-- Owns what a page may compile: text and no byte code, which can be made to read and write memory, and no more of it than LuaJIT
-- compiles soon, as nobody interrupts that.

local kit = ...

local fail = kit.fail

local type, tostring, rawequal = type, tostring, rawequal
local concat, gmatch, gsub, sub = table.concat, string.gmatch, string.gsub, string.sub
local floor, native_load = math.floor, kit.load
local size_max, jumps_max, numbers_max, name_size = kit.load_size, kit.load_jumps, kit.load_numbers, kit.name_size

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
  if count > jumps_max then
    return "the text has more than " .. jumps_max .. " jumps (and, or, elseif, break, goto, &&, ||, ?.)"
  end
  count = 0
  for digits, exponent in gmatch(text, "([%d.]+)([eE]?)") do
    count = count + (exponent == "" and 0 or 1) + floor(#digits / 20)
  end
  if count > numbers_max then
    return "the text has more than " .. numbers_max .. " numbers with an exponent, or of more than 20 digits"
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
    if size > size_max then
      break
    end
  end
  return concat(pieces)
end

local function load_text(text, name, mode, environment)
  if type(text) == "function" then
    text = whole_text(text)
  end
  -- Anything else would leave the chunk without an environment of ours.
  if environment == nil or rawequal(environment, kit.shared_face) then
    environment = kit.environment
  elseif type(environment) ~= "table" then
    fail("bad argument #4 to 'load' (table expected, got " .. type(environment) .. ")")
  end
  if type(text) ~= "string" then
    fail("bad argument #1 to 'load' (a string or a function that gives strings expected)")
  end
  if #text > size_max then
    return nil, "the text is longer than " .. size_max .. " bytes"
  end
  local why = is_costly(text)
  if why then
    return nil, why
  end
  name = type(name) == "string" and sub(name, 1, name_size) or "=(load)"
  return native_load(text, (gsub(name, "%z", "")) .. "\0", environment)
end
kit.publish("load", load_text)
kit.publish("loadstring", function(text, name)
  return load_text(text, name)
end)
