-- Riders and their laps. The paths are those below the prefix of the route, /api.

local riders = require("lib.riders")
local guard = require("lib.guard")

local function not_found(what)
  return 404, { problem = "there is no such " .. what }
end

local function list()
  return json.array(riders.names())
end

local function show(request)
  local rider = riders.find(request.parameters.name)
  if not rider then
    return not_found("rider")
  end
  return { name = rider.name, laps = #rider.laps }
end

local function lap(request)
  local rider = riders.find(request.parameters.name)
  local seconds = rider and rider.laps[tonumber(request.parameters.number)]
  if not seconds then
    return not_found("lap")
  end
  return { seconds = seconds, speed = riders.speed(seconds) }
end

-- What a lap of so many seconds would be. A time that is next to nothing has a speed that is no number in JSON.
local function try_lap(request)
  local seconds = request.json.seconds
  if type(seconds) ~= "number" or seconds < 1 or seconds > 3600 then
    return 422, { problem = "seconds is a number from 1 to 3600" }
  end
  return { speed = riders.speed(seconds) }
end

return {
  use = { guard.fields },
  { "GET", "/riders", list },
  { "GET", "/riders/:name", show },
  { "GET", "/riders/:name/laps/:number", lap },
  { "POST", "/laps", try_lap, use = { guard.json_only } },
}
