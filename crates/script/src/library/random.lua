-- `math.random` and `math.randomseed`: random numbers of which no run foresees those of another.
--
-- Owns the numbers of runs that chose a seed. All others take LuaJIT's, which pages cannot seed. For games, not for secrets.

local kit = ...

local fail = kit.fail

local native_random = math.random
local type, tonumber, tostring = type, tonumber, tostring
local floor = math.floor
local bxor, lshift, rshift, tobit = bit.bxor, bit.lshift, bit.rshift, bit.tobit
local current = kit.current

math.randomseed(kit.seed)

-- 32 bits of a xorshift generator (Marsaglia 2003), whose four words are in `words`.
local function next_word(words)
  local first, last = words[1], words[4]
  local mixed = bxor(first, lshift(first, 11))
  words[1], words[2], words[3] = words[2], words[3], last
  last = bxor(bxor(last, rshift(last, 19)), bxor(mixed, rshift(mixed, 8)))
  words[4] = last
  return last
end

-- 32 bits as a number that is not negative.
local function positive(word)
  return word % 2 ^ 32
end

-- From 0 to 1, without 1, in steps of 2^-53.
local function fraction(words)
  return (positive(rshift(next_word(words), 5)) * 2 ^ 26 + positive(rshift(next_word(words), 6))) / 2 ^ 53
end

local function seeded(seed)
  -- What is behind the point counts, too.
  local word = bxor(tobit(seed % 2 ^ 32), tobit(seed % 1 * 2 ^ 32))
  local words = {}
  for place = 1, 4 do
    -- Of numbers in a row of this sequence at most one is zero; only four of them would stop the generator.
    word = tobit((positive(word) * 1664525 + 1013904223) % 2 ^ 32)
    words[place] = word
  end
  for _ = 1, 16 do
    next_word(words)
  end
  return words
end

-- Whether any run has chosen a seed: until then there is nothing to look up.
local is_any_seeded = false

function kit.math.randomseed(seed)
  local number = tonumber(seed)
  if not number or number - number ~= 0 then
    fail("randomseed takes a number, not " .. tostring(seed))
  end
  is_any_seeded = true
  current[1].random = seeded(number)
end

local function number_of(value, place)
  local number = tonumber(value)
  if not number then
    fail("bad argument #" .. place .. " to 'random' (number expected, got " .. type(value) .. ")")
  end
  return number
end

-- As LuaJIT's own: it takes an interval without numbers in it as it is, too.
local function own_random(words, low, high)
  if low == nil then
    return fraction(words)
  end
  local first, last = 1, number_of(low, 1)
  if high ~= nil then
    first, last = last, number_of(high, 2)
  end
  return floor(fraction(words) * (last - first + 1)) + first
end

function kit.math.random(...)
  if is_any_seeded then
    local words = current[1].random
    if words then
      return own_random(words, ...)
    end
  end
  return native_random(...)
end
