local escape = require("escape")

local pieces = { "<!doctype html>\n<title>Request</title>\n<ul>\n" }
local function list(fields)
  for name, value in pairs(fields) do
    pieces[#pieces + 1] = "<li>" .. escape(name) .. ": " .. escape(value) .. "</li>\n"
  end
end
list(ngx.req.get_uri_args())
pieces[#pieces + 1] = "</ul>\n<ul>\n"
list(ngx.req.get_headers())
pieces[#pieces + 1] = "</ul>\n"
ngx.print(table.concat(pieces))
