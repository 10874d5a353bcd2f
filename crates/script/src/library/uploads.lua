-- Files of a form as pages see them.
--
-- Owns `request.files`: files in their order, and by the names of their fields; and what is yielded for one.

local kit = ...

local fail = kit.fail

local host = kit.host
local type, tonumber, tostring, setmetatable = type, tonumber, tostring, setmetatable
local read_size, name_size = kit.file_read_size, kit.name_size

-- Which file of which form each is. A page may hold on to one, but it cannot make one up.
local keys = setmetatable({}, { __mode = "k" })

local methods = {}

local file_meta = { __index = methods, __metatable = false }

local function key_of(file, what)
  local key = keys[file]
  if not key then
    fail(what .. " is called with a colon, as a file's: file:" .. what .. "(...)")
  end
  return key[1], key[2]
end

function methods.save(file, name, options)
  local form, number = key_of(file, "save")
  if type(name) ~= "string" then
    fail("save takes a name, not " .. tostring(name))
  elseif #name > name_size then
    fail("the name of a file has more than " .. name_size .. " bytes")
  end
  local replaces = type(options) == "table" and options.replace and 1 or 0
  return host.file_save(form, number, name, replaces)
end

function methods.read(file, most)
  local form, number = key_of(file, "read")
  if most == nil then
    most = read_size
  elseif type(most) ~= "number" or not (most >= 0) then
    fail("read takes a number of bytes, not " .. tostring(most))
  end
  return host.file_read(form, number, most < read_size and most or read_size)
end

-- The table of what the host says: `1.name` is the name of the first.
function kit.files_of(facts)
  local files = {}
  local form = facts and tonumber(facts.form)
  for number = 1, form and tonumber(facts.count) or 0 do
    local field = facts[number .. ".field"]
    local file = setmetatable({
      field = field,
      name = facts[number .. ".name"],
      type = facts[number .. ".type"],
      size = tonumber(facts[number .. ".size"]),
    }, file_meta)
    keys[file] = { form, number }
    files[number] = file
    files[field] = file
  end
  return files
end
