//! Pages that run: their output, their errors, and what they leave behind.

use std::time::Duration;

use script::engine::{Code, EngineSettings, Fault, Purpose};

use crate::stage::Stage;
use crate::waits::{Step, Wait};

#[test]
fn a_page_writes_and_the_output_crosses_once() {
    let mut stage = Stage::new();
    let page = stage.load(r#"_b:put("<p>", _e("a<b"), "</p>", _r("<i>"), 1, _e(nil), _e(false))"#);
    for _ in 0..3 {
        let course = stage.play(&page).unwrap();
        assert_eq!(course.body, "<p>a&lt;b</p><i>1false");
        assert_eq!((course.slices, course.waits.len()), (0, 0));
    }
    assert_eq!(stage.output.status, None);
    assert_eq!(stage.fields().count(), 0);
    assert!(stage.desk.asked.is_empty(), "nothing is asked for a page that does not look");
}

#[test]
fn a_page_chooses_what_is_escaped() {
    let mut stage = Stage::new();
    let text = "return function(b, e, r) b:put(r('<&>'), ' ', e('<&>')) end";
    let page = stage.state.load(0, "a", text).unwrap();
    assert_eq!(stage.play(&page).unwrap().body, "<&> &lt;&amp;&gt;");
}

#[test]
fn a_large_page_and_a_small_one_take_turns() {
    let mut stage = Stage::new();
    let large = stage.load("for i = 1, 40000 do _b:put('0123456789') end");
    let small = stage.load("_b:put('x')");
    for _ in 0..4 {
        assert_eq!(stage.play(&large).unwrap().body.len(), 400_000);
        assert_eq!(stage.play(&small).unwrap().body, "x");
    }
}

#[test]
fn printing_unprintable_value_is_error_with_line() {
    let mut stage = Stage::new();
    let error = stage.failure("\n\n_b:put(_e({}))");
    assert_eq!(error.to_string(), "test.page.html:3: cannot print a table");
    let printable = "setmetatable({}, { __tostring = function() return '<t>' end })";
    assert_eq!(stage.body(&format!("_b:put(_e({printable}))")), "&lt;t&gt;");
}

#[test]
fn a_compile_error_names_page_and_line() {
    let mut stage = Stage::new();
    let error = stage.try_load("\nif x them\n").err().unwrap();
    assert_eq!(
        (error.fault, error.page.as_str(), error.line),
        (Fault::Compile, "test.page.html", 2)
    );
    assert!(error.message.contains("'then' expected"), "{error}");
}

#[test]
fn an_error_names_page_line_and_the_way_there() {
    let mut stage = Stage::new();
    let error = stage.failure(
        "local function inner(x)\n  return x.field.deep\nend\nlocal function outer(x)\n  local y = \
         inner(x)\n  return y\nend\nouter({})",
    );
    assert_eq!(error.fault, Fault::Runtime);
    assert_eq!((error.page.as_str(), error.line), ("test.page.html", 2));
    assert_eq!(error.message, "attempt to index field 'field' (a nil value)");
    let way: Vec<_> = error.traceback.iter().map(|f| (f.function.as_str(), f.line)).collect();
    assert_eq!(way, [("inner", 2), ("outer", 5), ("", 8)]);
}

#[test]
fn an_error_raised_for_the_caller_names_the_caller() {
    let mut stage = Stage::new();
    let error = stage.failure("local function check()\n  error('no good', 2)\nend\n\ncheck()\n");
    assert_eq!(error.to_string(), "test.page.html:5: no good");
    let error = stage.failure("error({})");
    assert_eq!(error.message, "an error that is a table");
}

#[test]
fn an_error_may_begin_with_what_looks_like_a_place_and_is_none() {
    let mut stage = Stage::new();
    for told in ["redis:6379: connection refused", "db.local:5432: no route", "1:2: x"] {
        let error = stage.failure(&format!("\nerror('{told}', 0)"));
        assert_eq!((error.line, error.message.as_str()), (2, told));
        assert_eq!(error.page, "test.page.html");
    }
    // The statement of a coroutine that has ended about another page is one.
    let told = "local f = load('x = nil + 1', '=made') local _, why = pcall(f) error(why, 0)";
    assert_eq!(stage.failure(told).line, 1);
    let error = stage.failure("error('other.lua:7: no', 0)");
    assert_eq!((error.page.as_str(), error.line, error.message.as_str()), ("other.lua", 7, "no"));
}

#[test]
fn an_error_that_is_no_text_says_what_it_shows_itself_as() {
    let mut stage = Stage::with(EngineSettings {
        slice: Duration::from_millis(1),
        ..EngineSettings::default()
    });
    let raise = |shows: &str| {
        format!(
            "\nlocal meta = {{ __tostring = function(e) {shows} end }} error(setmetatable({{ code = 7 }}, \
             meta))"
        )
    };
    for (shows, told) in [
        ("return 'code ' .. e.code", "code 7"),
        // Errors that do not show within the time limit, as text, or as an error of their own.
        ("while true do end", "an error that is a table"),
        ("return 5", "an error that is a table"),
        ("error('again')", "an error that is a table"),
        ("sleep(1)", "an error that is a table"),
        ("response:write('x') return 'x'", "an error that is a table"),
        ("local t = {} while true do t = { t } end", "an error that is a table"),
    ] {
        let error = stage.failure(&raise(shows));
        assert_eq!((error.line, error.message.as_str()), (2, told), "{shows}: {error}");
        assert_eq!(stage.body("_b:put('on')"), "on");
    }
    assert_eq!(stage.failure("error(404)").message, "404");
    assert_eq!(stage.failure("error(nil)").message, "an error that is a nil");
    assert_eq!(stage.failure("error({ __tostring = 1 })").message, "an error that is a table");
}

#[test]
fn the_state_lives_on_after_errors() {
    let mut stage = Stage::new();
    let bad = stage.load("error('x')");
    let good = stage.load("_b:put('fine')");
    for _ in 0..200 {
        assert!(stage.play(&bad).is_err());
        assert_eq!(stage.play(&good).unwrap().body, "fine");
    }
}

#[test]
fn byte_code_gives_the_same() {
    let mut stage =
        Stage::with(EngineSettings { code: Code::Bytecode, ..EngineSettings::default() });
    assert_eq!(stage.body("for i = 1, 1000 do _b:put(i % 10) end").len(), 1000);
    assert_eq!(stage.body("_b:put(_e('<'))"), "&lt;");
}

#[test]
fn a_text_that_gives_no_function_is_no_page() {
    let mut stage = Stage::new();
    let error = stage.state.load(0, "a", "return 1").err().unwrap();
    assert_eq!(
        (error.fault, error.message.as_str()),
        (Fault::Compile, "it does not return a function")
    );
    let error = stage.state.load(0, "a", "\x1bLJ\x02").err().unwrap();
    assert_eq!(error.fault, Fault::Compile);
    let error = stage.state.load(0, "a", "error('top')").err().unwrap();
    assert_eq!(error.to_string(), "a:1: top");
    let error = stage.state.load(0, "a", "sleep(1) return print").err().unwrap();
    assert_eq!(error.message, "it waits while it is loaded");
}

#[test]
fn a_text_that_does_not_end_is_no_page() {
    let mut stage = Stage::with(EngineSettings::default());
    let error = stage.state.load(0, "a", "while true do end").err().unwrap();
    assert_eq!((error.fault, error.page.as_str(), error.line), (Fault::CpuBudget, "a", 1));
    let page = stage.state.load(
        0,
        "a",
        "local n = 0 for i = 1, 3e7 do n = n + i % 2 end return function(b) b:put(n) end",
    );
    assert_eq!(stage.play(&page.unwrap()).unwrap().body, "15000000");
}

#[test]
fn handlers_and_runs_can_be_dropped_at_any_time() {
    let mut stage = Stage::new();
    for _ in 0..500 {
        let page = stage.load("sleep(1)");
        let Step::Waits(run, _) = stage.start(&page) else { panic!("it waits") };
        drop(page);
        drop(run);
    }
    let page = stage.load("sleep(1) _b:put('late')");
    let Step::Waits(run, _) = stage.start(&page) else { panic!("it waits") };
    drop(page);
    assert!(matches!(stage.resume(run), Step::Done), "a run keeps its code");
    assert_eq!(stage.output.body, b"late");
}

#[test]
fn a_run_outlives_its_engine_as_a_handle_only() {
    let mut stage = Stage::new();
    let page = stage.load("sleep(1)");
    let Step::Waits(run, _) = stage.start(&page) else { panic!("it waits") };
    drop(stage);
    assert_eq!(run.page(), "test.page.html");
    drop(run);
    assert_eq!(page.name(), "test.page.html");
}

#[test]
fn too_little_memory_is_refused_at_start() {
    let settings = EngineSettings { memory_bytes: 100_000, ..EngineSettings::default() };
    let error = script::engine::EngineState::new(settings).err().unwrap();
    assert_eq!(
        error.to_string(),
        "100000 bytes are not enough for the page engine: raise its memory"
    );
}

#[test]
fn luajit_3_extensions_are_available_to_pages() {
    let mut stage = Stage::new();
    let text = "const laps = { 14, 0, 15 } local sum = 0
        for _, seconds in ipairs(laps) do
          if seconds == 0 then continue end
          sum += seconds
        end
        local twice = |x| -> x * 2
        _b:put(sum, ' ', twice(sum) != 58 ? 'odd' : 'even', ' ', laps?.best?.time ?? 'none', ' ', 6 & 3)";
    assert_eq!(stage.body(text), "29 even none 2");
    let names = "local continue, const = 1, { continue = 2 } _b:put(continue + const.continue)";
    assert_eq!(stage.body(names), "3", "older pages have these as names");
}

#[test]
fn an_exit_ends_the_page_wherever_it_is() {
    let mut stage = Stage::new();
    for code in [
        "_b:put('so far') response.status = 404 exit() _b:put('never')",
        "_b:put('so far') response.status = 404 pcall(function() exit() end) _b:put('never')",
        "_b:put('so far') response.status = 404
        coroutine.wrap(function() coroutine.wrap(exit)() end)() _b:put('never')",
    ] {
        let page = stage.load(code);
        for _ in 0..3 {
            assert_eq!(stage.play(&page).unwrap().body, "so far", "{code}");
            assert_eq!(stage.output.status, Some(404), "{code}");
        }
    }
    // Others are unaffected.
    assert_eq!(stage.body("_b:put('whole')"), "whole");
    // Output that was sent is not sent again.
    let page = stage.load("_b:put('sent') response:flush() _b:put('rest') exit() _b:put('never')");
    let Step::Waits(run, Wait::Flush) = stage.start(&page) else { panic!("it flushes") };
    assert_eq!(stage.output.body, b"sent");
    assert!(matches!(stage.resume(run), Step::Done));
    assert_eq!(stage.output.body, b"rest");
}

#[test]
fn a_module_that_is_loaded_has_nothing_to_exit_from() {
    let mut stage = Stage::new();
    stage.state.provide("api", "api.lua", "local x\nexit()\nreturn {}").unwrap();
    stage.state.adopt_modules().unwrap();
    let loaded = stage.state.load_module("api", "api.lua", Purpose::Answers, &mut stage.desk);
    let told = "api.lua:2: exit() ends what answers a request: nothing does so here";
    assert_eq!(loaded.err().unwrap().to_string(), told);
}
