-- What a client sent, in the shape that pages get it in.
--
-- Owns that shape, and what is said where it is too much. Never keeps anything: a request does (request.lua).

local kit = ...

local ask = kit.ask
local tonumber, pairs = tonumber, pairs
local find, sub = string.find, string.sub

-- All values of each name, in their order, of fields that the host gave a number each: `1.name`.
local function lists_of(numbered)
  local names, lists = {}, {}
  for key in pairs(numbered) do
    local point = find(key, ".", 1, true)
    names[tonumber(sub(key, 1, point - 1))] = sub(key, point + 1)
  end
  for number = 1, #names do
    local name = names[number]
    local list = lists[name] or {}
    lists[name] = list
    list[#list + 1] = numbered[number .. "." .. name]
  end
  return lists
end

-- More than a page can look at. A body is too large then, anything else not right.
local in_body = { form = true, form_lists = true, files = true }

-- A part of the request that is under way, by its name and its number.
function kit.received(name, part)
  local value, most = ask(part)
  if most then
    local what = name == "files" and " facts of files" or " fields"
    kit.fail_for_client(in_body[name] and 413 or 400, "request." .. name .. " has more than " .. most .. what)
  end
  if name == "files" then
    return kit.files_of(value)
  elseif name == "query_lists" or name == "form_lists" or name == "cookie_lists" then
    return lists_of(value)
  elseif name == "message" and value then
    return value.text or kit.decode_json(value.json)
  elseif name == "claims" and value then
    return kit.decode_json(value)
  end
  return value
end
