-- Patterns that can be interrupted: a matcher in Lua for what could take LuaJIT's own too long.
--
-- Owns compiled patterns and the search with them. Whether the matcher in C is used is decided by matching.lua.

local kit = ...

local fail = kit.fail

local byte, char, sub, find = string.byte, string.char, string.sub, string.find
local tonumber = tonumber

-- Bytes of a class that C looks through in the time of a step.
local CLASS_BYTES = 4

local SET, OPEN, CLOSE, PLACE, BALANCE, FRONTIER, AGAIN, FINISH = 1, 2, 3, 4, 5, 6, 7, 8
local UNCLOSED, POSITION = -1, -2
local CAPTURES_MAX = 32

-- The sets of bytes that were asked for before; when there are too many, all are forgotten.
local sets, sets_count = {}, 0

-- The set of bytes that a single item stands for, as C sees it.
local function set_of(item)
  local set = sets[item]
  if set then
    return set
  end
  if sets_count >= kit.patterns_kept then
    sets, sets_count = {}, 0
  end
  set = {}
  for code = 0, 255 do
    set[code] = find(char(code), item) ~= nil
  end
  sets[item] = set
  sets_count = sets_count + 1
  return set
end

-- Where the item that begins at `at` ends.
local function item_end(pattern, at)
  local first = sub(pattern, at, at)
  if first == "%" then
    if at == #pattern then
      fail("malformed pattern (ends with '%')")
    end
    return at + 1
  elseif first ~= "[" then
    return at
  end
  local place = at + 1
  if sub(pattern, place, place) == "^" then
    place = place + 1
  end
  repeat
    if place > #pattern then
      fail("malformed pattern (missing ']')")
    end
    place = place + (sub(pattern, place, place) == "%" and 2 or 1)
  until sub(pattern, place, place) == "]"
  return place
end

local function literal(item)
  -- These stand for themselves where they begin an item.
  return find(item, "^[%^$*+?)(-]$") and "%" .. item or item
end

local parse = {}

parse["("] = function(pattern, at, captures)
  captures.count = captures.count + 1
  if captures.count > CAPTURES_MAX then
    fail("too many captures")
  end
  if sub(pattern, at + 1, at + 1) == ")" then
    return { kind = PLACE, capture = captures.count }, at + 2
  end
  captures[#captures + 1] = captures.count
  return { kind = OPEN, capture = captures.count }, at + 1
end

parse[")"] = function(_, at, captures)
  local capture = captures[#captures]
  if not capture then
    fail("invalid pattern capture")
  end
  captures[#captures] = nil
  return { kind = CLOSE, capture = capture }, at + 1
end

parse["$"] = function(pattern, at)
  if at == #pattern then
    return { kind = FINISH }, at + 1
  end
end

parse["%"] = function(pattern, at, captures)
  local letter = sub(pattern, at + 1, at + 1)
  if letter == "b" then
    if at + 3 > #pattern then
      fail("malformed pattern (missing arguments to '%b')")
    end
    return { kind = BALANCE, opens = byte(pattern, at + 2), closes = byte(pattern, at + 3) }, at + 4
  elseif letter == "f" then
    if sub(pattern, at + 2, at + 2) ~= "[" then
      fail("missing '[' after '%f' in pattern")
    end
    local last = item_end(pattern, at + 2)
    return { kind = FRONTIER, set = set_of(sub(pattern, at + 2, last)), weight = (last - at) / CLASS_BYTES }, last + 1
  elseif find(letter, "%d") then
    local capture = tonumber(letter)
    if capture == 0 or capture > captures.count then
      fail("invalid capture index")
    end
    return { kind = AGAIN, capture = capture }, at + 2
  end
end

-- A list of items, with how many captures there are, and whether it holds at the start only. The weight of an item is what it
-- costs C besides the step, to look at a byte.
function kit.compile_pattern(pattern)
  local items, captures, at = {}, { count = 0 }, 1
  items.is_anchored = sub(pattern, 1, 1) == "^"
  if items.is_anchored then
    at = 2
  end
  while at <= #pattern do
    local special = parse[sub(pattern, at, at)]
    local item, following
    if special then
      item, following = special(pattern, at, captures)
    end
    if not item then
      local last = item_end(pattern, at)
      item = { kind = SET, set = set_of(literal(sub(pattern, at, last))), weight = (last - at) / CLASS_BYTES }
      following = last + 1
      local mark = sub(pattern, following, following)
      if mark ~= "" and find("*+-?", mark, 1, true) then
        item.mark = mark
        following = following + 1
      end
    end
    items[#items + 1] = item
    at = following
  end
  if #captures > 0 then
    fail("unfinished capture")
  end
  items.captures = captures.count
  return items
end

local try

local function greedy(match, at, index, item)
  local text, set, least = match.text, item.set, at
  while set[byte(text, at)] do
    at = at + 1
  end
  if item.mark == "+" then
    least = least + 1
  end
  while at >= least do
    local stop = try(match, at, index + 1)
    if stop then
      return stop
    end
    at = at - 1
  end
end

local function lazy(match, at, index, item)
  local text, set = match.text, item.set
  while true do
    local stop = try(match, at, index + 1)
    if stop then
      return stop
    end
    if not set[byte(text, at)] then
      return nil
    end
    at = at + 1
  end
end

local function balanced(text, at, item)
  if byte(text, at) ~= item.opens then
    return nil
  end
  local depth = 1
  for place = at + 1, #text do
    local code = byte(text, place)
    if code == item.closes then
      depth = depth - 1
      if depth == 0 then
        return place + 1
      end
    elseif code == item.opens then
      depth = depth + 1
    end
  end
end

local function repeated(match, at, item)
  local start, stop = match.starts[item.capture], match.stops[item.capture]
  if stop == UNCLOSED then
    fail("invalid capture index")
  end
  local earlier = stop == POSITION and "" or sub(match.text, start, stop - 1)
  if sub(match.text, at, at + #earlier - 1) == earlier then
    return at + #earlier
  end
end

local function captured(match, at, index, item)
  local starts, stops, capture = match.starts, match.stops, item.capture
  local start, stop = starts[capture], stops[capture]
  if item.kind == CLOSE then
    stops[capture] = at
  else
    starts[capture], stops[capture] = at, item.kind == PLACE and POSITION or UNCLOSED
  end
  local result = try(match, at, index + 1)
  if not result then
    starts[capture], stops[capture] = start, stop
  end
  return result
end

-- Where the items from `index` on end when they begin at `at`; nil if they do not fit.
function try(match, at, index)
  local items, text = match.items, match.text
  while true do
    local item = items[index]
    if not item then
      return at
    end
    local kind, mark = item.kind, item.mark
    if kind == SET and not mark then
      if not item.set[byte(text, at)] then
        return nil
      end
      at = at + 1
    elseif kind == SET then
      if mark == "?" then
        local stop = item.set[byte(text, at)] and try(match, at + 1, index + 1)
        if stop then
          return stop
        end
      elseif mark == "-" then
        return lazy(match, at, index, item)
      else
        return greedy(match, at, index, item)
      end
    elseif kind == FINISH then
      return at == #text + 1 and at or nil
    elseif kind == FRONTIER then
      if item.set[byte(text, at - 1) or 0] or not item.set[byte(text, at) or 0] then
        return nil
      end
    elseif kind == BALANCE then
      at = balanced(text, at, item)
    elseif kind == AGAIN then
      at = repeated(match, at, item)
    else
      return captured(match, at, index, item)
    end
    if not at then
      return nil
    end
    index = index + 1
  end
end

-- The first match from `at` on: its start and its end, with the captures in the match.
function kit.search(items, text, at)
  local match = { items = items, text = text, starts = {}, stops = {} }
  repeat
    local stop = try(match, at, 1)
    if stop then
      return at, stop - 1, match
    end
    at = at + 1
  until at > #text + 1 or items.is_anchored
end

-- Capture number `capture` of a match.
function kit.capture_of(match, capture)
  local start, stop = match.starts[capture], match.stops[capture]
  if stop == POSITION then
    return start
  end
  return sub(match.text, start, stop - 1)
end
