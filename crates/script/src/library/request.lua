-- `request` and `response` as pages see them.
--
-- Owns when the host is asked: at the first look at a part, which the table then keeps.

local kit = ...

local fail = kit.fail

local type, tostring, rawset, rawget, setmetatable = type, tostring, rawset, rawget, setmetatable
local pairs, select, unpack = pairs, select, unpack
local current = kit.current
local concat, find, lower, sub = table.concat, string.find, string.lower, string.sub
local format = string.format
local getmetatable = debug.getmetatable

local parts = kit.parts
local name_size, value_size, head_size = kit.field_name, kit.field_value, kit.head_size
local hint, hint_count, hint_size = kit.hint, kit.hint_count, kit.hint_size

-- Where a request keeps its session.
local SESSION = {}
kit.session_place = SESSION

-- Raises an error where this is the request of another run.
local function require_own(request)
  local context = current[1]
  if context.request ~= request then
    if context.socket then
      fail("the request of a WebSocket is over: read what is needed of it before websocket{} is given")
    end
    fail("this request is not the one that is answered here")
  end
end
kit.require_own = require_own

-- Whether the request of the run that is under way came over an encrypted connection.
function kit.is_encrypted()
  return kit.received("scheme", parts.scheme) == "https"
end

kit.request_meta = {
  __index = function(request, name)
    local part = parts[name]
    local value
    if part then
      -- The host answers for the run that is under way.
      require_own(request)
      value = kit.received(name, part)
    elseif name == "json" then
      value = kit.decode_body(request.body)
    elseif name == "signed_cookies" then
      value = kit.signed_cookies(request)
    elseif name == "session" then
      return kit.session_of(request)
    elseif name == "proxy" then
      return kit.pass_on
    elseif name == "parameters" then
      value = {}
    end
    rawset(request, name, value)
    return value
  end,
  __newindex = function(request, name, value)
    if name == "session" then
      kit.set_session(request, value)
    else
      rawset(request, name, value)
    end
  end,
  __metatable = false,
}

-- Fields whose value is no list: two of them would contradict each other (RFC 9110, 5.3).
local single = {}
for name in ([[
  age content-disposition content-location content-range content-type etag expires last-modified location retry-after
]]):gmatch("%S+") do
  single[name] = true
end

-- Whether this can be the name of a field or a cookie (RFC 9110, 5.6.2).
local function is_token(name)
  return type(name) == "string" and #name <= name_size and find(name, "^[%w!#$%%&'*+.^_`|~-]+$") ~= nil
end
kit.is_token = is_token

-- A field as the wire can carry it, or an error at the place that sets it (RFC 9110, 5.5 and 5.6.2).
local function checked(name, value)
  if not is_token(name) then
    fail("not a field name: " .. tostring(name))
  end
  if type(value) == "number" then
    value = tostring(value)
  end
  if type(value) == "string" and #value > value_size then
    fail("the value of '" .. name .. "' is longer than " .. value_size .. " bytes")
  end
  if type(value) ~= "string" or find(value, "[%z\1-\8\10-\31\127]") then
    fail("the value of '" .. name .. "' must be a string of one line without control characters, or a list of them")
  end
  return value
end

kit.checked_field = checked

-- A list of values, each of which makes a field of its own. It is copied: what becomes of the page's own table says nothing.
local function checked_list(name, values)
  local list, count, size = {}, #values, 0
  for index = 1, count do
    list[index] = checked(name, values[index])
    size = size + #list[index]
    if size > head_size then
      fail("the values of '" .. name .. "' are longer than " .. head_size .. " bytes together")
    end
  end
  for key in pairs(values) do
    if type(key) ~= "number" or key < 1 or key > count or key % 1 ~= 0 then
      fail("the values of '" .. tostring(name) .. "' are a list: there is one at '" .. tostring(key) .. "'")
    end
  end
  if count == 0 then
    fail("the list of values of '" .. tostring(name) .. "' is empty: nil takes the field away")
  end
  if count > 1 and single[lower(name)] then
    fail("'" .. name .. "' has one value, not " .. count)
  end
  return list
end

-- Whether the head was sent. Its status is kept in the same place from then on.
local function is_sent(response)
  return rawget(response, 4) ~= nil
end
kit.is_sent = is_sent

kit.not_own_response = "this answer is sent, or not the one that is made here (a spawned process makes none): nothing can be added to it"

-- Nothing of the head can be changed by another run, nor any more when it was sent. Raised where the page does so.
local function changed_head(response)
  if current[1].response ~= response then
    fail(kit.not_own_response)
  end
  if is_sent(response) then
    fail("the head was sent: status and headers are set before the first flush")
  end
end

local function copied(list)
  local copy = {}
  for index = 1, #list do
    copy[index] = list[index]
  end
  return copy
end

-- Keeps the value of a field: the values by the names as they were last spelt, and these by the names in small letters, because a name
-- that is spelt in another way is the same field.
local function set_field(response, name, value)
  local store, spelt = rawget(response, 2), rawget(response, 5)
  if not store then
    store, spelt = {}, {}
    rawset(response, 2, store)
    rawset(response, 5, spelt)
  end
  local plain = lower(name)
  local before = spelt[plain]
  if before then
    store[before] = nil
  end
  store[name], spelt[plain] = value, name
end

-- A value as it may go out. What is set as Location stays on the site, as with `redirect`: it may come from the client.
local function checked_value(name, value)
  if type(value) == "table" then
    value = checked_list(name, value)
    if lower(name) ~= "location" then
      return value
    end
    value = value[1]
  end
  value = checked(name, value)
  return lower(name) == "location" and kit.own_target(name, value) or value
end

local function fields_of(response)
  local fields = setmetatable({}, {
    __index = function(_, name)
      local store, spelt = rawget(response, 2), rawget(response, 5)
      local value = store and type(name) == "string" and #name <= name_size and store[spelt[lower(name)]] or nil
      -- What a page does to a list that it asked for would go past the checks.
      return type(value) == "table" and copied(value) or value
    end,
    __newindex = function(_, name, value)
      changed_head(response)
      if value ~= nil then
        value = checked_value(name, value)
      elseif type(name) ~= "string" or #name > name_size then
        return
      end
      set_field(response, name, value)
    end,
    __metatable = false,
  })
  rawset(response, "headers", fields)
  return fields
end

-- The same values with texts in the place of tables.
local function texts(...)
  local values, count = { ... }, select("#", ...)
  for index = 1, count do
    if type(values[index]) == "table" then
      values[index] = kit.text_of(values[index])
    end
  end
  return unpack(values, 1, count)
end

local methods = {}
kit.response_methods = methods

-- A method that is called with a point has something else in the place of the response.
local function check_self(response, name)
  if type(response) ~= "table" or getmetatable(response) ~= kit.response_meta then
    fail(name .. " is called with a colon: response:" .. name .. "(...)")
  end
end
kit.check_self = check_self

local function check_text(value, number)
  local meta = getmetatable(value)
  if type(meta) ~= "table" or not meta.__tostring then
    local what = value == nil and "nil" or "a " .. type(value)
    fail("write takes strings and numbers: argument " .. number .. " is " .. what)
  end
end

-- Whether something shows itself as a text among so many values, all of which have to be texts or to do so.
local function check_texts(number, count, first, ...)
  if number > count then
    return false
  end
  local kind = type(first)
  if kind == "string" or kind == "number" then
    return check_texts(number + 1, count, ...)
  end
  check_text(first, number)
  check_texts(number + 1, count, ...)
  return true
end

-- Adds to the page's output.
function methods.write(response, ...)
  local context = current[1]
  if context.response ~= response then
    check_self(response, "write")
    fail(kit.not_own_response)
  end
  local out = context.out
  if check_texts(1, select("#", ...), ...) then
    out:put(texts(...))
  else
    out:put(...)
  end
end

local redirects = { [301] = true, [302] = true, [303] = true, [307] = true, [308] = true }

-- Sends the client elsewhere; the rest of the page still runs.

-- Sets status and target of a redirect.
local function redirect_to(response, location, status)
  if status ~= nil and type(status) ~= "number" then
    fail("redirect takes its status as a number, not " .. kit.shown_as(status))
  elseif status ~= nil and not redirects[status] then
    fail("redirect takes the status 301, 302, 303, 307 or 308, not " .. tostring(status))
  end
  response.status = status or 302
  set_field(response, "Location", location)
end

function methods.redirect(response, target, status)
  check_self(response, "redirect")
  changed_head(response)
  redirect_to(response, kit.own_target("redirect", target), status)
end

function methods.redirect_external(response, target, status)
  check_self(response, "redirect_external")
  changed_head(response)
  redirect_to(response, kit.other_target("redirect_external", target), status)
end

-- Sets a cookie. Options: signed, path, domain, max_age (s), same_site, secure, and http_only, which is on.
function methods.cookie(response, name, value, options)
  check_self(response, "cookie")
  changed_head(response)
  local cookies = rawget(response, 3)
  if not cookies then
    cookies = { size = 0 }
    rawset(response, 3, cookies)
  end
  local line = kit.cookie_line(name, value, options == nil and {} or options)
  cookies.size = cookies.size + #line
  if cookies.size > head_size then
    fail("the cookies are longer than " .. head_size .. " bytes together")
  end
  cookies[#cookies + 1] = line
end

-- Gives the client links before the answer. Their number and size are kept with the response.
function methods.early_hints(response, ...)
  check_self(response, "early_hints")
  changed_head(response)
  local given = rawget(response, 6) or { count = 0, size = 0 }
  rawset(response, 6, given)
  local links = { ... }
  for index = 1, select("#", ...) do
    local link = links[index]
    if type(link) ~= "string" then
      fail("early_hints takes links as strings: argument " .. index .. " is " .. kit.shown_as(link))
    end
    given.count, given.size = given.count + 1, given.size + #link
    if given.count > hint_count or given.size > hint_size then
      fail("a page gives at most " .. hint_count .. " links with " .. hint_size .. " bytes before its answer")
    end
    local problem = hint(link)
    if problem then
      fail(problem)
    end
  end
end

local function checked_status(status)
  if type(status) == "string" then
    fail("a status is a number, not the string " .. format("%q", sub(status, 1, name_size)))
  elseif type(status) ~= "number" or status < 200 or status > 599 or status % 1 ~= 0 then
    fail("not a status: " .. tostring(status))
  end
  return status
end

kit.response_meta = {
  __index = function(response, name)
    if name == "headers" then
      return fields_of(response)
    elseif name == "status" then
      return rawget(response, 4) or nil
    end
    return methods[name]
  end,
  __newindex = function(response, name, value)
    if name ~= "status" then
      fail("'response." .. tostring(name) .. "' cannot be set: there are status and headers")
    end
    changed_head(response)
    rawset(response, name, checked_status(value))
  end,
  __metatable = false,
}

local function has_field(store, wanted)
  for name in pairs(store or {}) do
    if lower(name) == wanted then
      return true
    end
  end
  return false
end

-- The head is sent. Where there is no status any more, setting it is seen.
function kit.close_head(response)
  rawset(response, 4, rawget(response, "status") or false)
  rawset(response, "status", nil)
end

-- Whether the type of the answer was set.
function kit.has_type(response)
  return has_field(rawget(response, 2), "content-type")
end

-- Adds a name and a value behind so many pieces of lines; how many there are then. Native code makes no closures.
local function add_line(lines, count, name, value)
  lines[count + 1], lines[count + 2], lines[count + 3], lines[count + 4] = name, "\n", checked(name, value), "\n"
  return count + 4
end

-- The name of the longest value among lines of add_line, and its bytes.
local function largest_in(lines, count)
  local name, size = "", -1
  for index = 1, count, 4 do
    if #lines[index + 2] > size then
      name, size = lines[index], #lines[index + 2]
    end
  end
  return name, size
end

-- What was set, for the host: a status or nil, and names and values as lines or nil.
function kit.finish(request, response)
  local store = rawget(response, 2)
  local status = rawget(response, "status")
  -- rawset goes past the checks at the assignment, so what goes out is checked once more.
  if status ~= nil then
    checked_status(status)
  end
  local cookies, session = rawget(response, 3), rawget(request, SESSION)
  if not store and not cookies and not session then
    return status
  end
  local lines, count = {}, 0
  for name, value in pairs(store or {}) do
    if type(value) == "table" then
      for index = 1, #value do
        count = add_line(lines, count, name, value[index])
      end
    else
      count = add_line(lines, count, name, value)
    end
  end
  for index = 1, cookies and #cookies or 0 do
    count = add_line(lines, count, "set-cookie", cookies[index])
  end
  if session then
    local line = kit.session_line(session)
    if line then
      count = add_line(lines, count, "set-cookie", line)
    end
    -- What was made for one browser is kept by that one alone.
    if not has_field(store, "cache-control") then
      count = add_line(lines, count, "cache-control", "private")
    end
  end
  -- More pieces than bytes are too many, whatever is in them.
  local head = count <= head_size and concat(lines)
  if not head or #head > head_size then
    -- The page is over, so no line tells which was too much.
    local largest, size = largest_in(lines, count)
    fail("the fields of the answer are longer than " .. head_size .. " bytes together; the largest is '" .. largest .. "', with " .. size)
  end
  return status, head
end
