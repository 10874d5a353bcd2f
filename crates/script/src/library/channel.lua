-- `channel`: messages to subscribers, and a page as a subscriber.
--
-- Owns how a value becomes a message and comes out of one: a string as it is, any other value in JSON. Who else subscribes is the host's.

local kit = ...

local fail, encode, decode, native_publish = kit.fail, kit.encode_json, kit.decode_json, kit.publish_message
local host = kit.host
local type, pcall, setmetatable, tonumber = type, pcall, setmetatable, tonumber

-- What a message is, as the host says it.
local JSON = "json"

-- The number of a subscription.
local function number_of(messages, name)
  if type(messages) ~= "table" or type(messages.number) ~= "number" then
    fail(name .. " is called with a colon: messages:" .. name .. "()")
  end
  return messages.number
end

local function heard(channel, failure, number, kind, lost, text)
  if failure then
    return nil, failure
  elseif not number then
    return nil
  end
  local value = text
  if kind == JSON then
    value = decode(text)
  end
  return value, { channel = channel, offset = tonumber(number), lost = tonumber(lost) }
end

local function receive(messages, seconds)
  local number = number_of(messages, "receive")
  if seconds ~= nil and (type(seconds) ~= "number" or not (seconds >= 0)) then
    fail("receive takes seconds, not " .. kit.shown_as(seconds))
  end
  return heard(messages.channel, host.messages_receive(number, seconds or -1))
end

local messages_meta = {
  __index = {
    receive = receive,
    close = function(messages)
      host.messages_close(number_of(messages, "close"))
    end,
  },
  -- `for value, about in messages do`: each message, until somebody closes it.
  __call = function(messages)
    return receive(messages)
  end,
  __metatable = false,
}
kit.marks["messages of a channel"] = messages_meta

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
  subscribe = function(name)
    if type(name) ~= "string" then
      fail("channel.subscribe takes the name of a channel, not a " .. type(name))
    end
    local number, reason = host.channel_subscribe(name)
    if reason then
      return nil, reason
    end
    return setmetatable({ number = tonumber(number), channel = name }, messages_meta)
  end,
}))
