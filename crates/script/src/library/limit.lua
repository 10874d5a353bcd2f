-- `limit`: how often something may be done, as `[[limit]]` has it.
--
-- Owns what a key may be. The host counts.

local kit = ...

local type, tostring = type, tostring
local fail, take_limit = kit.fail, kit.take_limit

kit.publish("limit", kit.seal("limit", {
  take = function(name, key)
    if type(name) ~= "string" then
      fail("limit.take takes the name of a limit and a key, not a " .. type(name))
    end
    local kind = type(key)
    if kind ~= "string" and kind ~= "number" then
      fail("limit.take takes a string or a number as key, not a " .. kind)
    end
    local wait = take_limit(name, tostring(key))
    if not wait then
      fail("there is no [[limit]] with the name " .. name)
    end
    return wait == 0, wait
  end,
}))
