-- Which texts are UTF-8.
--
-- Owns the pieces in which long texts are looked at, between which a page can be interrupted. The looking itself is utf8.rs.

local kit = ...

local ffi = require("ffi")
local min = math.min
local piece_size = kit.utf8_piece

local type_of_both = "uint32_t (*)(const char *, uint32_t, uint32_t)"
local text_kind = ffi.cast(type_of_both, kit.utf8_text_kind)
local valid_piece = ffi.cast(type_of_both, kit.utf8_valid_length)

-- How JSON has a text, as utf8.rs numbers it.
local ESCAPED, NOT_UTF8 = 1, 2

-- How many bytes from the start are UTF-8. A piece may end within a character, which the next piece then begins with.
local function valid_length(text)
  local size, at = #text, 0
  while at < size do
    local length = min(size - at, piece_size)
    local valid = valid_piece(text, at, length)
    at = at + valid
    if valid < length and (valid == 0 or length - valid > 3) then
      break
    end
  end
  return at
end
kit.valid_length = valid_length

function kit.is_utf8(text)
  return valid_length(text) == #text
end

-- How JSON has a text. A long one is taken for one with escapes: it is written in pieces anyway.
function kit.json_text_kind(text)
  if #text <= piece_size then
    return text_kind(text, 0, #text)
  end
  return valid_length(text) == #text and ESCAPED or NOT_UTF8
end
