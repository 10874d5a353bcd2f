-- Code that runs once for each request, while it is young.
--
-- Owns when its native code is thrown away. A page makes the functions within it anew for each request. LuaJIT compiles calls
-- of a function of which there were only one or two for exactly these, and once there were three for any; what it has made
-- before stays in the way: each call leaves native code, and recursion is slower than byte code.

local kit = ...

local setmetatable = setmetatable
local flush = require("jit").flush

-- The runs before which it is thrown away: the second and the third, and later ones for functions that few runs make.
local is_flushed, last = { [2] = true, [3] = true, [10] = true, [100] = true }, 100

-- How often young code has run.
local runs = setmetatable({}, { __mode = "k" })

-- This function is loaded: it is young from now on.
function kit.born(code)
  runs[code] = 0
end

-- It runs for a request.
function kit.begun(code)
  local count = runs[code]
  if count then
    count = count + 1
    runs[code] = count < last and count or nil
    if is_flushed[count] then
      -- Those within it, too.
      flush(code, true)
    end
  end
end
