-- Cookies as lines of an answer, and signed ones both ways.
--
-- Owns the form of a signed cookie: value, time of expiry and code, the first and the last in base64url. The code is that of
-- keys.rs. Cookies come from clients: what is not in exactly this form is no cookie.

local kit = ...

local fail = kit.fail

local type, tostring, tonumber, pairs = type, tostring, tonumber, pairs
local setmetatable, rawset = setmetatable, rawset
local concat, find, match, format = table.concat, string.find, string.match, string.format
local ceil, floor, min = math.ceil, math.floor, math.min
local now, sign, verify = kit.now, kit.sign, kit.verify
local base64url, unbase64url = kit.crypto.base64url, kit.crypto.unbase64url
local size_max, age_default, is_secure = kit.cookie_size, kit.session_age, kit.secure_cookies == 1
local value_size, tried_max = kit.field_value, kit.cookies_tried

-- Bytes of a code in base64url.
local CODE_SIZE = 43

-- A value with its time and the code of both, for a cookie of this name. `kept_as` is the name that is signed.
-- `hint` gives what is said besides where it is too large.
function kit.signed(name, kept_as, value, expires, hint)
  local time = "." .. format("%d", expires) .. "."
  -- It is not signed to find out: that cannot be interrupted.
  local size = #name + ceil(#value * 4 / 3) + #time + CODE_SIZE
  if size > size_max then
    local told = "the cookie '" .. name .. "' would have " .. size .. " bytes, signed; browsers keep " .. size_max
    fail(hint and told .. hint() or told)
  end
  return base64url(value) .. time .. base64url(sign(kept_as, expires, value))
end

-- What `signed` was given, and until when it is good; nil where it was not given it, or that was too long ago.
function kit.verified(kept_as, token)
  if #token > size_max then
    return nil
  end
  local value, digits, code = match(token, "^([%w_-]*)%.([1-9]%d*)%.([%w_-]+)$")
  if not value or #digits > 15 then
    return nil
  end
  local expires = tonumber(digits)
  value, code = unbase64url(value), unbase64url(code)
  if not value or not code or expires <= now() or verify(kept_as, expires, value, code) == 0 then
    return nil
  end
  return value, expires
end

-- What `read` makes of the first cookie of this name that is one of this site's. A client sends several: a page of a domain beside this
-- one can set one of the same name, which says nothing about the others.
function kit.first_cookie(request, name, read)
  local tokens = request.cookie_lists[name]
  for index = 1, tokens and min(#tokens, tried_max) or 0 do
    local value, about = read(tokens[index])
    if value ~= nil then
      return value, about
    end
  end
  return nil
end

-- The cookies of a request that are signed, each verified when it is looked at.
function kit.signed_cookies(request)
  return setmetatable({}, {
    __index = function(cookies, name)
      local value = kit.first_cookie(request, name, function(token)
        return kit.verified(name, token)
      end)
      if value then
        rawset(cookies, name, value)
      end
      return value
    end,
    __metatable = false,
  })
end

local options_known = {
  domain = true, http_only = true, max_age = true, path = true, same_site = true, secure = true, signed = true,
}

-- An option that is not known is a misspelt one: what it was to forbid would be allowed.
local function check_options(name, options)
  if type(options) ~= "table" then
    fail("the options of the cookie '" .. tostring(name) .. "' are a table, not a " .. type(options))
  end
  for option in pairs(options) do
    if not options_known[option] then
      fail(
        "a cookie has no option '" .. tostring(option)
          .. "': there are domain, http_only, max_age, path, same_site, secure and signed"
      )
    end
  end
end

local same_sites = { Strict = true, Lax = true, None = true }

-- When a cookie that is signed now is no longer good: with the browser's own copy, or after the age of a session.
local function expiry_of(options)
  local age = options.max_age or age_default
  local expires = floor(now() + age)
  return expires > 0 and expires or 1
end

-- A cookie as the wire can carry it (RFC 6265, 4.1.1), kept from scripts and from other sites unless told otherwise.
function kit.cookie_line(name, value, options)
  if not kit.is_token(name) then
    fail("not the name of a cookie: " .. tostring(name))
  end
  check_options(name, options)
  local age = options.max_age
  if age ~= nil and (type(age) ~= "number" or not (age >= -1e12 and age <= 1e12)) then
    fail("max_age is a number of seconds, not " .. kit.shown_as(age))
  end
  value = type(value) == "number" and tostring(value) or value
  if type(value) == "string" and options.signed then
    value = kit.signed(name, name, value, expiry_of(options))
  end
  if type(value) ~= "string" then
    fail("the value of the cookie '" .. name .. "' is a string or a number, not a " .. type(value))
  elseif #value > value_size then
    fail("the value of the cookie '" .. name .. "' is longer than " .. value_size .. " bytes")
  elseif find(value, '[%c%s",;\\\127-\255]') then
    fail("the value of the cookie '" .. name .. "' holds what a cookie cannot: encode it, or sign it")
  end
  local line, count = { name, "=", value }, 3
  local function add(attribute, what)
    if type(what) ~= "string" or #what > value_size or find(what, "[%c;]") then
      fail("the " .. attribute .. " of the cookie '" .. name .. "' is not right: " .. tostring(what))
    end
    line[count + 1], line[count + 2], line[count + 3], line[count + 4] = "; ", attribute, "=", what
    count = count + 4
  end
  add("Path", options.path or "/")
  if options.domain then
    add("Domain", options.domain)
  end
  if age then
    add("Max-Age", format("%d", age))
  end
  local same_site = options.same_site or "Lax"
  if not same_sites[same_site] then
    fail("same_site is Strict, Lax or None, not " .. tostring(same_site))
  end
  add("SameSite", same_site)
  local secure = options.secure
  if secure == nil then
    secure = is_secure or kit.is_encrypted()
  end
  if same_site == "None" and not secure then
    fail("same_site None takes secure = true: browsers drop the cookie '" .. name .. "' without it")
  end
  return concat(line) .. (options.http_only == false and "" or "; HttpOnly") .. (secure and "; Secure" or "")
end
