-- The last part: what is complete is sealed, and strings get their methods.
--
-- Owns the order: nothing is added to a library after this.

local kit = ...

kit.publish("string", kit.seal("string", kit.string))
kit.publish("bit", kit.seal("bit", kit.bit))
kit.publish("math", kit.seal("math", kit.math))
kit.publish("table", kit.seal("table", kit.table))

local meta = debug.getmetatable("")
meta.__index = kit.string
meta.__metatable = false
