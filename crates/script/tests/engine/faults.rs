//! How errors are reported: their place, and the calls that led there.

use std::time::Duration;

use script::engine::{EngineSettings, Fault, TracebackFrame};

use crate::stage::Stage;

#[test]
fn repeated_frames_are_one_line_of_traceback() {
    let mut stage = Stage::new();
    let error = stage.failure("local function f()\nreturn 1 + f() end\nlocal n = f()");
    assert_eq!((error.line, error.message.as_str()), (2, "stack overflow"));
    let way = &error.traceback;
    let [inner, outer] = &way[..] else { panic!("{way:?}") };
    assert_eq!((inner.line, outer.line, outer.times), (2, 3, 1), "{way:?}");
    assert!(inner.times > 1000, "{way:?}");
    assert_eq!(inner.to_string(), format!("test.page.html:2 ({} times)", inner.times));
    assert_eq!(outer.to_string(), "test.page.html:3");
}

#[test]
fn a_long_way_has_its_beginning_and_its_end() {
    let mut stage = Stage::new();
    let code = "local g
local function f(n)
if n == 0 then error('deep') end return 1 +
g(n - 1) end
g = function(n) return 1 +
f(n) end
return 1 +
f(500)";
    let error = stage.failure(code);
    assert_eq!((error.line, error.message.as_str()), (3, "deep"));
    let lines: Vec<_> = error.traceback.iter().map(|frame| frame.line).collect();
    assert!(lines.len() < 70, "{lines:?}");
    assert_eq!((lines[..3].to_vec(), lines.last()), (vec![3, 6, 4], Some(&8)), "{lines:?}");
    assert!(error.traceback.iter().all(|frame| frame.times == 1), "{:?}", error.traceback);
}

#[test]
fn few_levels_are_counted_as_they_are() {
    let mut stage = Stage::new();
    for depth in [1, 2, 30, 47, 48, 49, 64, 65, 66, 67, 100] {
        let code = format!(
            "local function f(n) if n == 1 then error('no') end\nreturn 1 + f(n - 1) end\nreturn 1 \
             +\nf({depth})"
        );
        let error = stage.failure(&code);
        let way: Vec<_> = error.traceback.iter().map(|frame| (frame.line, frame.times)).collect();
        let inner = [(1, 1), (2, depth - 1), (4, 1)];
        let expected: Vec<_> = inner.into_iter().filter(|(_, times)| *times > 0).collect();
        assert_eq!(way, expected, "{depth}");
    }
}

#[test]
fn builtin_lua_code_is_no_page_position() {
    let settings =
        EngineSettings { cpu_budget: Duration::from_millis(20), ..EngineSettings::default() };
    let mut stage = Stage::with(settings);
    for call in ["table.move(t, 1, 1e5, 2)", "table.insert(t, 1, 0) table.remove(t, 1)"] {
        let code = format!(
            "local t = {{}} for index = 1, 1e5 do t[index] = index end\nwhile true do\n{call}\nend"
        );
        let error = stage.failure(&code);
        assert_eq!((error.fault, &*error.page), (Fault::CpuBudget, "test.page.html"), "{error}");
        assert!((2..=4).contains(&error.line), "{error}");
        assert!(error.traceback.iter().all(|frame| frame.page == "test.page.html"), "{error:?}");
    }
}

#[test]
fn want_of_memory_has_a_line() {
    // Within one slice: after the end of one, which may be in native code, the line need not be known.
    let slice = Duration::from_secs(5);
    let mut stage =
        Stage::with(EngineSettings { memory_bytes: 4 << 20, slice, ..EngineSettings::default() });
    for code in [
        "local function grow()\nlocal t = {} for n = 1, 1e9 do t[n] = { n } end\nend\n\ngrow()",
        "local s = 'x'\nlocal function double() s = s .. s end\nfor n = 1, 40 do\ndouble() end",
    ] {
        let error = stage.failure(code);
        assert_eq!(error.fault, Fault::Memory, "{code}: {error}");
        assert!(error.line > 0, "{code}: {error:?}");
    }
}

#[test]
fn waiting_in_non_yieldable_place_is_error_with_line() {
    let mut stage = Stage::new();
    // Normally no C function calls back into a page, but this test has the buffer itself.
    let shown = "local shown = setmetatable({}, { __tostring = function()\n";
    for (code, message) in [
        ("sleep(1)", "sleep cannot wait here: a function of C called this"),
        ("receive(1)", "receive cannot wait here: a function of C called this"),
        ("coroutine.yield(1)", "coroutine.yield cannot wait here: a function of C called this"),
        (
            "coroutine.wrap(function() sleep(1) end)()",
            "a coroutine cannot be resumed here: a function of C called this",
        ),
    ] {
        let code = format!(
            "{shown}{code}\nreturn 'x' end }})\nlocal f = coroutine.wrap(function()\n_b:put(shown) end)\nf()"
        );
        let error = stage.failure(&code);
        assert_eq!((error.line, error.message.as_str()), (2, message), "{code}");
    }
}

#[test]
fn tostring_and_error_handlers_may_wait() {
    let mut stage = Stage::new();
    let code =
        "local shown = setmetatable({}, { __tostring = function() sleep(1) return 'shown' end })
        _b:put(('%s, %q; %%%d'):format(shown, shown, 3), ' ')
        response:write(shown, ' ')
        _b:put(select(2, xpcall(error, function(why) sleep(2) return why .. '!' end, 'no')))";
    let page = stage.load(code);
    let course = stage.play(&page).unwrap();
    assert_eq!(course.body, "shown, \"shown\"; %3 shown no!");
    assert_eq!(course.waits.len(), 4);
}

#[test]
fn frames_read_as_places() {
    let frame =
        |line, times| TracebackFrame { page: "a".to_owned(), line, function: String::new(), times };
    assert_eq!(
        (frame(3, 1).to_string(), frame(3, 2).to_string()),
        ("a:3".to_owned(), "a:3 (2 times)".to_owned())
    );
    assert_eq!(frame(0, 1).to_string(), "a");
}

/// The message of a page's error, and its calls: page and line of each.
fn told(stage: &mut Stage, code: &str) -> (String, Vec<String>) {
    let error = stage.failure(code);
    (error.to_string(), error.traceback.iter().map(ToString::to_string).collect())
}

#[test]
fn a_call_that_ends_its_function_has_its_line() {
    let mut stage = Stage::new();
    for (code, what) in [
        ("return error('no')", "no"),
        ("return error('no', 0)", "no"),
        ("return error('no', tonumber(1))", "no"),
        (
            "return include('none.html')",
            "there is no part 'none.html': it would be the file none.page.html",
        ),
        ("return string.rep('x', 1e9)", "the result of 'rep' is longer than 16777216 bytes"),
        ("return require('none')", "there are no modules"),
    ] {
        let (text, way) = told(&mut stage, &format!("\n{code}"));
        assert_eq!(text, format!("test.page.html:2: {what}"), "{code}");
        assert_eq!(way, ["test.page.html:2"], "{code}");
    }
    // Which of the two lines it was cannot be known.
    let code = "local one = 1\nif one == 1 then return error('no') end\nreturn error('never')";
    assert_eq!(told(&mut stage, code).0, "test.page.html: no");
    // A very long page is not searched either.
    let code = format!("local n = 0 {}\nreturn error('no')", "n = n + 1 ".repeat(20_000));
    assert_eq!(told(&mut stage, &code).0, "test.page.html: no");
    // An error with a place of its own keeps it.
    let code = "local function f()\nreturn nope.x end\n\nreturn f()";
    let (text, way) = told(&mut stage, code);
    assert_eq!(text, "test.page.html:2: undefined global 'nope'");
    assert_eq!(way, ["test.page.html:2", "test.page.html:4"]);
    let code = "pcall(error)\nlocal n = nil\nlocal m = n.x\nreturn pcall(m)";
    assert_eq!(told(&mut stage, code).1, ["test.page.html:3"]);
}

fn provide(stage: &mut Stage, modules: &[(&str, &str)]) {
    for (name, text) in modules {
        stage.state.provide(name, &format!("{name}.lua"), text).unwrap();
    }
    stage.state.adopt_modules().unwrap();
}

#[test]
fn traceback_names_requirer_of_failing_module() {
    let mut stage = Stage::new();
    let modules = [
        ("bad", "local x\n\nlocal y = x.y"),
        ("tail", "local x\nreturn require('bad')"),
        ("plain", "\n\nlocal tail = require('tail')\nreturn tail"),
        ("gone", "\nreturn require('none')"),
        ("one", "return require('two')"),
        ("two", "\nlocal one = require('one') return one"),
    ];
    provide(&mut stage, &modules);
    let (text, way) = told(&mut stage, "\n\n\nreturn require('plain')");
    assert_eq!(text, "bad.lua:3: attempt to index local 'x' (a nil value)");
    assert_eq!(way, ["bad.lua:3", "tail.lua:2", "plain.lua:3", "test.page.html:4"]);
    let (text, way) = told(&mut stage, "return require('gone')");
    assert_eq!(text, "gone.lua:2: module 'none' is not there, or cannot be compiled");
    assert_eq!(way, ["gone.lua:2", "test.page.html:1"]);
    // A cycle is found even if the module ends with the call that leads back to it.
    for name in ["one", "two"] {
        let (text, _) = told(&mut stage, &format!("require('{name}')"));
        assert!(text.ends_with(&format!(": module '{name}' requires itself")), "{text}");
    }
    // A caught error leaves no trace: the next one has the same message.
    let code = "for n = 1, 2 do\nlocal _, why = pcall(require, 'bad') _b:put(why, ';') end";
    let expected = "bad.lua:3: attempt to index local 'x' (a nil value);".repeat(2);
    assert_eq!(stage.body(code), expected);
}

#[test]
fn a_handler_that_ends_with_a_call_has_its_line() {
    let mut stage = Stage::new();
    let module = "local function around(request, response, next)
  return next()
end
return { use = { around }, GET = function()
  return error('no')
end }";
    provide(&mut stage, &[("api", module)]);
    let purpose = script::engine::Purpose::Answers;
    let handler = stage.state.load_module("api", "api.lua", purpose, &mut stage.desk).unwrap();
    let error = stage.play(&handler).unwrap_err();
    assert_eq!(error.to_string(), "api.lua:5: no");
    let way: Vec<_> = error.traceback.iter().map(ToString::to_string).collect();
    assert_eq!(way, ["api.lua:5", "api.lua:2"]);
}

#[test]
fn want_of_memory_in_the_page_itself_has_the_line_it_was_last_seen_at() {
    // A run may use all memory, so that it runs out of it.
    let run_memory_bytes = EngineSettings::default().memory_bytes;
    let cpu_budget = Duration::from_secs(3600);
    let mut stage =
        Stage::with(EngineSettings { run_memory_bytes, cpu_budget, ..EngineSettings::default() });
    for code in [
        "local t = {}\nfor n = 1, 1e9 do\nt = { t, {} } end",
        "local t = {}\nwhile true do\nt = { t, ('x'):rep(2000) } end",
        "local t = {}\nlocal function grow()\nfor n = 1, 1e9 do t = { t, {} } end\nend\nreturn grow()",
    ] {
        let error = stage.failure(code);
        assert_eq!((error.fault, error.message.as_str()), (Fault::Memory, "not enough memory"));
        assert!((2..=3).contains(&error.line), "{code}: {error:?}");
        assert!(error.traceback.iter().all(|frame| frame.line != 0), "{error:?}");
    }
    // The run is not sampled before it requests too much: only the page is known.
    let mut stage = Stage::new();
    let error =
        stage.failure("local t, big = {}, ('x'):rep(1e7) for n = 1, 9 do t[n] = big .. n end");
    assert_eq!(error.to_string(), "test.page.html: not enough memory");
}
