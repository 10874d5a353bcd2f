-- `request:proxy`: what a handler gives so that a server of an upstream answers in its place.
--
-- Owns the text that tells the host so; `Output::passed_on` reads it. Whether the upstream exists is the host's to say.

local kit = ...

local fail, checked, is_token = kit.fail, kit.checked_field, kit.is_token
local type, tostring, pairs, setmetatable = type, tostring, pairs, setmetatable
local getmetatable, find, sub, concat = debug.getmetatable, string.find, string.sub, table.concat
local url_size, head_size = kit.url_size, kit.head_size

local passed_meta = { __metatable = false }

-- A path, perhaps with a query, as it stands in a request line; nil keeps that of the request.
local function checked_path(path)
  if path == nil then
    return ""
  elseif type(path) ~= "string" or sub(path, 1, 1) ~= "/" or find(path, "[^\33-\126]") or find(path, "#", 1, true) then
    fail("`path` begins with a slash and is percent-encoded, not " .. kit.shown_as(path))
  elseif #path > url_size then
    fail("`path` is longer than " .. url_size .. " bytes")
  end
  return path
end

-- Adds the lines of a field; what they are together then.
local function add_field(lines, size, name, value)
  value = checked(name, value)
  lines[#lines + 1], lines[#lines + 2] = name, value
  return size + #name + #value
end

-- The request goes on to a server of the upstream with this name, if the handler gives what this does.
function kit.pass_on(request, name, options)
  if type(request) ~= "table" or getmetatable(request) ~= kit.request_meta then
    fail("proxy is called with a colon: request:proxy(...)")
  end
  kit.require_own(request)
  if not is_token(name) then
    fail("proxy takes the name of an [[upstream]], not " .. kit.shown_as(name))
  elseif options ~= nil and type(options) ~= "table" then
    fail("proxy takes a table of options behind the name, not " .. kit.shown_as(options))
  end
  for key in pairs(options or {}) do
    if key ~= "path" and key ~= "headers" then
      fail("proxy knows no option '" .. kit.text_of(key) .. "': there are path and headers")
    end
  end
  local lines = { name, checked_path(options and options.path) }
  local headers = options and options.headers
  if headers ~= nil and type(headers) ~= "table" then
    fail("`headers` is a table of fields, not " .. kit.shown_as(headers))
  end
  local size = 0
  for field, value in pairs(headers or {}) do
    size = add_field(lines, size, field, value)
    if size > head_size then
      fail("the fields in `headers` are longer than " .. head_size .. " bytes together")
    end
  end
  return setmetatable({ concat(lines, "\n") }, passed_meta)
end

function kit.is_passed_on(value)
  return type(value) == "table" and getmetatable(value) == passed_meta
end

-- Writes for the host what was given; why it cannot, otherwise.
function kit.write_passed_on(out, response, given)
  if kit.is_sent(response) or #out > 0 then
    return "a handler that gives request:proxy writes nothing: another server answers"
  end
  out:put(tostring(given[1]))
end
