//! Code that calls itself through C functions: it ends with an error, and never with an overflow of the native stack.

use script::engine::{EngineSettings, Fault};

use crate::stage::Stage;

/// Each calls itself for as long as it can, and catches the error.
const ENDLESS: &[&str] = &[
    "o = setmetatable({}, { __tostring = function() return string.format('%s', o) end }) return tostring(o)",
    "o = setmetatable({}, { __tostring = function() return string.format('%5s|%q', 1, o) end }) return \
     tostring(o)",
    "o = setmetatable({}, { __tostring = function() return ('%s%%%d%s'):format('', 1, o) end }) return \
     tostring(o)",
    "o = setmetatable({}, { __tostring = function() response:write(o) return '' end }) return tostring(o)",
    "o = setmetatable({}, { __tostring = function() response:write(1, 2, 3, 4, o) return '' end }) return \
     tostring(o)",
    "o = setmetatable({}, { __tostring = function() return html.escape(o) end }) return tostring(o)",
    "o = setmetatable({}, { __tostring = function() print(o) return '' end }) return tostring(o)",
    "o = setmetatable({}, { __tostring = function() error(o) end }) return tostring(o)",
    "o = setmetatable({}, { __tostring = function() return o end }) return ('%s'):format(o)",
    "o = setmetatable({}, { __tostring = function() return o end }) response:write(o)",
    "o = setmetatable({}, { __tostring = function() return o end }) return html.escape(o)",
    "o = setmetatable({}, { __index = function(_, key) return os.time(o) end }) return os.time(o)",
    "o = setmetatable({}, { __index = function(_, key) return ('x'):gsub('.', o) end }) return o.x",
    "o = setmetatable({}, { __index = function(_, key) return (1):gsub(1, o) end }) return o.x",
    "o = setmetatable({}, { __index = function(_, key) return json.encode(o) end }) return o.x",
    "o = setmetatable({}, { __index = function(_, key) return o[key .. 'x'] end }) return o.x",
    "o = setmetatable({}, { __concat = function() return o .. 'x' end }) return o .. 'x'",
    "o = setmetatable({}, { __concat = function() return table.concat({ 'x', o .. 'x' }) end }) return o .. \
     'x'",
    "o = setmetatable({}, { __eq = function(a, b) return a == b end }) return o == setmetatable({}, \
     getmetatable(o))",
    "o = setmetatable({}, { __call = function(...) return 1 + o(...) end }) return o()",
    "o = setmetatable({}, { __lt = function(a, b) table.sort({ a, b }) return true end }) table.sort({ o, o \
     })",
    "o = setmetatable({}, { __lt = function(a, b) table.sort({ 1, a, b }) return true end }) table.sort({ \
     1, o, o })",
    "o = function() table.sort({ 1, 2 }, function() o() return true end) end o()",
    "o = function() return ('x'):gsub('.', o) end o()",
    "o = function() return ('1'):gsub(1, o) end o()",
    "o = function() for _ in (function() return o() end) do end end o()",
    "o = function() return load('local o = ... return 1 + o()')(o) end o()",
    "o = function() return load(function() return o() end) end o()",
    "o = function() local _, why = pcall(o) error(why, 0) end o()",
    "o = function() return xpcall(error, o) end return o()",
    "o = function() return xpcall(o, function(why) error(why, 0) end) end return o()",
    "o = function() return xpcall(error, function() return coroutine.wrap(o)() end) end return o()",
    "o = function() return 1 + coroutine.wrap(o)() end return o()",
    "o = function() local _, why = coroutine.resume(coroutine.create(o)) error(why, 0) end o()",
    "o = function() return coroutine.wrap(function() return xpcall(o, o) end)() end return o()",
    "o = function() return coroutine.wrap(function() return ('%s'):format(o) end)() end
        o = setmetatable({}, { __tostring = function() return coroutine.wrap(function() return ('%s'):format(o) end)() end })
        return tostring(o)",
    "o = function() local t = setmetatable({}, { __tostring = function() return 1 + o() end }) return \
     ('%s'):format(t) end o()",
];

#[test]
fn recursion_through_c_functions_is_error() {
    let settings = EngineSettings {
        cpu_budget: std::time::Duration::from_secs(60),
        slice: std::time::Duration::from_secs(3600),
        ..EngineSettings::default()
    };
    let mut stage = Stage::with(settings);
    for code in ENDLESS {
        let page =
            stage.load(&format!("local o local fine, why = pcall(function() {code} end) return"));
        if let Err(error) = stage.play(&page) {
            assert!(matches!(error.fault, Fault::Runtime | Fault::Memory), "{code}: {error}");
        }
        assert_eq!(stage.body("_b:put('on')"), "on", "{code}");
    }
}
