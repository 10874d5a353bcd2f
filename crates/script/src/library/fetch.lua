-- `fetch`: asks another server, and waits for its answer.
--
-- Owns what a page may say of a request, and what it gets of an answer. The host knows how to ask.

local kit = ...

local fail = kit.fail

local host = kit.host
local type, tostring, tonumber, pcall, pairs = type, tostring, tonumber, pcall, pairs
local setmetatable = setmetatable
local concat, find, gmatch = table.concat, string.find, string.gmatch
local lower, upper = string.lower, string.upper

local timeout_usual, url_size = kit.fetch_timeout, kit.url_size
local name_size, value_size, head_size = kit.field_name, kit.field_value, kit.head_size

-- What was left out. Nobody writes into it.
local none = {}

local options_known = { body = true, headers = true, json = true, method = true, stream = true, timeout = true }

-- Fields as lines.
local function lines_of(headers, is_json)
  if type(headers) ~= "table" then
    fail("fetch: 'headers' must be a table")
  end
  local lines, count, spelt, size = {}, 0, {}, 0
  for name, value in pairs(headers) do
    if not kit.is_token(name) then
      fail("fetch: not a header name: " .. tostring(name))
    end
    if type(value) == "number" then
      value = tostring(value)
    end
    if type(value) == "string" and #value > value_size then
      fail("fetch: the value of '" .. name .. "' is longer than " .. value_size .. " bytes")
    end
    if type(value) ~= "string" or find(value, "[%z\1-\8\10-\31\127]") then
      fail("fetch: the value of '" .. name .. "' must be a string of one line without control characters")
    end
    local plain = lower(name)
    if spelt[plain] then
      fail("fetch: '" .. spelt[plain] .. "' and '" .. name .. "' are one header")
    end
    spelt[plain] = name
    size = size + #name + #value
    if size > head_size then
      fail("fetch: the headers are longer than " .. head_size .. " bytes together")
    end
    is_json = is_json and plain ~= "content-type"
    lines[count + 1], lines[count + 2], lines[count + 3], lines[count + 4] = name, "\n", value, "\n"
    count = count + 4
  end
  if is_json then
    lines[count + 1] = "content-type\napplication/json\n"
  end
  return concat(lines)
end

local function body_of(options)
  local body, value = options.body, options.json
  if value ~= nil then
    if body ~= nil then
      fail("fetch takes 'body' or 'json', not both")
    end
    local fine, text = pcall(kit.encode_json, value)
    if not fine then
      fail("fetch: " .. text)
    end
    return text
  end
  if type(body) == "number" then
    body = tostring(body)
  end
  if body ~= nil and type(body) ~= "string" then
    fail("fetch: 'body' must be a string, not a " .. type(body))
  end
  return body
end

local function method_of(options, body)
  local method = options.method or (body and "POST" or "GET")
  if type(method) ~= "string" or #method > name_size or not find(method, "^%a+$") then
    fail("fetch: not a method: " .. tostring(method))
  end
  return upper(method)
end

local function timeout_of(options)
  local timeout = options.timeout or timeout_usual
  if type(timeout) ~= "number" or not (timeout > 0) then
    fail("fetch: 'timeout' must be seconds above 0, not " .. kit.shown_as(timeout))
  end
  return timeout
end

-- What the host replied to who wanted a piece.
local function piece_of(failure, piece)
  if failure then
    return nil, failure
  end
  return piece
end

-- The number of an answer that is read piece by piece.
local function number_of(answer, name)
  if type(answer) ~= "table" then
    fail(name .. " is called with a colon: answer:" .. name .. "()")
  end
  if type(answer.stream) ~= "number" then
    fail(name .. ": the answer is whole; fetch it with 'stream = true' to read it piece by piece")
  end
  return answer.stream
end

local function read(answer)
  return piece_of(host.answer_read(number_of(answer, "read")))
end

local answer_meta = {
  __index = {
    json = function(answer)
      if type(answer) ~= "table" then
        fail("json is called with a colon: answer:json()")
      end
      if answer.stream then
        fail("json: the answer is read piece by piece")
      end
      return kit.decode_json(answer.body)
    end,
    read = read,
    pieces = function(answer)
      number_of(answer, "pieces")
      return function()
        local piece, failure = read(answer)
        if failure then
          fail("pieces: " .. failure)
        end
        return piece
      end
    end,
    close = function(answer)
      host.answer_close(number_of(answer, "close"))
    end,
  },
  __metatable = false,
}
kit.marks["answer of fetch"] = answer_meta

-- What the host replied. What cannot be fetched is no error of the page: it gets nil and why.
local function answered(failure, status, lines, body, stream)
  if failure then
    return nil, failure
  end
  local headers, cookies = {}, {}
  for name, value in gmatch(lines, "([^\n]*)\n([^\n]*)\n") do
    if name == "set-cookie" then
      cookies[#cookies + 1] = value
    end
    local before = headers[name]
    -- A cookie may have a comma in it (RFC 9110, 5.3).
    headers[name] = before and name ~= "set-cookie" and before .. ", " .. value or value
  end
  local answer = { status = tonumber(status), headers = headers, cookies = cookies }
  if stream then
    answer.stream = tonumber(stream)
  else
    answer.body = body
  end
  return setmetatable(answer, answer_meta)
end

kit.publish("fetch", function(url, options)
  if type(url) ~= "string" then
    fail("fetch takes a URL, not a " .. type(url))
  elseif #url > url_size then
    fail("fetch: the URL is longer than " .. url_size .. " bytes")
  end
  options = options or none
  if type(options) ~= "table" then
    fail("fetch: the options must be a table, not a " .. type(options))
  end
  for name in pairs(options) do
    if not options_known[name] then
      fail("fetch has no option '" .. tostring(name) .. "'")
    end
  end
  local body = body_of(options)
  local method, timeout = method_of(options, body), timeout_of(options)
  local headers, is_json, stream = options.headers, options.json ~= nil, options.stream
  if stream ~= nil and type(stream) ~= "boolean" then
    fail("fetch: 'stream' must be true or false, not " .. kit.shown_as(stream))
  end
  local lines = (headers or is_json) and lines_of(headers or none, is_json) or ""
  -- It may wait for long, and keeps nothing for that time that it has no use for.
  options, headers = nil, nil
  return answered(host.fetch(method, url, lines, timeout, body, stream and 1 or 0))
end)
