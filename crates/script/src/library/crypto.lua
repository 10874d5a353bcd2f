-- `crypto`: hashes, comparisons, encodings and random bytes.
--
-- Owns the pieces that long texts are cut into, so that a page can be interrupted between them. The algorithms are
-- crypto.rs.

local kit = ...

local fail = kit.fail

local ffi = require("ffi")
local type, tostring = type, tostring
local string_of, cast = ffi.string, ffi.cast
local new_buffer, get = kit.buffer.new, kit.buffer.get
local bytes = ffi.typeof("uint8_t[?]")
local piece_size, random_max = kit.crypto_piece, kit.random_size

local hasher_size = cast("uint32_t (*)(void)", kit.crypto_hasher_size)()
local hash_begin = cast("void (*)(uint8_t *)", kit.crypto_hash_begin)
local hmac_begin = cast("void (*)(uint8_t *, const char *, uint32_t)", kit.crypto_hmac_begin)
local update = cast("void (*)(uint8_t *, const char *, uint32_t, uint32_t)", kit.crypto_hash_update)
local finish = cast("void (*)(uint8_t *, uint8_t *)", kit.crypto_hash_finish)
local same = cast("uint32_t (*)(const char *, const char *, uint32_t, uint32_t)", kit.crypto_equal)
local code = cast("int32_t (*)(uint32_t, const char *, uint32_t, uint32_t, uint8_t *)", kit.crypto_code)
local fill = cast("uint32_t (*)(uint8_t *, uint32_t)", kit.crypto_random)

local function check(name, value)
  if type(value) ~= "string" then
    fail("crypto." .. name .. " takes a string, not a " .. type(value))
  end
end

local function left(text, offset)
  local size = #text - offset
  return size < piece_size and size or piece_size
end

local function hashed(hasher, text)
  for offset = 0, #text - 1, piece_size do
    update(hasher, text, offset, left(text, offset))
  end
  local result = bytes(32)
  finish(hasher, result)
  return string_of(result, 32)
end

local function sha256(text)
  local hasher = bytes(hasher_size)
  hash_begin(hasher)
  return hashed(hasher, text)
end

local crypto = {}

function crypto.sha256(text)
  check("sha256", text)
  return sha256(text)
end

function crypto.hmac(key, text)
  check("hmac", key)
  check("hmac", text)
  -- What HMAC does with a key that is longer than a block (RFC 2104, section 2), in pieces.
  if #key > 64 then
    key = sha256(key)
  end
  local hasher = bytes(hasher_size)
  hmac_begin(hasher, key, #key)
  return hashed(hasher, text)
end

-- Whether two texts are the same. How long it takes tells their lengths and nothing else.
function crypto.equal(one, other)
  check("equal", one)
  check("equal", other)
  if #one ~= #other then
    return false
  end
  local count = 0
  for offset = 0, #one - 1, piece_size do
    count = count + 1 - same(one, other, offset, left(one, offset))
  end
  return count == 0
end

function crypto.random(count)
  if type(count) ~= "number" or count % 1 ~= 0 or count < 1 or count > random_max then
    fail("crypto.random takes a whole number from 1 to " .. random_max .. ", not " .. tostring(count))
  end
  local place = bytes(count)
  if fill(place, count) == 0 then
    fail("the operating system gives no random bytes")
  end
  return string_of(place, count)
end

-- The numbers of crypto.rs.
local HEX, BASE64, BASE64_INSIDE, BASE64_URL = 0, 1, 2, 3
local DECODE = 16

-- A text in another form, or nil and the place of what is wrong. Each piece but the last is complete in itself; `inside`
-- is the way for those.
local function coded(text, way, inside)
  local size = #text
  if size <= piece_size then
    local place = bytes(2 * size + 4)
    local count = code(way, text, 0, size, place)
    if count < 0 then
      return nil, -count
    end
    return string_of(place, count)
  end
  local out, place = new_buffer(), bytes(2 * piece_size + 4)
  for offset = 0, size - 1, piece_size do
    local is_last = offset + piece_size >= size
    local count = code(is_last and way or inside, text, offset, left(text, offset), place)
    if count < 0 then
      return nil, offset - count
    end
    out:put(string_of(place, count))
  end
  return get(out)
end

local function encoder(name, way)
  crypto[name] = function(text)
    check(name, text)
    return (coded(text, way, way))
  end
end
encoder("hex", HEX)
encoder("base64", BASE64)
encoder("base64url", BASE64_URL)

local function decoder(name, spoken, way, inside)
  crypto[name] = function(text)
    check(name, text)
    local result, at = coded(text, DECODE + way, DECODE + inside)
    if not result then
      return nil, "not " .. spoken .. " at byte " .. at
    end
    return result
  end
end
decoder("unhex", "hexadecimal", HEX, HEX)
decoder("unbase64", "base64", BASE64, BASE64_INSIDE)
decoder("unbase64url", "base64url", BASE64_URL, BASE64_URL)

kit.crypto = crypto
kit.publish("crypto", kit.seal("crypto", crypto))
