-- `log` and `print`.
--
-- Owns what a line says of the values, and how much of them. Where it goes is the host's.

local kit = ...

local tostring, type, select = tostring, type, select
local concat, sub, max = table.concat, string.sub, math.max
local native_log, line_size = kit.log, kit.line_size

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
