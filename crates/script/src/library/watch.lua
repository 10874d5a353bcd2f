-- `store.watch`: the keys that begin so and are changed, by whomever.
--
-- Owns what has changed: the versions of all these keys are compared with those that were there before, when the store has another commit. So nothing
-- that changes is lost, however often it does; of a key that changes several times meanwhile the last is seen.

local kit = ...

local fail, records, read_records, host = kit.fail, kit.records, kit.read_records, kit.host
local clock, shown_as = kit.clock, kit.shown_as
local type, pairs, setmetatable, tonumber = type, pairs, setmetatable, tonumber
local keys_at_once, keys_max = kit.store_scan, kit.store_watched

-- What each watch is at; the page has no way to it.
local states = setmetatable({}, { __mode = "k" })

-- The versions of all keys, and the commit that they are of, which is that of the first look: what comes during the others is seen again.
local function versions_of(database, prefix)
  local versions, count, after, commit = {}, 0, nil, nil
  repeat
    local list, next_key, of = read_records(database.name, prefix, after or "", after and 1 or 0, keys_at_once, 1)
    if not list then
      fail("store.watch: " .. next_key)
    end
    for place = 1, #list, 5 do
      versions[list[place]] = list[place + 3]
      count = count + 1
    end
    if count > keys_max then
      fail("store.watch: more than " .. keys_max .. " keys begin so")
    end
    after, commit = next_key, commit or tonumber(of)
  until not after
  return versions, commit
end

-- Notes which keys are others now.
local function look(state)
  local before, count = state.versions, 0
  local now, commit = versions_of(state.database, state.prefix)
  local changed = {}
  for key, version in pairs(now) do
    if before[key] ~= version then
      count = count + 1
      changed[count] = key
    end
  end
  for key in pairs(before) do
    if not now[key] then
      count = count + 1
      changed[count] = key
    end
  end
  state.versions, state.commit, state.changed, state.place = now, commit, changed, 0
end

-- The next key that has changed, its value (nil where it is gone), and what is told of it; nil when the time is over.
local function receive(watch, seconds)
  local state = states[watch]
  if not state then
    fail("receive is called with a colon: watch:receive()")
  elseif seconds ~= nil and (type(seconds) ~= "number" or not (seconds >= 0)) then
    fail("receive takes seconds, not " .. shown_as(seconds))
  end
  local due = seconds and clock() + seconds
  while true do
    local key = state.changed[state.place + 1]
    if key then
      state.place = state.place + 1
      return key, records.get(state.database, key)
    end
    local left = due and due - clock()
    if left and left <= 0 then
      return nil
    end
    host.store_commit(state.commit, left or -1)
    look(state)
  end
end

local watch_meta = { __index = { receive = receive }, __call = function(watch)
  return receive(watch)
end, __metatable = false }
kit.marks["watch of the store"] = watch_meta

function records.watch(database, prefix)
  if type(prefix) ~= "string" then
    fail("store.watch takes what the keys begin with, not " .. shown_as(prefix))
  end
  local versions, commit = versions_of(database, prefix)
  local watch = setmetatable({}, watch_meta)
  states[watch] = { database = database, prefix = prefix, versions = versions, commit = commit, changed = {}, place = 0 }
  return watch
end
