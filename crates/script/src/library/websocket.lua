-- `websocket`: what a handler gives that talks with its client from then on.
--
-- Owns the order of its functions, and what they may do with the socket. Frames, pings and closes are the host's.

local kit = ...

local fail, host, current = kit.fail, kit.host, kit.current
local encode, decode = kit.encode_json, kit.buffer_decode
local type, pairs, pcall, tonumber, setmetatable = type, pairs, pcall, tonumber, setmetatable
local getmetatable = debug.getmetatable
local begun, born = kit.begun, kit.born

-- What is said, as the host has it; a close is its code.
local TEXT, BINARY, SUBSCRIBE, UNSUBSCRIBE = 1, 2, 3, 4

local CLOSED = "the WebSocket is closed"

local conversation_meta = { __metatable = false }

local is_handler = { open = true, message = true, receive = true, close = true }

function kit.websocket(handlers)
  if type(handlers) ~= "table" then
    fail("websocket takes a table of functions, not a " .. type(handlers))
  end
  for name, handler in pairs(handlers) do
    if name == "protocol" then
      if not kit.is_token(handler) then
        fail("`protocol` is the name of a subprotocol, not " .. kit.shown_as(handler))
      end
    elseif not is_handler[name] then
      fail("websocket knows no '" .. kit.text_of(name) .. "': there are open, message, receive, close and protocol")
    elseif type(handler) ~= "function" then
      fail("`" .. name .. "` is a function, not a " .. type(handler))
    else
      born(handler)
    end
  end
  return setmetatable({ handlers }, conversation_meta)
end

function kit.is_conversation(value)
  return type(value) == "table" and getmetatable(value) == conversation_meta
end

-- Has the host do something with the socket; nil and why where it does not.
local function say(socket, method, what, text)
  local context = current[1]
  if type(socket) ~= "table" or not context.socket or context.socket ~= socket then
    fail("socket:" .. method .. " is for the WebSocket that is served here: others are reached by a channel, or by a message to their process")
  end
  if socket.is_closed then
    return nil, CLOSED
  end
  local out = context.out
  kit.buffer.reset(out)
  out:put(text)
  local start, length = kit.buffer.ref(out)
  local fine, reason = host.socket_send(start, length, what)
  kit.empty(out, length)
  if not fine then
    return nil, reason
  end
  return true
end

-- Text frames and the reason of a close are UTF-8 (RFC 6455, 5.6 and 5.5.1): clients end a connection where they are not.
local function check_utf8(method, text, hint)
  if not kit.is_utf8(text) then
    fail("socket:" .. method .. ": the text is not UTF-8" .. (hint or ""))
  end
end

local function check_text(method, text)
  if type(text) ~= "string" then
    fail("socket:" .. method .. " takes a string, not a " .. type(text))
  end
  return text
end

local socket_meta = {
  __index = {
    send = function(socket, value)
      if value == nil then
        fail("nil is no message")
      end
      local text = value
      if type(value) == "string" then
        check_utf8("send", text, ": socket:send_binary sends bytes")
      else
        local fine
        fine, text = pcall(encode, value)
        if not fine then
          fail(text)
        end
      end
      return say(socket, "send", TEXT, text)
    end,
    send_binary = function(socket, bytes)
      return say(socket, "send_binary", BINARY, check_text("send_binary", bytes))
    end,
    close = function(socket, code, reason)
      code = code == nil and 1000 or code
      if type(code) ~= "number" or code % 1 ~= 0 or code ~= 1000 and (code < 3000 or code > 4999) then
        fail("a WebSocket is closed with 1000, or 3000 to 4999, not with " .. kit.shown_as(code))
      end
      reason = reason == nil and "" or check_text("close", reason)
      if #reason > 123 then
        fail("the reason of a close has at most 123 bytes")
      end
      check_utf8("close", reason)
      return say(socket, "close", code, reason)
    end,
    subscribe = function(socket, channel)
      return say(socket, "subscribe", SUBSCRIBE, check_text("subscribe", channel))
    end,
    unsubscribe = function(socket, channel)
      return say(socket, "unsubscribe", UNSUBSCRIBE, check_text("unsubscribe", channel))
    end,
  },
  __metatable = false,
}

local function call(handler, ...)
  if handler then
    begun(handler)
    local called = handler
    called(...)
  end
end

-- Serves a client until its WebSocket is closed. What answers its request ends with that.
function kit.converse(given)
  local handlers, context = given[1], current[1]
  local request, response = context.request, context.response
  if kit.is_sent(response) then
    fail("a WebSocket cannot begin behind a flush")
  end
  local _, fields = kit.finish(request, response)
  kit.close_head(response)
  kit.note_session(request)
  local out = context.out
  kit.buffer.reset(out)
  out:put(handlers.protocol or "")
  local start, length = kit.buffer.ref(out)
  host.websocket(start, length, nil, fields)
  kit.buffer.reset(out)
  context.request, context.response = false, false
  local socket = setmetatable({}, socket_meta)
  context.socket = socket
  call(handlers.open, socket)
  local wants_letters = handlers.receive and 1 or 0
  while true do
    local kind, text, code = host.socket_receive(wants_letters)
    if kind == "close" then
      socket.is_closed = true
      call(handlers.close, socket, tonumber(code), text)
      break
    elseif text then
      call(handlers.message, socket, text, kind)
    else
      -- A message of a process is one text.
      call(handlers.receive, socket, decode(kind))
    end
  end
  context.socket = false
end
