local escape = require("escape")
local part = require("part")

local rows = {}
for i = 1, 1000 do
  rows[i] = { id = i, name = "Row name <" .. i .. ">", price = i * 7 % 1000 }
end

local pieces = { "<!doctype html>\n<title>Table</title>\n" }
for i = 1, 20 do
  pieces[#pieces + 1] = part(i)
end
pieces[#pieces + 1] = "<table>\n"
for i = 1, #rows do
  local row = rows[i]
  pieces[#pieces + 1] = "<tr><td>" .. escape(row.id) .. "</td><td>" .. escape(row.name) .. "</td><td>" .. escape(row.price)
    .. "</td></tr>\n"
end
pieces[#pieces + 1] = "</table>\n"
ngx.print(table.concat(pieces))
