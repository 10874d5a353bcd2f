-- What a page does in a loop stays in native code: no piece of it ends for the interpreter to do the rest, or to do what
-- stands between two of them. An error is a failed test.

local kit = ...

local traceinfo = require("jit.util").traceinfo

local works = {
  write = function(response)
    for number = 1, 1000 do
      response:write(number, "\n")
    end
  end,
  content = function()
    for _ = 1, 1000 do
      kit.members.content()
    end
  end,
  finish = function(response)
    for _ = 1, 1000 do
      kit.finish({}, response)
    end
  end,
}

for name, work in pairs(works) do
  jit.flush()
  coroutine.wrap(function()
    local response = setmetatable({}, kit.response_meta)
    local context = { out = kit.buffer.new(), response = response, content = "" }
    kit.contexts[coroutine.running()], kit.current[1] = context, context
    work(response)
  end)()
  local has_loop = false
  for number = 1, 1000 do
    local about = traceinfo(number)
    if not about then
      break
    end
    assert(about.linktype ~= "stitch" and about.linktype ~= "interpreter", name .. " leaves native code")
    has_loop = has_loop or about.linktype == "loop"
  end
  assert(has_loop, name .. " is not compiled")
end
