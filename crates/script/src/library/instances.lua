-- Functions from byte code, any number of one: what `string.dump` gave is loaded once, and each call makes a function of it with
-- variables of its own.
--
-- Owns the joining of byte code (LuaJIT: lj_bcdump.h has the form). Never loads any that this process has not made itself:
-- other byte code could read and write memory.
--
-- A function that is loaded has one set of variables. One that is made by an instruction of another has a new set each time. So
-- the code is put into a frame: a function with as many local variables, which makes it as a function within itself. That
-- frame is compiled from text; its inner function gives way to the one that was dumped.

local kit = ...

local byte, char, sub, concat = string.byte, string.char, string.sub, table.concat
local dump, load = string.dump, load
local band, bor = bit.band, bit.bor
local size_max = kit.message_size

-- The number at a place, in groups of seven bits, and the place behind it.
local function number_at(code, place)
  local number, scale = 0, 1
  while true do
    local group = byte(code, place)
    place = place + 1
    number = number + group % 128 * scale
    if group < 128 then
      return number, place
    end
    scale = scale * 128
  end
end

-- Where the functions of a dump begin: behind the mark, the version, the flags and the name.
local function head_end(code)
  local _, place = number_at(code, 5)
  local size
  size, place = number_at(code, place)
  return place + size
end

-- Where the last function begins, its length included, and where it ends. Those within it stand before it.
local function last_function(code, place)
  while true do
    local size, behind = number_at(code, place)
    if byte(code, behind + size) == 0 then
      return place, behind, behind + size
    end
    place = behind + size
  end
end

-- Frames without their inner functions, by the number of variables.
local frames = {}

local function frame_of(count)
  local frame = frames[count]
  if not frame then
    local variables = {}
    for index = 1, count do
      variables[index] = "v" .. index
    end
    local list = concat(variables, ", ")
    local text = count == 0 and "return function() end" or "local " .. list .. " return function() return " .. list .. " end"
    local code = dump(load(text))
    frame = sub(code, (last_function(code, head_end(code))))
    frames[count] = frame
  end
  return frame
end

-- A function's variables are the frame's, in their order; whether they are ever set stays as it is.
local function with_variables(code, start, count)
  local constants, numbers, instructions, debug_size
  constants, start = number_at(code, start + 4)
  numbers, start = number_at(code, start)
  instructions, start = number_at(code, start)
  debug_size, start = number_at(code, start)
  if debug_size > 0 then
    local _
    _, start = number_at(code, start)
    _, start = number_at(code, start)
  end
  start = start + instructions * 4
  local variables = {}
  for index = 0, count - 1 do
    variables[2 * index + 1] = char(index)
    variables[2 * index + 2] = char(bor(0x80, band(byte(code, start + 2 * index + 1), 0x40)))
  end
  return sub(code, 1, start - 1) .. concat(variables) .. sub(code, start + 2 * count)
end

-- What makes functions of a dump. When there are too many, all are forgotten, and made again when they are needed.
local makers, makers_size = {}, 0

local function maker_of(code, count)
  local maker = makers[code]
  if not maker then
    local _, start = last_function(code, head_end(code))
    local inner = sub(with_variables(code, start, count), 1, -2)
    maker = kit.load_code(inner .. frame_of(count))
    if makers_size + #code > size_max then
      makers, makers_size = {}, 0
    end
    makers[code], makers_size = maker, makers_size + #code
  end
  return maker
end

-- A function of this dump, which has so many variables.
function kit.instances(code, count)
  return maker_of(code, count)()
end
