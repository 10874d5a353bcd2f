-- The interruptible versions of library functions against LuaJIT's own. `pattern_steps` is 0, so that nothing but the
-- empty text is left to C. An error is a failed test.

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
      if pattern:sub(1, 1) ~= "^" then
        local ours = outcome(pcall(all_of, kit.string.gmatch, text, pattern))
        local native = outcome(pcall(all_of, string.gmatch, text, pattern))
        if ours ~= native then
          error("gmatch(" .. shown(text, pattern) .. "): " .. ours .. " instead of " .. native, 0)
        end
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
