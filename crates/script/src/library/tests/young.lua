-- Native code of young functions is thrown away and made again, and that of older ones is kept. An error is a failed test.

local kit = ...

local function page()
  local sum = 0
  for index = 1, 1000 do
    sum = sum + index
  end
  return sum
end

local made = 0
jit.attach(function(what, _, code)
  if what == "stop" and code == page then
    made = made + 1
  end
end, "trace")

local thrown_away = { [1] = true, [2] = true, [3] = true, [10] = true, [100] = true }

kit.born(page)
for run = 1, 100 do
  kit.begun(page)
  local before = made
  page()
  if thrown_away[run] and made == before then
    error("run " .. run .. " made no native code", 0)
  end
end
-- Five times the loop; once the page itself, as it is called that often.
if made > 6 then
  error("native code was made " .. made .. " times", 0)
end
