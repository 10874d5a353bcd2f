-- `include`, `layout`, `block` and `content`: pages made of parts.
--
-- Owns which page a name means, and what a run has put aside for its layout. Names are of the page that says them, whoever
-- calls it, so each page has an environment of its own with these functions; what they share is the run's context.

local kit = ...

local fail = kit.fail

local type, error, tostring, pairs, pcall, setmetatable = type, error, tostring, pairs, pcall, setmetatable
local match, gsub, gmatch, sub = string.match, string.gsub, string.gmatch, string.sub
local concat = table.concat
local get = kit.buffer.get
local begun = kit.begun
local getlocal, util = debug.getlocal, require("jit.util")
local funcinfo, funck, funcuvname = util.funcinfo, util.funck, util.funcuvname

-- The functions of loaded pages: by the site they belong to, and by the name that others of that site include them by.
-- In the place of one that never was good there is what is wrong with it.
local sites = {}

local name_size = kit.name_size

-- The site whose pages modules render.
local first_site = 0

function kit.lead(site)
  first_site = site
end

-- The environment of each, to tell the page that is run from parts of it.
local environments = setmetatable({}, { __mode = "k" })

-- Pages of which a function may live on that prints into their output.
local lenders = setmetatable({}, { __mode = "k" })

local current = kit.current

-- `a/_row.page.html` is included as `a/_row.html`.
local function spoken(file)
  return (gsub(file, "%.page(%.[^./]+)$", "%1"))
end

-- The name of a page as a path below the root, from what a page in `directory` calls it.
local function resolve(directory, target)
  if type(target) ~= "string" or target == "" then
    fail("not the name of a part: " .. tostring(target))
  elseif #target > name_size then
    fail("the name of a part has more than " .. name_size .. " bytes")
  end
  local path = sub(target, 1, 1) == "/" and target or directory .. target
  local names, count = {}, 0
  for name in gmatch(path, "[^/]+") do
    if name == ".." then
      if count == 0 then
        fail("'" .. target .. "' leads out of the root")
      end
      names[count] = nil
      count = count - 1
    elseif name ~= "." then
      count = count + 1
      names[count] = name
    end
  end
  return concat(names, "/")
end

local function find(site, directory, target)
  local name = resolve(directory, target)
  local page = sites[site] and sites[site][name]
  if type(page) == "string" then
    fail("part '" .. name .. "' is broken: " .. page)
  end
  if not page then
    local file = gsub(name, "(%.[^./]+)$", ".page%1")
    fail("there is no part '" .. name .. "': it would be the file " .. file)
  end
  return page
end

local function run(page, context, arguments)
  begun(page)
  if lenders[page] then
    context.is_lent = true
  end
  return page(context.out, context.escape, context.text, context.request, context.response, arguments)
end

-- What a function prints, in the place of printing it. What was printed before stays, also where it fails and somebody
-- catches that; who exits in there has it before him (run.lua).
local function captured(context, body)
  local out, aside = context.out, context.before
  local before = get(out)
  context.before = (aside or "") .. before
  local fine, failure = pcall(body)
  local text = get(out)
  context.before = aside or false
  out:put(before)
  if not fine then
    error(failure, 0)
  end
  return text
end

kit.publish("block", function(name, body)
  if type(name) ~= "string" or type(body) ~= "function" then
    fail("block takes a name and a function")
  end
  local context = current[1]
  local blocks = context.blocks
  if not blocks then
    blocks = {}
    context.blocks = blocks
  end
  local known = blocks[name]
  if context.layout then
    -- It is for the layout. Who says it first is nearest to the page, and wins.
    if not known then
      blocks[name] = captured(context, body)
    end
  elseif known then
    context.out:put(known)
  else
    body()
  end
end)

kit.publish("content", function()
  local text = current[1].content
  if not text then
    fail("content() is for layouts: this page is none here")
  end
  return text
end)

-- What prints in the place of a page, in a process.
local function makes_no_answer(name)
  return function()
    fail(name .. " prints into an answer: a process makes none")
  end
end

-- The environments of pages whose functions are processes here.
local page_environments = setmetatable({}, { __mode = "v" })

-- The environment of a page that is none of this engine's.
function kit.page_environment(site, file)
  local name = site .. " " .. file
  local environment = page_environments[name]
  if not environment then
    environment = kit.environment_of(site, file)
    page_environments[name] = environment
  end
  return environment
end

-- The environment of a page: the shared one, with what depends on where the page lies.
function kit.environment_of(site, file)
  local directory = match(file, "^(.*/)") or ""
  local names = {}
  for name, value in pairs(kit.members) do
    names[name] = value
  end
  local environment = kit.environment_with(names)
  kit.environment_names[environment] = { site = site, file = file }
  if kit.is_for_processes == 1 then
    names.include, names.layout = makes_no_answer("include"), makes_no_answer("layout")
    return environment
  end
  names.include = function(target, arguments)
    local page = find(site, directory, target)
    run(page, current[1], arguments)
  end
  names.layout = function(target, arguments)
    local context = current[1]
    if context.environment ~= environment then
      fail("a part has no layout: the page that includes it has")
    end
    if context.layout then
      fail("the page has a layout already")
    end
    if kit.is_sent(context.response) then
      fail("the page was sent in part: a layout is named before the first flush")
    end
    context.layout, context.layout_arguments = find(site, directory, target), arguments
  end
  return environment
end

-- Whether a function within the page prints: it holds the output, by the name that the page has for it.
local function lends_output(page)
  local name = getlocal(page, 1)
  for index = 1, funcinfo(page).gcconsts do
    local within = funck(page, -index)
    if type(within) == "proto" then
      for place = 0, funcinfo(within).upvalues - 1 do
        if funcuvname(within, place) == name then
          return true
        end
      end
    end
  end
  return false
end

-- Others of its site may include the page from now on.
function kit.offer(site, file, page, environment)
  sites[site] = sites[site] or {}
  sites[site][spoken(file)] = page
  environments[page] = environment
  kit.born(page)
  lenders[page] = lends_output(page) or nil
end

-- Whoever includes the page of this name is told what is wrong with it. Both are one text, with a zero in between.
function kit.refuse(site, text)
  local file, why = match(text, "^(%Z*)%z(.*)$")
  sites[site] = sites[site] or {}
  sites[site][spoken(file)] = why
end

-- The page of this name can be included no more. What runs goes on.
function kit.withdraw(site, file)
  local pages = sites[site]
  if pages then
    pages[spoken(file)] = nil
  end
end

-- Runs a page and then the layouts around it, the innermost first.
local function run_page(page, context, arguments)
  context.environment = environments[page]
  local called = page
  local given = run(called, context, arguments)
  while context.layout do
    local outer, arguments = context.layout, context.layout_arguments
    context.layout, context.layout_arguments = false, false
    context.content = get(context.out)
    context.environment = environments[outer]
    called = outer
    run(called, context, arguments or nil)
  end
  return given
end

-- Runs a page, or what answers for a module: that tells whether the answer is to be the server's own.
function kit.run_page(page, context)
  if not environments[page] then
    context.environment = false
    return run(page, context)
  end
  local given = run_page(page, context)
  return given ~= nil and kit.take_status(context.out, context.response, given)
end

-- Prints a page of the first site with its layouts, for a module, which is no page itself.
function kit.render(target, arguments)
  local context = current[1]
  if kit.is_for_processes == 1 then
    fail("render prints into an answer: a process makes none")
  end
  if context.environment then
    fail("a page cannot render another: it includes others")
  end
  local page, response = find(first_site, "", target), context.response
  if match(target, "%.html$") and not kit.is_sent(response) and not kit.has_type(response) then
    response.headers["Content-Type"] = "text/html; charset=utf-8"
  end
  -- What was printed before is not the content of a layout. A flush sends it.
  context.before, context.content, context.blocks = get(context.out), false, false
  local fine, failure = pcall(run_page, page, context, arguments)
  local before = context.before
  context.environment, context.layout, context.layout_arguments, context.before = false, false, false, false
  local text = get(context.out)
  if before then
    context.out:put(before)
  end
  if not fine then
    error(failure, 0)
  end
  context.out:put(text)
end
