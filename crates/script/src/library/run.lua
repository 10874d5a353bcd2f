-- The loop that every coroutine of a run is in: take a job, run it, hand over what it wrote, at its end or before.
--
-- Owns what is yielded at the end of a run; the tags are those of tag.rs. A yield without values is the end of a slice.

local kit = ...

local fail = kit.fail

local yield, running = coroutine.yield, coroutine.running
local pairs, setmetatable, setfenv, tostring, type = pairs, setmetatable, setfenv, tostring, type
local ffi, library = require("ffi"), require("string.buffer")
local new_buffer = library.new
local buffer_meta = debug.getmetatable(new_buffer())
local get, ref, reset, free = buffer_meta.get, buffer_meta.ref, buffer_meta.reset, buffer_meta.free

local DONE, LOADED, EXIT, IDLE = kit.tag_DONE, kit.tag_LOADED, kit.tag_EXIT, kit.tag_IDLE
-- What a module's function gives where a server of an upstream answers.
local PASSED_ON = "passed on"
kit.PASSED_ON = PASSED_ON

local LOAD, SPAWNED, LOAD_MODULE, SHOW, PROCESS = 1, 2, 3, 4, 5

-- A page adds to its buffer (in its code the name is taken). The rest would hand out addresses, and formats can be long (formats.lua).
buffer_meta.__index = { put = buffer_meta.put }
kit.buffer = { new = new_buffer, get = get, reset = reset, ref = ref }
kit.buffer_encode, kit.buffer_decode = library.encode, library.decode

-- The coroutines that are runs, not made by pages.
local tops = setmetatable({}, { __mode = "k" })
kit.tops = tops

local contexts, current = kit.contexts, kit.current

local request_meta, response_meta = kit.request_meta, kit.response_meta
local escape, text_of, finish, is_sent = kit.escape, kit.text_of, kit.finish, kit.is_sent
local room_kept = kit.buffer_kept

-- Where what is written lies, and how long it is.
local function written(context)
  local out, before = context.out, context.before
  if before then
    -- A module renders a page, or a page has a block, and printed that first.
    local text = get(out)
    out:put(before, text)
    context.before = false
  end
  return ref(out)
end

-- What was set of the head, unless it was sent.
local function head_of(request, response)
  if is_sent(response) then
    kit.check_session(request)
  else
    return finish(request, response)
  end
end

local function serve(page, context)
  local response = setmetatable({}, response_meta)
  local request = setmetatable({}, request_meta)
  context.request, context.response = request, response
  context.content, context.name = false, false
  -- Seldom there: see new_context.
  if context.blocks then
    context.blocks = false
  end
  if context.random then
    context.random = false
  end
  if context.blamed then
    context.blamed = false
  end
  local is_refused = kit.run_page(page, context)
  -- Whoever kept them has nothing of what comes after.
  context.request, context.response = false, false
  local author = is_refused == PASSED_ON and 2 or is_refused and 1 or 0
  if is_sent(response) then
    author = 0
  end
  local status, fields = head_of(request, response)
  return status, fields, author
end

-- Empties a buffer whose bytes the host has copied.
local function empty(out, length)
  if length > room_kept then
    free(out)
  else
    reset(out)
  end
end

kit.empty = empty

-- Hands over what is written so far, the head with it at the first time, and goes on when the client has taken it.
function kit.response_methods.flush(own)
  local context = current[1]
  if own ~= context.response then
    kit.check_self(own, "flush")
    fail(kit.not_own_response)
  end
  if context.layout then
    fail("what is in a layout cannot be sent before it: flush in the layout")
  end
  local response = context.response
  local status, fields
  if not is_sent(response) then
    status, fields = finish(context.request, response)
    kit.close_head(response)
    kit.note_session(context.request)
  end
  local start, length = written(context)
  local failure = kit.host.response_flush(start, length, status, fields)
  empty(context.out, length)
  if failure then
    fail(failure)
  end
end

-- Ends what runs, wherever it is, with what is written and set so far. Its coroutine is of no use any more.
kit.publish("exit", function()
  local context = current[1]
  if not context.response then
    fail("exit() ends what answers a request: nothing does so here")
  end
  local status, fields = head_of(context.request, context.response)
  local start, length = written(context)
  kit.require_yieldable("exit")
  yield(EXIT, start, length, status, fields)
end)

-- The page that a chunk gives. It sees the names of its own environment.
local function loaded(chunk, site, file)
  local environment = kit.environment_of(site, file)
  setfenv(chunk, environment)
  local page = chunk()
  if type(page) == "function" then
    kit.offer(site, file, page, environment)
  end
  return page
end

-- What a run is at, from its beginning. Its coroutine's next run has it too, unless somebody else may still use it.
local function new_context()
  -- What each run sets is there from the beginning, and nothing is set to nil: a table in which names come and go is made anew
  -- again and again. What few runs set comes with them, as the table is a part of what a waiting page takes.
  local context = {
    out = new_buffer(), escape = escape, text = text_of, request = false, response = false, environment = false, name = false,
    content = false,
  }
  contexts[running()] = context
  return context
end

local size_of, foreign = ffi.sizeof, ffi.typeof("int")

-- A coroutine is dropped, perhaps in the middle of a run. What that was at may hold coroutines that the page made (an iterator, in its
-- request), which keep it alive in their turn: a table whose keys are weak is strong in its values.
function kit.leave(coroutine)
  local context = contexts[coroutine]
  contexts[coroutine] = nil
  for key in pairs(context or {}) do
    context[key] = nil
  end
  -- LuaJIT's collector spares the coroutine that had to do with a foreign type last, with all that is on its stack, dead or not
  -- (lj_gc.c: `cts->L`). This is the main one, on which the engine calls.
  size_of(foreign)
end
-- Native code would know what that comes to, and not look.
jit.off(kit.leave)

-- What the next run of this coroutine is at, when the host has copied so many bytes of the output of the one before.
local function next_context(context, length)
  local out = context.out
  if context.is_shared then
    free(out)
    return new_context()
  elseif context.is_lent then
    -- A function that prints may have been kept.
    free(out)
    context.out, context.is_lent = new_buffer(), false
  else
    empty(out, length)
  end
  return context
end


function kit.loop(job, kind, file, site)
  tops[running()] = true
  local context = new_context()
  while true do
    current[1] = context
    if kind == LOAD then
      job, kind, file, site = yield(LOADED, loaded(job, site, file))
      context = next_context(context, 0)
    elseif kind == LOAD_MODULE then
      job, kind, file, site = yield(LOADED, kit.open_module(file, site))
      context = next_context(context, 0)
    elseif kind == SHOW then
      local text = job ~= nil and tostring(text_of(job)) or nil
      -- What was raised may hold much.
      job = nil
      job, kind, file, site = yield(LOADED, text)
      context = next_context(context, 0)
    else
      local status, fields, is_refused
      if kind == SPAWNED or kind == PROCESS then
        local body = kind == SPAWNED and kit.process_of(job) or kit.process_of_module(job)
        -- The bytes it came as are garbage now, however long it lives.
        job = nil
        serve(body, context)
        -- Nobody reads what a process prints.
        reset(context.out)
      else
        status, fields, is_refused = serve(job, context)
      end
      local start, length = ref(context.out)
      job, kind, file, site = yield(DONE, start, length, status, fields, is_refused)
      context = next_context(context, length)
    end
    if job == nil and kind == nil then
      -- What there was to do was to let go of a large output.
      job, kind, file, site = yield(IDLE)
    end
  end
end
