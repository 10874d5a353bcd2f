-- `store`: values that stay when the server ends, shared by all pages, schedulers and clients of Redis.
--
-- Owns transactions and updates, which run again where another has changed what they have read, and the faces of databases. How a
-- record crosses is records.lua's.

local kit = ...

local fail, execute_order = kit.fail, kit.records.execute
local records, shown_as = kit.records, kit.shown_as
local host = kit.host
local type, setmetatable, tostring, pairs = type, setmetatable, tostring, pairs
local pcall, error, select, unpack = pcall, error, select, unpack
local new_buffer = kit.buffer.new
local check_key, option, put_item, put_items, put_step = records.check_key, records.option, records.put_item, records.put_items, records.put_step
local packed, unpacked, put_options, expiry_of = records.packed, records.unpacked, records.put_options, records.expiry_of
local get = records.get
local clock = kit.clock
local tries_max, steps_max = kit.store_tries, kit.store_steps

local BUSY = "others changed what it had read, each time that it was tried"

-- What a transaction has read and wants to write.
local transaction_methods = {}
local transaction_meta = { __index = transaction_methods, __metatable = false }
kit.marks["transaction of the store"] = transaction_meta

-- What each is at; the page has no way to it.
local states = setmetatable({}, { __mode = "k" })

local function state_of(transaction, what, key)
  local state = states[transaction]
  if not state then
    fail(what .. " is called with a colon, within its transaction: t:" .. what .. "(...)")
  end
  check_key(what, key)
  return state
end

local function count_step(state)
  state.steps = state.steps + 1
  if state.steps > steps_max then
    fail("a transaction reads and writes up to " .. steps_max .. " keys")
  end
end

function transaction_methods.get(transaction, key)
  local state = state_of(transaction, "get", key)
  local written = state.writes[key]
  if written and not written[1] then
    return nil
  elseif written then
    return unpacked(written[1], written[2])
  end
  local value, about = get(state.database, key)
  if not state.reads[key] then
    count_step(state)
    state.reads[key] = about and about.version or "0"
  end
  return value, about
end

local function write(state, key, written)
  if not state.writes[key] then
    count_step(state)
  end
  state.writes[key] = written
end

function transaction_methods.put(transaction, key, value, options)
  local state = state_of(transaction, "put", key)
  local kind, text = packed("put", value)
  options = records.check_options("put", options, put_options)
  if option(options, put_options, "only") or option(options, put_options, "version") then
    fail("put of a transaction has no condition: what it has read is one")
  end
  write(state, key, { kind, text, expiry_of("put", options, put_options) })
end

function transaction_methods.delete(transaction, key)
  write(state_of(transaction, "delete", key), key, { false })
end

local function order_of(state)
  local out, reads = new_buffer(), 0
  for _ in pairs(state.reads) do
    reads = reads + 1
  end
  put_item(out, tostring(reads))
  for key, version in pairs(state.reads) do
    put_items(out, state.database.name, key, version)
  end
  for key, written in pairs(state.writes) do
    if written[1] then
      put_step(out, state.database, key, written[1], written[2], written[3], "")
    else
      put_items(out, "delete", state.database.name, key)
      put_item(out, "")
    end
  end
  return out
end

local function pack(...)
  return { n = select("#", ...), ... }
end

-- Calls `try`, which tells whether it is over and with what, until it is. One that has met others once stands in line with those of this scheduler
-- that change the same: without it, all of them would try again at the same time, and one of them get through.
local function try_again(try, ...)
  for _ = 2, tries_max do
    local given = pack(try(...))
    if given[1] then
      return given
    end
  end
  return pack(true, nil, BUSY)
end

local function until_over(line, try, ...)
  local given = pack(try(...))
  if not given[1] then
    host.store_queue(line)
    local fine, ended = pcall(try_again, try, ...)
    host.store_queue("")
    if not fine then
      error(ended, 0)
    end
    given = ended
  end
  return unpack(given, 2, given.n)
end

-- Ends a try of a transaction with what the body gave.
local function settle(transaction, ...)
  local state = states[transaction]
  states[transaction] = nil
  local outcome, why = execute_order("store.transaction", order_of(state))
  if outcome == false then
    return false
  elseif outcome == nil then
    return true, nil, why
  end
  return true, true, ...
end

local function try_transaction(database, body)
  local transaction = setmetatable({}, transaction_meta)
  states[transaction] = { database = database, reads = {}, writes = {}, steps = 0 }
  return settle(transaction, body(transaction))
end

-- true and what the body gave; nil and why. The body runs again where another has changed what it has read.
local function transaction(database, body)
  if type(body) ~= "function" then
    fail("store.transaction takes a function, not " .. shown_as(body))
  end
  return until_over(database.name, try_transaction, database, body)
end

local function try_update(database, key, change, expiry)
  local value, about = get(database, key)
  local new = change(value, about)
  if new == nil then
    return true, value
  end
  local kind, text = packed("store.update", new)
  local out = new_buffer()
  put_item(out, "1")
  put_items(out, database.name, key, about and about.version or "0")
  put_step(out, database, key, kind, text, expiry, "")
  local outcome, why = execute_order("store.update", out)
  if outcome == nil then
    return true, nil, why
  end
  return outcome ~= false, new
end

local update_options = { expires_in = true }

-- What the function made of the value, which is written; the value as it is where it gave nil; nil and why.
local function update(database, key, change, options)
  check_key("store.update", key)
  if type(change) ~= "function" then
    fail("store.update takes a key and a function, not " .. shown_as(change))
  end
  options = records.check_options("store.update", options, update_options)
  local expiry = expiry_of("store.update", options, update_options)
  expiry = expiry == "" and "keep" or expiry
  return until_over(database.name .. "/" .. key, try_update, database, key, change, expiry)
end

local wait_options = { version = true, timeout = true }

-- Waits until a key has another version than the page knows, or than it has now: true, and what it holds then; false when the time is over.
local function wait(database, key, options)
  check_key("store.wait", key)
  options = records.check_options("store.wait", options, wait_options)
  local version, seconds = option(options, wait_options, "version"), option(options, wait_options, "timeout")
  if version ~= nil and type(version) ~= "string" then
    fail("store.wait: 'version' is that of a value, not " .. shown_as(version))
  elseif seconds ~= nil and (type(seconds) ~= "number" or not (seconds >= 0)) then
    fail("store.wait: 'timeout' is seconds, not " .. shown_as(seconds))
  end
  local due = seconds and clock() + seconds
  while true do
    local value, about = get(database, key)
    local now = about and about.version or "0"
    version = version or now
    if now ~= version then
      return true, value, about
    end
    local left = due and due - clock()
    if left and left <= 0 then
      return false
    end
    host.store_wait(database.name, key, version, left or -1)
  end
end

-- What can be done with a database.
local functions = {
  get = get,
  put = records.put,
  delete = records.delete,
  add = records.add,
  scan = records.scan,
  watch = records.watch,
  wait = wait,
  update = update,
  transaction = transaction,
}

local database_methods = {}
local database_meta = { __index = database_methods, __metatable = false }
kit.marks["database of the store"] = database_meta

local usual, members = { name = "0" }, {}

-- With a dot they are those of the first database, with a colon those of the one before it.
for name, work in pairs(functions) do
  members[name] = function(...)
    return work(usual, ...)
  end
  database_methods[name] = function(database, ...)
    if type(database) ~= "table" or type(database.name) ~= "string" then
      fail(name .. " is called with a colon: database:" .. name .. "(...)")
    end
    return work(database, ...)
  end
end

function members.database(name)
  if type(name) ~= "string" then
    fail("store.database takes a name, not " .. shown_as(name))
  end
  return setmetatable({ name = name }, database_meta)
end

kit.publish("store", kit.seal("store", members))
