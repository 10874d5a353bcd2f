-- Middleware that any module can use.

local M = {}

-- Answers are for the moment, and of no use within other sites' pages.
function M.fields(request, response, next)
  response.headers["Cache-Control"] = "no-store"
  response.headers["X-Content-Type-Options"] = "nosniff"
  return next()
end

-- Bodies have to be JSON; a browser sends that to another site's server only when that server allows it.
function M.json_only(request, response, next)
  local kind = request.headers["content-type"] or ""
  if not kind:lower():find("^application/json") then
    return 415, { problem = "send application/json" }
  end
  local fine, value = pcall(function() return request.json end)
  if not fine or type(value) ~= "table" then
    return 400, { problem = "the body is no JSON object" }
  end
  return next()
end

return M
