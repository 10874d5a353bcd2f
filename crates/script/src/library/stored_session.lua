-- Sessions that are kept in the store: the cookie is a random name, and what the session holds stays on the server.
--
-- Owns how a session is found by its cookie, written and deleted. When that is done is session.lua's.

local kit = ...

local records, crypto, now, age = kit.records, kit.crypto, kit.now, kit.session_age
local find, format, floor = string.find, string.format, math.floor
local new_buffer = kit.buffer.new
local put_item, put_items, put_step, execute = records.put_item, records.put_items, records.put_step, records.execute
local size_max = kit.stored_session

local NAME = "session"
-- Bytes of a name, which nobody guesses; and what they are as a cookie.
local NAME_BYTES, COOKIE_FORM = 32, "^[%w_-]+$"
local COOKIE_SIZE = #crypto.base64url(("x"):rep(NAME_BYTES))
local JSON = "2"
local database = { name = "0" }

local stored = {}

-- Whoever reads the store learns no cookie, and a session of one site is none of another.
local function key_of(name)
  return "session:" .. crypto.hex(crypto.sha256(kit.site() .. "\0" .. name))
end

-- What the client's cookie leads to: the values and whether half of their time is over; what is known of the session is noted.
function stored.receive(request, kept)
  return kit.first_cookie(request, NAME, function(name)
    if #name ~= COOKIE_SIZE or not find(name, COOKIE_FORM) then
      return nil
    end
    local values, about = records.get(database, key_of(name))
    if type(values) ~= "table" then
      return nil
    end
    kept.name, kept.version = name, about.version
    return values, about.expires_at - now() < age / 2
  end)
end

local function expiry()
  return format("%.0f", floor((now() + age) * 1000))
end

local function order()
  local out = new_buffer()
  put_item(out, "0")
  return out
end

local function done(out)
  local outcome, why = execute("request.session", out)
  if outcome == nil then
    kit.fail_for_store("request.session: " .. why)
  end
  return outcome == "1"
end

local function delete(out, name)
  put_items(out, "delete", database.name, key_of(name))
  put_item(out, "")
end

-- Writes a session; its cookie, or nil where it was revoked meanwhile.
function stored.send(kept, text)
  if #text > size_max then
    return nil, #text
  end
  local out, name = order(), kept.name
  local is_new = not name or kept.is_replaced
  if is_new then
    if name then
      delete(out, name)
    end
    name = crypto.base64url(crypto.random(NAME_BYTES))
  end
  -- One that is no longer there was revoked. One that is only to live on is what it was.
  local condition = is_new and "absent" or text == kept.before and kept.version or "present"
  put_step(out, database, key_of(name), JSON, text, expiry(), condition)
  local is_there = done(out)
  return (is_there or condition == kept.version) and name or false
end

-- Ends a session.
function stored.drop(kept)
  if kept.name then
    local out = order()
    delete(out, kept.name)
    done(out)
  end
end

kit.stored_sessions = stored
