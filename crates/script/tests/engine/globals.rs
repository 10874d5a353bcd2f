//! Undefined globals are found before a page runs.

use std::collections::BTreeSet;

use script::engine::{RequestPart, Stranger, Use};

use crate::stage::Stage;

fn strangers(code: &str) -> Vec<(String, u32, Use)> {
    let mut stage = Stage::new();
    let page = stage.load(code);
    let found = stage.state.strangers(&page).unwrap();
    found.into_iter().map(|Stranger { name, line, usage }| (name, line, usage)).collect()
}

fn read(name: &str, line: u32) -> (String, u32, Use) {
    (name.to_owned(), line, Use::Read)
}

fn set(name: &str, line: u32) -> (String, u32, Use) {
    (name.to_owned(), line, Use::Set)
}

/// The undefined globals of a module, which need not run for that.
fn strangers_of_module(text: &str) -> Vec<(String, u32, Use)> {
    let mut stage = Stage::new();
    stage.state.provide("lib.laps", "lib/laps.lua", text).unwrap();
    stage.state.adopt_modules().unwrap();
    let found = stage.state.strangers_of_module("lib.laps").unwrap();
    found.into_iter().map(|Stranger { name, line, usage }| (name, line, usage)).collect()
}

#[test]
fn reads_and_sets_are_found_with_their_lines() {
    assert_eq!(
        strangers("local total = 1\n_b:put(totl)\n\ncount = totl"),
        [read("totl", 2), set("count", 4)]
    );
    assert_eq!(strangers("function page() end\n_b:put(page)"), [set("page", 1), read("page", 2)]);
    assert_eq!(strangers("return io.open('x'), os.execute"), [read("io", 1)]);
    // Also in code that can never run.
    assert_eq!(strangers("do return end\nif 1 == 2 then x() end"), [read("x", 2)]);
    assert_eq!(strangers("x = x + 1"), [read("x", 1), set("x", 1)]);
}

#[test]
fn a_global_that_is_there_cannot_be_set() {
    assert_eq!(
        strangers("print = 1 include = 2 local json = json"),
        [set("include", 1), set("print", 1)]
    );
}

#[test]
fn functions_within_functions_are_looked_at() {
    let code = "local outer = 1
local function one()
  return function()
    local inner = outer + far
    return function() return outer, inner, farther end
  end
end
return one, { two = function(...) return ..., three end }";
    assert_eq!(strangers(code), [read("far", 4), read("farther", 5), read("three", 8)]);
}

#[test]
fn modules_are_looked_at_in_their_own_surroundings() {
    let text = "local laps = require('lib.other')
return {
  { 'GET', '/', function(request) return reqest.path end },
  { 'GET', '/all', function() total = laps.total render('/all.html') end },
}";
    assert_eq!(strangers_of_module(text), [read("reqest", 3), set("total", 4)]);
    // Pages have `include` and `layout`, modules have `render`.
    assert_eq!(
        strangers_of_module("return include, layout, render"),
        [read("include", 1), read("layout", 1)]
    );
    assert_eq!(strangers("return include, layout, render"), [read("render", 1)]);
    assert_eq!(strangers_of_module("error('it fails when it is loaded')"), []);
}

#[test]
fn of_the_modules_those_in_force_are_looked_at() {
    let mut stage = Stage::new();
    let found = |stage: &mut Stage, name: &str| {
        let names = stage.state.strangers_of_module(name).unwrap();
        names.into_iter().map(|stranger| stranger.name).collect::<Vec<_>>()
    };
    assert_eq!(found(&mut stage, "one"), [""; 0]);
    stage.state.provide("one", "one.lua", "return first").unwrap();
    assert_eq!(found(&mut stage, "one"), [""; 0]);
    stage.state.adopt_modules().unwrap();
    stage.state.provide("one", "one.lua", "return second").unwrap();
    assert_eq!(found(&mut stage, "one"), ["first"]);
    stage.state.adopt_modules().unwrap();
    assert_eq!(found(&mut stage, "one"), ["second"]);
    assert_eq!(found(&mut stage, "two"), [""; 0]);
}

#[test]
fn local_variable_is_not_reported_as_global() {
    let code = "local a, b = request, response
for c = 1, 3 do a = c end
for d, e in pairs({}) do b = d or e end
local function f(g, ...) return g, f, a, ... end
do local h = f; h.i, h['j'] = 1, { k = 2 } end
local string = 'shadows'
::again::
if a then goto again end
local text = string
return text:len(), _b.put, _G.anything";
    assert_eq!(strangers(code), []);
    // Outside of its scope a name is global.
    assert_eq!(
        strangers("do local x = 1 end\nfor y = 1, 2 do end\nreturn x, y"),
        [read("x", 3), read("y", 3)]
    );
    assert_eq!(strangers("local x = x"), [read("x", 1)]);
}

#[test]
fn every_name_that_pages_have_is_known() {
    let mut stage = Stage::new();
    let page = stage.load("");
    let globals = stage.state.globals(&page).unwrap();
    for name in ["json", "json.encode", "include", "_G", "rawlen", "math.pi", "log.warn"] {
        assert!(globals.iter().any(|known| known == name), "{name} is not among {globals:?}");
    }
    let code: String = globals.iter().map(|name| format!("assert({name} ~= nil)\n")).collect();
    let page = stage.load(&code);
    assert_eq!(stage.state.strangers(&page).unwrap(), []);
    stage.play(&page).unwrap();
}

#[test]
fn many_names_and_long_code_are_no_trouble() {
    let lines = (0..3000).map(|number| format!("first = name{number}\nfirst = nil\n"));
    let code = format!("local first\n{}", lines.collect::<String>());
    let found = strangers(&code);
    assert_eq!(found.len(), 3000);
    assert_eq!((found[0].1, found[2999].0.as_str(), found[2999].1), (2, "name2999", 6000));
}

#[test]
fn globals_of_natively_compiled_code_are_found() {
    let mut stage = Stage::new();
    let page = stage
        .load("local sum = 0\nfor n = 1, 1e5 do sum = sum + n end\nif sum == 0 then gone() end");
    stage.play(&page).unwrap();
    let found = stage.state.strangers(&page).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].to_string(), "undefined global 'gone'");
    assert_eq!(stage.failure("jit.util.funcbc(print, 1)").message, "undefined global 'jit'");
}

/// The definitions for editors.
const DEFINITIONS: &str = include_str!("../../../../docs/velodrome.d.lua");

const DOCUMENT: &str = include_str!("../../../../docs/pages.md");

/// The names that the Lua language server knows for LuaJIT by itself.
const OF_LUAJIT: &str = "_G _VERSION assert bit collectgarbage coroutine error getmetatable ipairs load \
                         loadstring math next pairs pcall print rawequal rawget rawlen rawset select \
                         setmetatable string table tonumber tostring type unpack xpcall";

/// The names that the definitions assign, sorted.
fn declared() -> Vec<&'static str> {
    let name_of = |line: &'static str| {
        let function = line.strip_prefix("function ").and_then(|rest| rest.split('(').next());
        let name = function.or_else(|| line.strip_suffix(" = {}"))?;
        (!name.contains([' ', ':'])).then_some(name)
    };
    let mut names: Vec<_> = DEFINITIONS.lines().filter_map(name_of).chain(["json.null"]).collect();
    names.sort_unstable();
    names
}

/// The globals of pages, and those of modules.
fn globals_of_both() -> (BTreeSet<String>, BTreeSet<String>) {
    let mut stage = Stage::new();
    let page = stage.load("");
    let of_page = stage.state.globals(&page).unwrap();
    stage.state.provide("one", "one.lua", "").unwrap();
    stage.state.adopt_modules().unwrap();
    let of_module = stage.state.globals_of_module("one").unwrap();
    (of_page.into_iter().collect(), of_module.into_iter().collect())
}

#[test]
fn the_definitions_for_editors_are_what_pages_and_modules_have() {
    let (of_page, of_module) = globals_of_both();
    let is_of_luajit = |name: &str| {
        let library = name.split('.').next().unwrap_or(name);
        OF_LUAJIT.split_whitespace().any(|known| known == library)
    };
    let all = of_page.union(&of_module).map(String::as_str);
    let own: Vec<&str> = all.filter(|name| !is_of_luajit(name)).collect();
    assert_eq!(declared(), own);
    for name in OF_LUAJIT.split_whitespace() {
        assert!(of_page.contains(name) && of_module.contains(name), "{name} is not there");
    }
}

#[test]
fn the_definitions_say_what_only_pages_or_only_modules_have() {
    let (of_page, of_module) = globals_of_both();
    let said = |words: &str| {
        // The documentation of a function is before it, without an empty line between them.
        let told = DEFINITIONS.split("\n\n").filter(|told| told.contains(words));
        let names = told.filter_map(|told| told.split("\nfunction ").nth(1)?.split('(').next());
        names.map(str::to_owned).collect::<BTreeSet<_>>()
    };
    assert_eq!(said("Only in pages"), &of_page - &of_module);
    assert_eq!(said("Only in modules"), &of_module - &of_page);
    assert!(of_module.contains("render") && !of_page.contains("render"));
}

#[test]
fn the_definitions_have_every_part_of_a_request_and_what_a_response_does() {
    let class = |name: &str| {
        DEFINITIONS.split(&format!("---@class velodrome.{name}\n")).nth(1).unwrap_or_default()
    };
    let fields = class("Request").lines().map_while(|line| line.strip_prefix("---@field "));
    let mut fields: Vec<_> = fields.filter_map(|field| field.split(' ').next()).collect();
    // The document has a row for each.
    let rows = DOCUMENT.lines().filter_map(|line| line.strip_prefix("| `request."));
    let rows = rows.filter_map(|row| row.split('`').next());
    // Fields of a part have rows of their own.
    let mut rows: Vec<_> = rows.filter(|row| !row.contains(['.', '['])).collect();
    fields.sort_unstable();
    rows.sort_unstable();
    assert_eq!(fields, rows);
    for (part, _) in RequestPart::ALL {
        assert!(fields.contains(part), "{part}");
    }
    let mut stage = Stage::new();
    let methods = DEFINITIONS.lines().filter_map(|line| line.strip_prefix("function response:"));
    let methods: Vec<_> = methods.filter_map(|method| method.split('(').next()).collect();
    assert!(methods.contains(&"redirect"), "{methods:?}");
    for method in methods {
        stage.body(&format!("assert(type(response.{method}) == 'function')"));
    }
}

#[test]
fn the_definitions_are_lua() {
    let mut stage = Stage::new();
    stage.state.provide("definitions", "velodrome.d.lua", DEFINITIONS).unwrap();
}
