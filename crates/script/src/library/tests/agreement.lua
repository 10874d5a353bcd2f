-- The interruptible versions of library functions against LuaJIT's own. The bounds are 0 or next to it, so that nothing but the
-- empty text is left to C, and pieces have a few bytes. An error is a failed test.

local kit = ...

local patterns = {
  "a", "a*", "a+", "a-", "a?", "^a*", "a*$", "^a-$", "(a)(b)", "(a*)(b*)", "((a)b)", "()ab()", "[ab]+", "[^a]+", "[]]",
  "[^]]", "[a-c]+", "[%a_]+", "%w+", "%s*", "%d", "%%", "%.", ".", ".-b", "(.)%1", "%b()", "%b''", "%f[%w]%w+", "%f[%W]",
  "a$b", "^$", "$", "", "a.c", "(a?)(b?)c", "[%]]", "[a%-z]", "[%-]", "-", "*", "+a", "^^a", "%z", "[%z]", "(()a*())",
  "[^%s]+", "a-b-c", "([^=]+)=([^;]*);?", "^%s*(.-)%s*$", "%x%x", "x*y", "%^", "a^b", "[$]", "[(]a[)]", "(a)%2", "(a",
  "a)", "[a", "%", "%b", "%f", "a%", "[%", "[^", "(%1)", "\255", "%S+", "%u%l*", "(%a)(%a)", "^(a)", "^", "(.*)(b)(.*)",
}

local texts = {
  "", "a", "b", "ab", "aab", "aaa", "abcabc", "a(b)c(d(e)f)", "x = 1; y = 2", "  trim me  ", "a-b_c.d", "%", "]", "^a",
  "hello world", "aXa", "tt", "a\0b", "'q' and 'r'", "0fF9", "a^b", "$", "key=value;other=thing", "*+-", "((", "\255\254",
}

local function shown(...)
  local line = {}
  for index = 1, select("#", ...) do
    line[index] = tostring((select(index, ...)))
  end
  return table.concat(line, "|")
end

-- Messages of errors have a place in front in one and not in the other.
local function outcome(fine, ...)
  if not fine then
    return "error"
  end
  return shown(...)
end

local compared = 0

local function compare(name, ...)
  local ours, native = outcome(pcall(kit.string[name], ...)), outcome(pcall(string[name], ...))
  compared = compared + 1
  if ours ~= native then
    error(name .. "(" .. shown(...) .. "): " .. ours .. " instead of " .. native, 0)
  end
end

local function all_of(gmatch, text, pattern)
  local list = {}
  for one, other in gmatch(text, pattern) do
    list[#list + 1] = shown(one, other)
  end
  return unpack(list)
end

local function count_and_first(...)
  return "<" .. select("#", ...) .. tostring((...)) .. ">"
end

for _, pattern in ipairs(patterns) do
  for _, text in ipairs(texts) do
    -- LuaJIT's own notices some malformed patterns only when it comes to their bad end: those are refused at once here.
    local well_formed = pcall(kit.compile_pattern, pattern)
    if well_formed then
      for _, init in ipairs({ 1, 2, -1, -2, 0, 100 }) do
        compare("find", text, pattern, init)
        compare("find", text, pattern, init, true)
        compare("match", text, pattern, init)
      end
      compare("gsub", text, pattern, "<%0>")
      compare("gsub", text, pattern, "%1%%", 2)
      compare("gsub", text, pattern, count_and_first)
      compare("gsub", text, pattern, { a = "A", b = false, tt = 7 })
      compare("gsub", text, pattern, "x", 0)
      compare("gsub", text, pattern, "a longer one %2 and %0%0", 1.5)
      compare("gsub", text, pattern, "at the end %", -1)
      compare("gsub", text, pattern, "%")
      compare("gsub", text, pattern, "%x%1", "2")
      compare("gsub", text, pattern, 12)
      local ours = outcome(pcall(all_of, kit.string.gmatch, text, pattern))
      local native = outcome(pcall(all_of, string.gmatch, text, pattern))
      if ours ~= native then
        error("gmatch(" .. shown(text, pattern) .. "): " .. ours .. " instead of " .. native, 0)
      end
    elseif text ~= "" and pattern ~= "a)" and pcall(string.find, "a(aaa", pattern) then
      error("refused: " .. pattern, 0)
    end
  end
end
assert(compared > 20000, compared)

local function sorted(sort, values, less)
  local copy = { unpack(values) }
  sort(copy, less)
  return table.concat(copy, ",")
end

local function descending(one, other)
  return one > other
end

for count = 0, 70 do
  local values = {}
  for index = 1, count do
    values[index] = (index * 7919) % 31
  end
  assert(sorted(kit.table.sort, values) == sorted(table.sort, values))
  assert(sorted(kit.table.sort, values, descending) == sorted(table.sort, values, descending))
end

-- What both give, or say without its place.
local function said(fine, ...)
  if fine then
    return shown(...)
  end
  return "error: " .. tostring((...)):gsub("^[^ ]+:%d+: ", "")
end

local differences = {}

local function agree(place, native_place, name, ...)
  local ours, native = said(pcall(place[name], ...)), said(pcall(native_place[name], ...))
  compared = compared + 1
  -- Where nothing calls it by its name C has none for it.
  if ours:gsub("'[%w_?]+'", "") ~= native:gsub("'[%w_?]+'", "") then
    differences[#differences + 1] = name .. "(" .. shown(...) .. "): " .. ours .. " instead of " .. native
  end
end

for _, value in ipairs({ 0, 12.5, -3, 11111111111111 }) do
  agree(kit.string, string, "find", value, 1)
  agree(kit.string, string, "match", value, "(%d)(%d)")
  agree(kit.string, string, "gsub", value, 1, 2)
  agree(kit.string, string, "find", value, "1", 1.7)
  agree(kit.string, string, "match", "abcabc", "b", -3.5)
end

local needles = { "b", "ab", "abc", "aab", "c", "aaaaaaaab", "abcabcabc" }
for _, needle in ipairs(needles) do
  for _, text in ipairs({ ("a"):rep(100) .. "b", ("abc"):rep(40), ("ab"):rep(60) .. "cc", ("x"):rep(39) .. "abcabcabc" }) do
    for init = 1, 45, 4 do
      agree(kit.string, string, "find", text, needle, init, true)
      agree(kit.string, string, "find", text, needle, -init)
    end
  end
end

for _, text in ipairs({ "", "a", "Ab", "Abc", "aBcD", "0\1\0012\127\1273", "x\0y\rz\n\\\"q", "\195\132rger", ("aB"):rep(20), 125 }) do
  for _, name in ipairs({ "upper", "lower", "reverse", "len" }) do
    agree(kit.string, string, name, text)
  end
  agree(kit.string, string, "format", "%q", text)
  agree(kit.string, string, "format", "<%5s|%-9.2s>%%", text, text)
  for _, count in ipairs({ 0, 1, 2, 3, 7, 2.7, -1, "5", "x", 0 / 0 }) do
    agree(kit.string, string, "rep", text, count)
    agree(kit.string, string, "rep", text, count, ", ")
    agree(kit.string, string, "rep", text, count, 7)
  end
  agree(kit.string, string, "rep", text, 3, {})
end
agree(kit.string, string, "rep", {}, 3)

local items = {
  "%d", "%5d", "%-5d|", "%05d", "%+d", "% d", "%i", "%u", "%c", "%x", "%X", "%#x", "%o", "%e", "%.3e", "%E", "%f", "%.0f", "%10.4f",
  "%g", "%.14g", "%G", "%a", "%s", "%10s", "%-10s|", "%.1s", "%q", "%p", "%", "%y", "%123d", "%.123f", "%5", "%-", "%10.4", "%%", "%5%",
}
for _, item in ipairs(items) do
  for _, value in ipairs({ 7, -2.5, "12", "word", "" , false, 1e15, 65 }) do
    agree(kit.string, string, "format", item, value)
    agree(kit.string, string, "format", "before " .. item .. " between %s", value, value)
  end
  agree(kit.string, string, "format", item)
  agree(kit.string, string, "format", "%s" .. item, 1)
  agree(kit.string, string, "format", "%d" .. item, 1, nil)
end
agree(kit.string, string, "format", 12)
agree(kit.string, string, "format", {})

local lists = { {}, { 1 }, { "a", "b" }, { 1, 2.5, "c", 4, "e", 6, "g" }, { 1, 2, 3, {}, 5, 6 }, { 1, 2, 3, 4, 5, 6, false } }
for _, list in ipairs(lists) do
  for _, separator in ipairs({ "", ", ", 0, {} }) do
    agree(kit.table, table, "concat", list, separator)
    for first = -1, 4 do
      for last = 3, 8 do
        agree(kit.table, table, "concat", list, separator, first, last)
      end
    end
    agree(kit.table, table, "concat", list, separator, "1", "3")
    agree(kit.table, table, "concat", list, separator, 1.9, 3.9)
    agree(kit.table, table, "concat", list, separator, "x", 3)
  end
  agree(kit.table, table, "concat", list)
end
agree(kit.table, table, "concat", 5)

local function inserted(insert, count, ...)
  local list = {}
  for index = 1, count do
    list[index] = index
  end
  insert(list, ...)
  return table.concat(list, ",", 1, table.maxn(list)) .. tostring(list[0]) .. tostring(list[-1])
end
local inserts, natives = { insert = inserted }, { insert = inserted }
inserts.insert = function(...)
  return inserted(kit.table.insert, ...)
end
natives.insert = function(...)
  return inserted(table.insert, ...)
end
for count = 0, 6 do
  for place = 1, count + 1 do
    agree(inserts, natives, "insert", count, place, "x")
    agree(inserts, natives, "insert", count, tostring(place), "x")
    agree(inserts, natives, "insert", count, place + 0.5, "x")
  end
  agree(inserts, natives, "insert", count, "x")
  agree(inserts, natives, "insert", count, nil)
  agree(inserts, natives, "insert", count, 0, "x")
  agree(inserts, natives, "insert", count, 1, 2, 3)
  agree(inserts, natives, "insert", count, {}, 2)
end

for _, list in ipairs({ {}, { 1, 2, 3 }, { 1, nil, 3 }, { [5.5] = 1, [-7] = 2 }, { x = 1, [1e9] = 2 } }) do
  agree(kit.table, table, "maxn", list)
end
agree(kit.table, table, "maxn", "x")

local numbers, native_numbers = { tonumber = kit.to_number }, { tonumber = tonumber }
for _, text in ipairs({ "1", " 12 ", "0x1F", "1e3", "x", "", " ", "1 2", "-0", "z", "11" }) do
  agree(numbers, native_numbers, "tonumber", text)
  agree(numbers, native_numbers, "tonumber", text, 10)
  agree(numbers, native_numbers, "tonumber", text, 36)
  agree(kit.math, math, "max", text, 5, 3)
  agree(kit.math, math, "min", 1, text)
  agree(kit.bit, bit, "bor", text, 5, "8", 3)
end
for _, name in ipairs({ "max", "min" }) do
  agree(kit.math, math, name)
  agree(kit.math, math, name, 5)
  agree(kit.math, math, name, 5, 2, 9, 7, 1, 8)
  agree(kit.math, math, name, 5, {})
end
agree(numbers, native_numbers, "tonumber", 5)
agree(numbers, native_numbers, "tonumber", {})
agree(numbers, native_numbers, "tonumber")
agree(kit.string, string, "char", 65, "66", 67, 68)
agree(kit.string, string, "char")
agree(kit.string, string, "char", 300)
assert(kit.to_number(("1"):rep(50)) == tonumber(("1"):rep(50)) and kit.to_number(("1"):rep(51)) == nil)

-- Mixed values, and those that LuaJIT has no order for.
local order = { __lt = function(one, other) return one[1] < other[1] end }
local one, other = setmetatable({ 1 }, order), setmetatable({ 2 }, order)
for _, values in ipairs({ { "x", "y", 1 }, { 2, false }, { print, print }, { one, one, 5 }, { one, {} }, { {}, {} }, { {}, one } }) do
  local ours, native = { unpack(values) }, { unpack(values) }
  agree({ sort = function() kit.table.sort(ours) end }, { sort = function() table.sort(native) end }, "sort")
end
local ordered = { other, one, other, one }
kit.table.sort(ordered)
assert(ordered[1] == one and ordered[2] == one and ordered[3] == other and ordered[4] == other)
assert(#differences == 0, table.concat(differences, "\n"))
