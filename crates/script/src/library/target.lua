-- Where the client is sent: targets of `Location`.
--
-- Owns which of them stay on the site. Takes only targets that browsers (WHATWG URL) and everybody else (RFC 3986) read alike, so
-- the text that was judged is the text that is sent. Never looks a name up.

local kit = ...

local fail = kit.fail

local type, tostring = type, tostring
local current = kit.current
local byte, find, format, lower, match, sub = string.byte, string.find, string.format, string.lower, string.match, string.sub

local value_size = kit.field_value

-- What a URI cannot carry as it is (RFC 3986, 2).
local NO_URI = "[^%w%-._~:/?#%[%]@!$&'()*+,;=%%]"

local DEFAULT_PORTS = { http = ":80", https = ":443" }

local function escape(character)
  return format("%%%02X", byte(character))
end

-- The scheme, the authority and the rest of a URL of HTTP whose host every reader finds in the same place: there is no user before it,
-- no escape in it, and neither a backslash nor one slash too many around it.
local function parts(target)
  local scheme, authority, rest = match(target, "^([hH][tT][tT][pP][sS]?)://([%w%-._:%[%]]+)(.*)$")
  if not scheme or not find(rest, "^[/?#]") and rest ~= "" then
    return nil
  end
  return lower(scheme), lower(authority), rest
end

-- An authority without the port that its scheme has anyway (RFC 9110, 4.2.3).
local function without_default_port(scheme, authority)
  local port = match(authority, ":%d*$")
  if port == ":" or port == DEFAULT_PORTS[scheme] then
    return sub(authority, 1, -#port - 1)
  end
  return authority
end

-- Whether a target stays on the site: a path, or a URL with the host that the client asked for.
local function stays(target)
  local scheme, authority = parts(target)
  if scheme then
    local host = current[1].request.headers.host
    return host and without_default_port(scheme, authority) == without_default_port(scheme, lower(host))
  end
  -- Two slashes begin a host, and what is before a colon is a scheme.
  return not find(target, "^//") and not find(target, "^[^/?#]*:")
end

-- A text without the spaces around it. A pattern would look at every space in it once for each one behind it.
local function trimmed(text)
  local first, last = find(text, "[^ ]") or 1, #text
  while last >= first and byte(text, last) == 32 do
    last = last - 1
  end
  return sub(text, first, last)
end

-- A target without the spaces around it, which no reader takes for a part of it.
local function checked(name, target)
  if type(target) == "string" and #target > value_size then
    fail("the target of " .. name .. " is longer than " .. value_size .. " bytes")
  end
  local plain = type(target) == "string" and trimmed(target) or ""
  if plain == "" or find(plain, "%c") then
    fail(name .. " takes a target, a string without line ends and control characters, not " .. (
      type(target) == "string" and format("%q", target) or tostring(target)
    ))
  end
  return plain
end

-- The value of Location for a target on this site.
function kit.own_target(name, target)
  local plain = checked(name, target)
  if find(plain, "^[^?#]*\\") then
    fail(name .. " stays on this site: browsers take a backslash for a slash, so write `/` or `%5C` in " .. kit.shown_as(target))
  elseif not stays(plain) then
    fail(name .. " stays on this site: it takes a path, or a URL of the site's own, not " .. kit.shown_as(target) .. "; for "
      .. "others there is redirect_external")
  end
  return (kit.string.gsub(plain, NO_URI, escape))
end

-- The value of Location for a URL of any site.
function kit.other_target(name, target)
  local plain = checked(name, target)
  if not parts(plain) or find(plain, "^[^?#]*\\") then
    fail(name .. " takes a URL that begins with http:// or https:// and a host, not " .. kit.shown_as(target))
  end
  return (kit.string.gsub(plain, NO_URI, escape))
end
