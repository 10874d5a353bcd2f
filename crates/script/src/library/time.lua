-- `time`, and the times of `os`.
--
-- Owns what they take. What time it is the host says.

local kit = ...

local fail = kit.fail

local type, tostring = type, tostring
local now, to_number, date_size = kit.now, kit.to_number, kit.date_size
local date, time_of, difference = os.date, os.time, os.difftime
local floor = math.floor

-- A year is a number of 32 bits. Beyond so many seconds from 1970 LuaJIT's own gives nil, and a page would print nothing.
local SECONDS_MAX = 6.7e16

local function check_seconds(seconds, name)
  local number = to_number(seconds)
  if number and not (number >= -SECONDS_MAX and number <= SECONDS_MAX) then
    fail("bad argument to '" .. name .. "' (no date is " .. tostring(number) .. " seconds from 1970)")
  end
end

local function date_at(format, seconds)
  if type(format) == "string" and #format > date_size then
    fail("the format of a date is longer than " .. date_size .. " bytes")
  end
  check_seconds(seconds or 0, "date")
  return date(format or "%c", seconds or now())
end
local function http_date(seconds)
  check_seconds(seconds or 0, "http")
  return date("!%a, %d %b %Y %H:%M:%S GMT", seconds or now())
end
-- The fields are read here: LuaJIT's own would call an `__index` from C.
local function moment(fields)
  if fields == nil then
    return floor(now())
  end
  if type(fields) ~= "table" then
    fail("bad argument #1 to 'time' (table expected, got " .. type(fields) .. ")")
  end
  return time_of {
    year = to_number(fields.year),
    month = to_number(fields.month),
    day = to_number(fields.day),
    hour = to_number(fields.hour),
    min = to_number(fields.min),
    sec = to_number(fields.sec),
    isdst = fields.isdst,
  }
end
local function whole_now()
  return floor(now())
end
kit.publish("time", kit.seal("time", { now = whole_now, date = date_at, http = http_date }))
kit.publish("os", kit.seal("os", {
  clock = kit.clock,
  date = date_at,
  difftime = difference,
  time = moment,
}))
