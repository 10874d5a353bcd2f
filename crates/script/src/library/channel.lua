-- `channel`: messages to subscribers.
--
-- Owns how a value becomes a message: a string as it is, any other value in JSON. Who subscribes is the host's.

local kit = ...

local fail, encode, native_publish = kit.fail, kit.encode_json, kit.publish_message
local type, pcall = type, pcall

kit.publish("channel", kit.seal("channel", {
  publish = function(name, value)
    if type(name) ~= "string" then
      fail("channel.publish takes the name of a channel and a value, not a " .. type(name))
    end
    local is_text = type(value) == "string"
    local fine, text = true, value
    if not is_text then
      fine, text = pcall(encode, value)
    end
    if not fine then
      fail(text)
    end
    local problem = native_publish(is_text and 1 or 2, name, text)
    if problem then
      return nil, problem
    end
    return true
  end,
}))
