-- From what a module gives to one function that answers a request: by method, or by a table of routes.
--
-- Owns which handler takes a request, what is around it, and what becomes of what it gives. A look-up costs the segments
-- of the path, not the number of routes.

local kit = ...

local fail = kit.fail

local type, error, tostring, select, unpack, pairs = type, error, tostring, select, unpack, pairs
local rawset, rawequal, pcall, setmetatable = rawset, rawequal, pcall, setmetatable
local getinfo = debug.getinfo
local find, sub, match = string.find, string.sub, string.match
local concat = table.concat
local encode, has_type = kit.encode_json, kit.has_type
local begun, born = kit.begun, kit.born

-- In the order of `Allow`.
local methods = { "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS" }
local is_method = {}
for _, name in pairs(methods) do
  is_method[name] = true
end

-- Those by which a module is asked about a channel. No client can send them.
is_method.SUBSCRIBE, is_method.PUBLISH = true, true

-- A handler of all methods is kept under this name.
local ANY = "*"

-- ---- What a module may give ----

-- Errors of this part have no line: they are about a table, and name the entry. The engine names the module.
local function refuse(where, what)
  error(where .. what, 0)
end

local function check_method(name, where)
  if not is_method[name] then
    refuse(where, "'" .. tostring(name) .. "' is no method: there are " .. concat(methods, ", ") .. "; and of channels SUBSCRIBE and PUBLISH")
  end
end

-- The functions around a handler; the first of the list is the outermost.
local function checked_use(use, where)
  if use == nil then
    return {}
  end
  if type(use) ~= "table" then
    refuse(where, "`use` is a list of functions, not a " .. type(use))
  end
  for key, value in pairs(use) do
    if type(key) ~= "number" or type(value) ~= "function" then
      refuse(where, "`use` is a list of functions: there is a " .. type(value) .. " at " .. tostring(key))
    end
    born(value)
  end
  return use
end

-- What a middleware gives; one that gives nothing, or only the first of what `next` gave it, leaves the answer as it is.
local function settled(inner, ...)
  local count = select("#", ...)
  if inner.given and (count == 0 or count == 1 and rawequal((...), inner.given[1])) then
    return unpack(inner.given, 1, inner.count)
  end
  return ...
end

local function kept(inner, ...)
  inner.given, inner.count = { ... }, select("#", ...)
  return ...
end

local function around(middleware, handler)
  return function(request, response)
    begun(middleware)
    local inner, called = {}, middleware
    return settled(inner, called(request, response, function()
      if inner.called then
        fail("next() was called already")
      end
      inner.called = true
      local called = handler
      return kept(inner, called(request, response))
    end))
  end
end

-- Which handler is within the middleware that is around it.
local inner_of = setmetatable({}, { __mode = "k" })

local function wrapped(use, handler)
  local inner = inner_of[handler] or handler
  for index = #use, 1, -1 do
    handler = around(use[index], handler)
    inner_of[handler] = inner
  end
  return handler
end

-- Handlers by method from a function or a table of them.
local function checked_handlers(given, where)
  if type(given) == "function" then
    born(given)
    return { [ANY] = given }
  end
  if type(given) ~= "table" then
    refuse(where, "a handler is a function, or a table of functions by method, not a " .. type(given))
  end
  local handlers, any = {}, false
  for name, handler in pairs(given) do
    if name ~= "use" then
      check_method(name, where)
      if type(handler) ~= "function" then
        refuse(where, "the handler of " .. name .. " is a function, not a " .. type(handler))
      end
      born(handler)
      handlers[name], any = handler, true
    end
  end
  if not any then
    refuse(where, "there is no handler")
  end
  return handlers
end

-- ---- The tree of paths ----

-- The pieces of a path between slashes; the first slash is before the first piece.
local function split(path)
  local segments, count, start = {}, 0, 2
  while true do
    local at = find(path, "/", start, true)
    count = count + 1
    segments[count] = sub(path, start, at and at - 1)
    if not at then
      return segments, count
    end
    start = at + 1
  end
end

local function new_node()
  return { literals = {} }
end

-- The place of a path in the tree, made where it is not there yet, and the names of its parameters.
local function place_of(root, path, where)
  local segments, count = split(path)
  local node, names, seen = root, {}, {}
  for index = 1, count do
    local segment = segments[index]
    local kind, name = match(segment, "^([:*])(.*)$")
    if not kind then
      local next_node = node.literals[segment] or new_node()
      node.literals[segment] = next_node
      node = next_node
    else
      if not find(name, "^[%a_][%w_]*$") or seen[name] then
        refuse(where, "'" .. segment .. "' is no parameter: a name of letters, digits and _, once in a path")
      end
      seen[name] = true
      names[#names + 1] = name
      if kind == "*" then
        if index < count then
          refuse(where, "'" .. segment .. "' stands for all that follows: it is the last piece")
        end
        node.rest = node.rest or {}
        return node.rest, names
      end
      node.parameter = node.parameter or new_node()
      node = node.parameter
    end
  end
  node.leaf = node.leaf or {}
  return node.leaf, names
end

-- What takes this method at this place. What does not is remembered, for `Allow`.
local function pick(leaf, method, passed)
  local entry = leaf[method] or (method == "HEAD" and leaf.GET) or leaf[ANY]
  if not entry then
    passed[#passed + 1] = leaf
  end
  return entry
end

-- A literal goes before a parameter, and that before the rest, at each piece. It goes on where one fails, so no more
-- places are looked at than the tree has.
local function search(node, search_for, index, depth)
  local segments = search_for.segments
  if index > search_for.count then
    return node.leaf and pick(node.leaf, search_for.method, search_for.passed)
  end
  local segment, captured = segments[index], search_for.captured
  local literal = node.literals[segment]
  local entry = literal and search(literal, search_for, index + 1, depth)
  if entry then
    return entry
  end
  if node.parameter and segment ~= "" then
    entry = search(node.parameter, search_for, index + 1, depth + 1)
    if entry then
      captured[depth] = segment
      return entry
    end
  end
  entry = node.rest and pick(node.rest, search_for.method, search_for.passed)
  if entry then
    captured[depth] = concat(segments, "/", index, search_for.count)
  end
  return entry
end

-- ---- Answers that no handler gives ----

local function not_found()
  return 404
end

-- `OPTIONS` is answered with what there is; any other method is not allowed.
local function other_method(leaves)
  local known = { OPTIONS = true }
  for _, leaf in pairs(leaves) do
    for name in pairs(leaf) do
      known[name] = true
    end
  end
  known.HEAD = known.HEAD or known.GET
  local allowed = {}
  for _, name in pairs(methods) do
    if known[name] then
      allowed[#allowed + 1] = name
    end
  end
  return function(request, response)
    response.headers.Allow = concat(allowed, ", ")
    return request.method == "OPTIONS" and 204 or 405
  end
end

-- ---- The function that answers ----

-- An error about what a handler gave, which has returned by now: the place is where it begins.
local function blame(handler, what)
  local about = type(handler) == "function" and getinfo(handler, "S")
  error(about and about.short_src .. ":" .. about.linedefined .. ": " .. what or what, 0)
end

-- What a handler gave becomes the answer. True: it is the server's own answer of that status; PASSED_ON: another server's.
local function answered(out, response, handler, first, second, third)
  if kit.is_conversation(first) then
    kit.converse(first)
    return false
  elseif kit.is_passed_on(first) or kit.is_passed_on(second) then
    local why = second ~= nil and "request:proxy is given alone: the server that answers sets the status"
      or kit.write_passed_on(out, response, first)
    if why then
      blame(handler, why)
    end
    return kit.PASSED_ON
  end
  local value = first
  if second ~= nil and type(first) ~= "number" or third ~= nil then
    blame(handler, "a handler gives a status first and then one value; fields go into response.headers")
  end
  if type(first) == "number" then
    if first < 200 or first > 599 or first % 1 ~= 0 then
      blame(handler, "not a status: " .. first)
    end
    response.status, value = first, second
    if second == nil then
      return first >= 400 and #out == 0
    end
  end
  if type(value) == "string" then
    out:put(value)
  elseif type(value) == "table" or value == kit.null then
    local fine, text = pcall(encode, value)
    if not fine then
      blame(handler, "what this handler gave is not for JSON: " .. tostring(text))
    end
    out:put(text)
    if not has_type(response) then
      response.headers["Content-Type"] = "application/json"
    end
  elseif value ~= nil then
    blame(handler, "a handler gives a text, a table, or a status and one of them, not a " .. type(value))
  end
  return false
end

-- What a page gives is a status, as that of a handler. True: it is the server's own answer of that status.
function kit.take_status(out, response, given)
  if type(given) ~= "number" then
    error("a page gives nothing, or a status (`return 404`), not a " .. type(given), 0)
  end
  return answered(out, response, nil, given)
end

-- One handler or one for each method, for all paths.
local function by_method(given)
  local use = type(given) == "table" and given.use or nil
  use = checked_use(use, "")
  local leaf = {}
  for name, handler in pairs(checked_handlers(given, "")) do
    leaf[name] = wrapped(use, handler)
  end
  local refused = wrapped(use, other_method({ leaf }))
  local any = leaf[ANY]
  return function(request)
    if any then
      return any
    end
    local method = request.method
    return leaf[method] or (method == "HEAD" and leaf.GET) or refused
  end
end

-- A route is { "GET", "/path", handler } or { "/path", handler or handlers by method }, and may have `use`.
local function read_route(route, where)
  if type(route) ~= "table" then
    refuse(where, "a route is a table, not a " .. type(route))
  end
  for key in pairs(route) do
    if key ~= "use" and key ~= 1 and key ~= 2 and key ~= 3 then
      refuse(where, "'" .. tostring(key) .. "' is not known: a route has a method, a path, a handler and `use`")
    end
  end
  local method, path, given = route[1], route[2], route[3]
  if given == nil and type(path) == "string" then
    check_method(method, where)
    refuse(where, "there is no handler for " .. method .. " " .. path .. ": it is behind the path")
  elseif given == nil then
    method, path, given = nil, route[1], route[2]
  end
  if type(path) ~= "string" or sub(path, 1, 1) ~= "/" then
    refuse(where, "a path begins with a slash: " .. tostring(path))
  elseif find(path, "[?#]") then
    refuse(where, "a path has neither query nor fragment, and no request comes to '" .. path .. "'")
  end
  if method ~= nil then
    check_method(method, where)
    if type(given) ~= "function" then
      refuse(where, "the handler of " .. method .. " is a function, not a " .. type(given))
    end
    given = { [method] = given }
  end
  return path, checked_handlers(given, where), type(given) == "table" and given.use or nil
end

-- A table of routes.
local function by_route(routes)
  local use = checked_use(routes.use, "")
  local root, plain, many = new_node(), {}, false
  for key in pairs(routes) do
    if key ~= "use" and (type(key) ~= "number" or key < 1 or key > #routes or key % 1 ~= 0) then
      refuse("", "'" .. tostring(key) .. "' beside routes: put handlers by method into a route")
    end
  end
  for index = 1, #routes do
    local where = "route " .. index .. ": "
    local path, handlers, inner_use = read_route(routes[index], where)
    local own_use, shared_use = checked_use(routes[index].use, where), checked_use(inner_use, where)
    local leaf, names = place_of(root, path, where)
    for method, handler in pairs(handlers) do
      if leaf[method] then
        refuse(where, "there is a route for " .. (method == ANY and "" or method .. " ") .. path .. " already")
      end
      handler = wrapped(use, wrapped(own_use, wrapped(shared_use, handler)))
      leaf[method] = { handler = handler, names = names, count = #names }
    end
    if #names == 0 then
      plain[path] = leaf
    end
  end
  local missing = wrapped(use, not_found)
  return function(request)
    local path, method = request.rest, request.method
    local leaf = plain[path]
    local entry = leaf and (leaf[method] or (method == "HEAD" and leaf.GET) or leaf[ANY])
    if entry then
      return entry.handler
    end
    local segments, count = split(path)
    local search_for = { segments = segments, count = count, method = method, captured = {}, passed = {} }
    entry = search(root, search_for, 1, 1)
    if entry then
      local parameters = {}
      for index = 1, entry.count do
        parameters[entry.names[index]] = search_for.captured[index]
      end
      rawset(request, "parameters", parameters)
      return entry.handler
    end
    if #search_for.passed == 0 then
      return missing
    end
    return wrapped(use, other_method(search_for.passed))
  end
end

-- The function that answers with what a module gave.
function kit.answers_of(given)
  local choose
  if type(given) == "function" or (type(given) == "table" and given[1] == nil) then
    choose = by_method(given)
  elseif type(given) == "table" then
    choose = by_route(given)
  else
    refuse("", "it gives no handlers: it ends with `return` and a function or a table of them")
  end
  return function(out, _, _, request, response)
    local called = choose(request)
    local handler = inner_of[called] or called
    begun(handler)
    return answered(out, response, handler, called(request, response))
  end
end
