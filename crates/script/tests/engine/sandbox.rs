//! Ways out of the sandbox that are closed, and globals that belong to no run.

use script::engine::Fault;

use crate::stage::Stage;

/// Every one of these must raise an error.
const REFUSED: [&str; 46] = [
    "io.open('/etc/passwd')",
    "os.execute('true')",
    "os.getenv('PATH')",
    "os.exit(1)",
    "os.remove('x')",
    "os.tmpname()",
    "dofile('/etc/passwd')",
    "loadfile('/etc/passwd')",
    "require('ffi')",
    "require('io')",
    "require('string.buffer')",
    "require('jit')",
    "require('../x')",
    "require('a..b')",
    "require('/etc/passwd')",
    "require('')",
    "require(nil)",
    "package.loaded.io.open('x')",
    "package.loadlib('x', 'y')",
    "package.preload.x = 1",
    "ffi.cdef('int x;')",
    "jit.off()",
    "debug.getregistry()",
    "debug.sethook()",
    "debug.getupvalue(print, 1)",
    "getfenv(0)",
    "setfenv(1, {})",
    "newproxy(true)",
    "string.dump(function() end)",
    "('x').dump(print)",
    "module('x')",
    "gcinfo()",
    "collectgarbage('stop')",
    "collectgarbage()",
    "getmetatable('').__index.rep = print",
    "string.rep = print",
    "rawset(string, 'rep', print)",
    "rawset(_G, 'x', 1)",
    "_G.x = 1",
    "_G.string = {}",
    "setmetatable(_G, {})",
    "setmetatable(string, {})",
    "table.insert(string, 1)",
    "math.pi = 3",
    "coroutine.yield(1)",
    "coroutine.wrap = print",
];

#[test]
fn ways_out_are_closed() {
    let mut stage = Stage::new();
    for code in REFUSED {
        let page = stage.load(code);
        let error = stage.play(&page).err().unwrap_or_else(|| panic!("{code}: it went through"));
        assert_eq!(error.fault, Fault::Runtime, "{code}: {error}");
        assert_eq!(error.line, 1, "{code}: {error:?}");
    }
    assert_eq!(
        stage.body("_b:put(('x'):rep(2), math.pi > 3.1 and 'pi' or '', #_G._VERSION)"),
        "xxpi7"
    );
}

#[test]
fn names_that_lead_out_are_not_there() {
    let mut stage = Stage::new();
    let code = "for _, name in ipairs { 'io', 'debug', 'package', 'jit', 'ffi', 'dofile', 'loadfile', 'getfenv',
          'setfenv', 'newproxy', 'module', 'gcinfo', 'arg' } do
            assert(_G[name] == nil, name)
        end
        assert(_G._G == _G)
        assert(getmetatable(_G) == false)
        assert(getmetatable(string) == false)
        assert(getmetatable('') == false)
        assert(os.execute == nil and os.getenv == nil and string.dump == nil and table.new == nil)
        _b:put('closed')";
    assert_eq!(stage.body(code), "closed");
}

#[test]
fn the_buffer_gives_no_addresses() {
    let mut stage = Stage::new();
    let code = "for _, name in ipairs { 'ref', 'reserve', 'commit', 'putcdata', 'set', 'free', 'reset', 'get', 'skip',
          'encode', 'decode', '__index', '__gc', '__tostring' } do
            assert(_b[name] == nil, name)
        end
        assert(getmetatable(_b) == 'buffer')
        assert(not pcall(function() _b.put = print end))
        _b:put('closed')";
    assert_eq!(stage.body(code), "closed");
}

#[test]
fn byte_code_is_not_loaded() {
    let mut stage = Stage::new();
    let code = r"local f, message = load('\27LJ\2\0\0', 'x')
        assert(f == nil and message:find('attempt to load chunk with wrong mode'), message)
        f, message = load('\27LJ\2\0\0', 'x', 'b')
        assert(f == nil)
        f, message = loadstring('\27Lua')
        assert(f == nil)
        local pieces = { '\27', 'LJ' }
        f, message = load(function() return table.remove(pieces, 1) end)
        assert(f == nil)
        _b:put('closed')";
    assert_eq!(stage.body(code), "closed");
}

#[test]
fn loaded_text_is_in_the_sandbox_too() {
    let mut stage = Stage::new();
    let code = "assert(load('return 1 + 1')() == 2)
        assert(load('return x', 'name', 't', { x = 5 })() == 5)
        local f, message = load('return +', '=named')
        assert(f == nil and message:find('^named:1:'), message)
        assert(not pcall(load('return io.open')))
        assert(not pcall(load('leak = 1')))
        local parts = { 'return ', '7' }
        assert(load(function() return table.remove(parts, 1) end)() == 7)
        assert(load((' '):rep(300000)) == nil)
        _b:put('fine')";
    assert_eq!(stage.body(code), "fine");
}

#[test]
fn only_a_table_is_an_environment_for_loaded_text() {
    let mut stage = Stage::new();
    let code = "for _, what in ipairs { 1, 0, 'x', ('A'):rep(200), true, false, print, function() end, string,
            coroutine.create(print) } do
            for _, text in ipairs { 'return _G', 'leak = 1', 'return io' } do
                local fine, why = pcall(load, text, 'x', 't', what)
                assert(not fine, text)
                assert(why:find('bad argument #4 to \\'load\\' (table expected, got ' .. type(what) .. ')', 1, true), why)
            end
        end
        assert(load('return _G', 'x', 't', nil)() == _G and load('return _G', 'x', 't', _G)() == _G)
        assert(loadstring('return _G', 'x', 't', 1)() == _G)
        assert(coroutine.wrap(function() return load('return _G')() end)() == _G)
        assert(_G.leak == nil and _G.io == nil)
        _b:put('closed')";
    assert_eq!(stage.body(code), "closed");
}

#[test]
fn an_undeclared_global_is_refused_where_it_is_assigned() {
    let mut stage = Stage::new();
    let error = stage.failure("local fine = 1\ncounter = fine");
    assert_eq!(
        error.to_string(),
        "test.page.html:2: assign to undeclared global 'counter': declare it with local"
    );
    let error = stage.failure("function page() end");
    assert!(error.message.contains("'page'"), "{error}");
    let error = stage.failure("\n\nreturn cuonter + 1");
    assert_eq!(error.to_string(), "test.page.html:3: undefined global 'cuonter'");
}

#[test]
fn globals_of_one_request_are_not_seen_by_the_next() {
    let mut stage = Stage::new();
    let writes = stage.load(
        "pcall(function() secret = 'x' end)
        pcall(rawset, _G, 'secret', 'x')
        pcall(function() string.secret = 'x' end)
        pcall(rawset, html, 'secret', 'x')
        pcall(table.insert, string, 'x')
        request.secret, response_secret_free = 'x', pcall
        ",
    );
    assert!(stage.play(&writes).is_err(), "the last assignment is to a global");
    let reads = "_b:put(tostring(rawequal(_G.secret, nil)), tostring(string.secret), \
                 tostring(request.secret))";
    assert_eq!(stage.body(reads), "truenilnil");
}

#[test]
fn protected_functions_keep_their_meaning() {
    let mut stage = Stage::new();
    let code = "local t = setmetatable({}, { __metatable = 'locked' })
        assert(getmetatable(t) == 'locked' and not pcall(setmetatable, t, {}))
        assert(rawset({}, 'a', 1).a == 1 and rawget({ b = 2 }, 'b') == 2 and rawequal(t, t))
        assert(select('#', unpack({ 1, nil, 3 }, 1, 3)) == 3)
        assert(tostring(nil) == 'nil' and tonumber('0x10') == 16)
        for _, text in ipairs { 'nan', '-nan', 'inf', 'Infinity', '-inf', '1e999', '-1e309' } do assert(tonumber(text) == nil, text) end
        assert(tonumber(1 / 0) == 1 / 0 and tonumber('1e308') == 1e308 and tonumber('zz', 36) == 1295)
        assert(bit.band(12, 10) == 8 and math.floor(2.5) == 2)
        assert(rawlen({ 1, 2 }) == 2 and rawlen('abc') == 3 and not pcall(rawlen, nil))
        assert(rawlen(setmetatable({ 1 }, { __len = function() return 9 end })) == 1)
        assert(next({}) == nil and type(collectgarbage('count')) == 'number')
        local ok, message = pcall(error, { 1 })
        assert(not ok and message[1] == 1)
        assert(select(2, xpcall(function() error('deep', 0) end, function(m) return m .. '!' end)) == 'deep!')
        _b:put('fine')";
    assert_eq!(stage.body(code), "fine");
}

#[test]
fn modules_come_from_the_server_only() {
    let mut stage = Stage::new();
    assert_eq!(stage.failure("require('lib.counter')").message, "there are no modules");
    let counter = "local n = 0 return { next = function() n = n + 1 return n end }";
    let modules = [
        ("lib.counter", counter),
        ("lib.user", "return require('lib.counter')"),
        ("lib.self", "local me = require('lib.self') return me"),
        ("lib.bad", "error('no start')"),
        ("lib.quiet", "local x = 1"),
        ("lib.slow", "local n = 0 for i = 1, 5e6 do n = n + i % 3 end return n"),
    ];
    let provide = |stage: &mut Stage| {
        for (name, text) in modules {
            stage.state.provide(name, name, text).unwrap();
        }
        stage.state.adopt_modules().unwrap();
    };
    provide(&mut stage);
    let code = "_b:put(require('lib.counter').next(), require('lib.user').next())";
    assert_eq!(stage.body(code), "12");
    assert_eq!(stage.body(code), "34");
    provide(&mut stage);
    assert_eq!(stage.body(code), "12");
    assert_eq!(
        stage.failure("require('lib.self')").to_string(),
        "lib.self:1: module 'lib.self' requires itself"
    );
    assert_eq!(stage.failure("require('lib.bad')").to_string(), "lib.bad:1: no start");
    assert_eq!(stage.body("_b:put(tostring(require('lib.quiet')))"), "true");
    assert_eq!(stage.body("_b:put(require('lib.slow'))"), "5000001");
    let error = stage.state.provide("lib.broken", "lib/broken.lua", "return +").err().unwrap();
    assert_eq!(
        (error.fault, error.page.as_str(), error.line),
        (Fault::Compile, "lib/broken.lua", 1)
    );
    let error = stage.failure("require('lib.absent')");
    assert_eq!(error.message, "module 'lib.absent' is not there, or cannot be compiled");
}

#[test]
fn a_name_cannot_pass_for_the_library() {
    let mut stage = Stage::new();
    let page = stage.state.load(0, "a\0b", "return function() error('x') end").unwrap();
    assert_eq!(stage.play(&page).err().unwrap().to_string(), "ab:1: x");
}

#[test]
fn builtin_function_cannot_be_replaced() {
    let mut stage = Stage::new();
    for (code, name) in [
        ("json = nil", "json"),
        ("function print() end", "print"),
        ("include = 1", "include"),
        ("load('tostring = nil')()", "tostring"),
    ] {
        let error = stage.failure(code);
        assert!(
            error
                .message
                .ends_with(&format!("cannot set the global '{name}': declare it with local")),
            "{error}"
        );
    }
    assert_eq!(
        stage.body(
            "_b:put(type(json), type(print), type(include), type(load('return tostring')()))"
        ),
        "userdatafunctionfunctionfunction"
    );
}
