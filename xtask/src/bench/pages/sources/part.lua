local escape = require("escape")

return function(n)
  return "<section><h2>Part " .. escape(n) .. "</h2><p>What every page has: " .. escape("a <part> & more") .. "</p></section>\n"
end
