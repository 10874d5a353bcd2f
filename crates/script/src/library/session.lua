-- `request.session`: a table that comes back with the next request of the same browser, as JSON in one signed cookie, or in the store.
--
-- Owns when it is read (at the first look) and when it is sent (when it is another one, or half of its time is over). What is in the store is
-- stored_session.lua's.

local kit = ...

local fail = kit.fail

local type, error, pcall, next, tostring, rawget, rawset = type, error, pcall, next, tostring, rawget, rawset
local floor = math.floor
local now, age = kit.now, kit.session_age

local NAME = "session"
-- What is signed in the place of the name is no name of a cookie, so that no cookie that a page signs is a session.
local KEPT_AS = "session="

-- Where a request keeps its session; nobody else has this key.
local PLACE = kit.session_place

-- The page is over when its session turns out to hold what cannot be kept, so no line tells what put it there: the field does.
local function refused_field(values)
  for name, value in next, values do
    if not pcall(kit.encode_json, value) then
      return "." .. name
    end
  end
  return ""
end

-- As JSON. The order of an unchanged table's fields does not change.
local function text_of(values)
  for name in next, values do
    if type(name) ~= "string" then
      error("request.session has fields with names, not with a " .. type(name) .. ": " .. tostring(name), 0)
    end
  end
  local fine, text = pcall(kit.encode_json, values)
  if not fine then
    error("request.session" .. refused_field(values) .. ": " .. text, 0)
  end
  return text
end

-- The page is over when its session turns out to be too large, so no line tells what made it so: its largest field does.
local function largest_of(values)
  local size_max, largest = -1, nil
  for name, value in next, values do
    local size = #kit.encode_json(value)
    if size > size_max then
      size_max, largest = size, name
    end
  end
  return "; the largest field of request.session is '" .. tostring(largest) .. "', with " .. size_max
end

local stored = kit.sessions_stored == 1 and kit.stored_sessions

local function verified(token)
  return kit.verified(KEPT_AS, token)
end

-- What the client sent: values, and whether half of their time is over; nil where that is no session.
local function received(request, kept)
  if stored then
    return stored.receive(request, kept)
  end
  local text, expires = kit.first_cookie(request, NAME, verified)
  if not text then
    return nil
  end
  return kit.decode_json(text), expires - now() < age / 2
end

-- The session of a request, which is empty where none came.
function kit.session_of(request)
  kit.require_own(request)
  local kept = rawget(request, PLACE)
  if not kept then
    kept = {}
    local values, is_old = received(request, kept)
    kept.values = values or {}
    if values then
      kept.before, kept.is_old = text_of(values), is_old
    end
    -- Its cookie is made when the run is over, and nothing can be asked of the request.
    kept.is_secure = kit.secure_cookies == 1 or kit.is_encrypted()
    rawset(request, PLACE, kept)
  end
  return kept.values
end

-- Puts another one in its place; nil ends it.
function kit.set_session(request, values)
  if values ~= nil and type(values) ~= "table" then
    fail("request.session is a table, not a " .. type(values))
  end
  kit.session_of(request)
  local kept = rawget(request, PLACE)
  kept.values, kept.is_replaced = values or {}, true
end

-- The cookie of a session that somebody looked at; nil where it is what the client has already.
function kit.session_line(kept)
  local values = kept.values
  if next(values) == nil then
    if stored then
      stored.drop(kept)
    end
    return kept.before and kit.cookie_line(NAME, "", { max_age = 0, secure = kept.is_secure })
  end
  local text = text_of(values)
  if text == kept.before and not kept.is_old and not (stored and kept.is_replaced) then
    return nil
  end
  if stored then
    local name, size = stored.send(kept, text)
    if size then
      error("request.session is larger than " .. kit.stored_session .. " bytes: it has " .. size .. largest_of(values), 0)
    end
    return kit.cookie_line(NAME, name or "", { max_age = name and age or 0, secure = kept.is_secure })
  end
  local token = kit.signed(NAME, KEPT_AS, text, floor(now() + age), function()
    return largest_of(values)
  end)
  return kit.cookie_line(NAME, token, { max_age = age, secure = kept.is_secure })
end

local function state_of(kept)
  return next(kept.values) == nil and "" or text_of(kept.values)
end

-- The head is sent, and with it what there is of the session now.
function kit.note_session(request)
  local kept = rawget(request, PLACE)
  if kept then
    kept.sent = state_of(kept)
  end
end

-- An answer ends whose head was sent before: what the session has become since could not be kept.
function kit.check_session(request)
  local kept = rawget(request, PLACE)
  if kept and state_of(kept) ~= (kept.sent or kept.before or "") then
    error("request.session was changed behind the first flush: it is not kept", 0)
  end
end
