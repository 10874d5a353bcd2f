local references = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }

return function(value)
  if type(value) ~= "string" then
    return tostring(value)
  end
  return (value:gsub("[&<>\"']", references))
end
