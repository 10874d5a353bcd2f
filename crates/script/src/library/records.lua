-- Records of the store: what pages read of one, and what they want changed.
--
-- Owns how a value becomes bytes and comes out of them, and the form in which changes cross: items, each `length:bytes`. A read is
-- answered at once by the host; changes are an order that the page waits for. What pages see of it is store.lua's.

local kit = ...

local fail, encode, decode = kit.fail, kit.encode_json, kit.decode_json
local host, shown_as = kit.host, kit.shown_as
local read_record, read_records, now = kit.read_record, kit.read_records, kit.now
local type, pcall, tonumber, tostring, pairs = type, pcall, tonumber, tostring, pairs
local format, find, huge, min, floor = string.format, string.find, math.huge, math.min, math.floor
local new_buffer, get_text = kit.buffer.new, kit.buffer.get
local key_size, value_size = kit.store_key, kit.store_value
local scan_keys = kit.store_scan

-- Kinds of values, as the host has them.
local BYTES, NUMBER, TABLE = "0", "1", "2"
-- Beyond it not every whole number is a number of Lua.
local EXACT = 2 ^ 53

local function check_key(what, key)
  if type(key) ~= "string" then
    fail(what .. " takes a key, which is a string, not " .. shown_as(key))
  elseif #key == 0 or #key > key_size then
    fail(what .. ": a key has 1 to " .. key_size .. " bytes, not " .. #key)
  end
end

local function packed(what, value)
  local kind, text = BYTES, value
  if value == nil then
    fail(what .. " takes a value: nil is none")
  elseif type(value) == "number" and value % 1 == 0 and value > -EXACT and value < EXACT then
    kind, text = NUMBER, value == 0 and "0" or format("%.0f", value)
  elseif type(value) ~= "string" then
    local fine, json = pcall(encode, value)
    if not fine then
      fail(what .. ": " .. tostring(json))
    end
    kind, text = TABLE, json
  end
  if #text > value_size then
    fail(what .. ": a value has up to " .. value_size .. " bytes, not " .. #text)
  end
  return kind, text
end

local function unpacked(kind, text)
  if kind == TABLE then
    -- An earlier version of the server stored texts that no page can read; one of them must not end a scan.
    local fine, value = pcall(decode, text)
    if fine then
      return value
    end
    return text
  elseif kind == NUMBER then
    local number = tonumber(text)
    return number > -EXACT and number < EXACT and number or text
  end
  return text
end

-- What is told of a value.
local function about_of(version, ends_ms)
  return { version = version, expires_at = ends_ms ~= "" and tonumber(ends_ms) / 1000 or nil }
end

local function get(database, key)
  check_key("store.get", key)
  local kind, text, version, ends_ms = read_record(database.name, key)
  if not kind then
    if text then
      fail("store.get: " .. text)
    end
    return nil
  end
  return unpacked(kind, text), about_of(version, ends_ms)
end

local function check_options(what, options, known)
  if options == nil then
    return known
  elseif type(options) ~= "table" then
    fail(what .. ": the options are a table, not " .. shown_as(options))
  end
  for name in pairs(options) do
    if not known[name] then
      fail(what .. " has no option '" .. tostring(name) .. "'")
    end
  end
  return options
end

-- The options that were left out are these tables themselves: they hold `true` where a value would be.
local function option(options, known, name)
  if options ~= known then
    return options[name]
  end
end

local scan_options = { after = true, limit = true }

-- Every key that begins so, in their order, page by page: each page is the store as it is when the loop comes to it.
local function scan(database, prefix, options)
  if type(prefix) ~= "string" then
    fail("store.scan takes what the keys begin with, not " .. shown_as(prefix))
  end
  options = check_options("store.scan", options, scan_options)
  local after, left = option(options, scan_options, "after"), option(options, scan_options, "limit") or huge
  if after ~= nil and type(after) ~= "string" then
    fail("store.scan: 'after' is a key, not " .. shown_as(after))
  elseif type(left) ~= "number" or not (left >= 0) then
    fail("store.scan: 'limit' is how many keys, not " .. shown_as(left))
  end
  left = floor(left)
  local list, place, is_last = {}, 0, false
  return function()
    while list[place + 1] == nil do
      if is_last or left == 0 then
        return nil
      end
      local next_key
      list, next_key = read_records(database.name, prefix, after or "", after and 1 or 0, min(left, scan_keys))
      if not list then
        fail("store.scan: " .. next_key)
      end
      place, after, is_last = 0, next_key, next_key == nil
    end
    local key, kind, text, version, ends_ms = list[place + 1], list[place + 2], list[place + 3], list[place + 4], list[place + 5]
    place, left = place + 5, left - 1
    return key, unpacked(kind, text), about_of(version, ends_ms)
  end
end

local function put_item(out, text)
  out:put(#text, ":", text)
end

local function put_items(out, one, two, three)
  put_item(out, one)
  put_item(out, two)
  put_item(out, three)
end

-- Has the order executed: what came of its last step; false where a condition did not hold; nil and why where the store cannot do it.
local function execute(what, order)
  local done, outcome = host.store_order(get_text(order))
  if done == "done" then
    return outcome
  elseif done == "refused" then
    return false
  elseif done == "wrong" then
    fail(what .. ": " .. outcome)
  end
  return nil, outcome
end

local function order_without_conditions()
  local out = new_buffer()
  put_item(out, "0")
  return out
end

-- When a value ends, as the host takes it: never, as before, or at that time in milliseconds.
local function expiry_of(what, options, known)
  local seconds = option(options, known, "expires_in")
  if seconds == nil then
    return option(options, known, "keep_expiry") and "keep" or ""
  elseif type(seconds) ~= "number" or not (seconds > 0 and seconds < EXACT / 1000) then
    fail(what .. ": 'expires_in' is seconds above 0, not " .. shown_as(seconds))
  end
  return format("%.0f", floor((now() + seconds) * 1000))
end

local function condition_of(what, options, known)
  local only, version = option(options, known, "only"), option(options, known, "version")
  if only ~= nil and only ~= "absent" and only ~= "present" then
    fail(what .. ": 'only' is 'absent' or 'present', not " .. shown_as(only))
  elseif version ~= nil and (type(version) ~= "string" or #version > 20 or not find(version, "^%d+$")) then
    fail(what .. ": 'version' is what store.get says it is, not " .. shown_as(version))
  end
  return only or version or ""
end

local put_options = { expires_in = true, keep_expiry = true, only = true, version = true }

local function put_step(out, database, key, kind, text, expiry, condition)
  put_items(out, "put", database.name, key)
  put_items(out, kind, text, expiry)
  put_item(out, condition)
end

-- true where it was written; false where the condition did not hold; nil and why.
local function put(database, key, value, options)
  check_key("store.put", key)
  local kind, text = packed("store.put", value)
  options = check_options("store.put", options, put_options)
  local expiry = expiry_of("store.put", options, put_options)
  local condition = condition_of("store.put", options, put_options)
  local out = order_without_conditions()
  put_step(out, database, key, kind, text, expiry, condition)
  local outcome, why = execute("store.put", out)
  if outcome == nil then
    return nil, why
  end
  return outcome == "1"
end

local delete_options = { version = true }

-- Whether there was one.
local function delete(database, key, options)
  check_key("store.delete", key)
  options = check_options("store.delete", options, delete_options)
  local out = order_without_conditions()
  put_items(out, "delete", database.name, key)
  put_item(out, condition_of("store.delete", options, delete_options))
  local outcome, why = execute("store.delete", out)
  if outcome == nil then
    return nil, why
  end
  return outcome == "1"
end

local function add(database, key, amount)
  check_key("store.add", key)
  amount = amount == nil and 1 or amount
  if type(amount) ~= "number" or amount % 1 ~= 0 or not (amount > -EXACT and amount < EXACT) then
    fail("store.add takes a whole number, not " .. shown_as(amount))
  end
  local out = order_without_conditions()
  put_items(out, "add", database.name, key)
  put_item(out, format("%.0f", amount))
  local outcome, why = execute("store.add", out)
  if not outcome then
    return nil, why
  end
  return unpacked(NUMBER, outcome)
end

kit.records = {
  check_key = check_key,
  check_options = check_options,
  option = option,
  packed = packed,
  unpacked = unpacked,
  put_item = put_item,
  put_items = put_items,
  put_step = put_step,
  put_options = put_options,
  expiry_of = expiry_of,
  execute = execute,
  get = get,
  scan = scan,
  put = put,
  delete = delete,
  add = add,
}
