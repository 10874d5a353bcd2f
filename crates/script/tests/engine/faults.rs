//! How faults are told: where they happened, and by which way.

use script::engine::{Fault, Frame, Settings};

use crate::stage::Stage;

#[test]
fn what_is_called_again_and_again_is_one_place_of_the_way() {
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
            "local function f(n) if n == 1 then error('no') end\nreturn 1 + f(n - 1) end\nreturn 1 +\nf({depth})"
        );
        let error = stage.failure(&code);
        let way: Vec<_> = error.traceback.iter().map(|frame| (frame.line, frame.times)).collect();
        let inner = [(1, 1), (2, depth - 1), (4, 1)];
        let expected: Vec<_> = inner.into_iter().filter(|(_, times)| *times > 0).collect();
        assert_eq!(way, expected, "{depth}");
    }
}

#[test]
fn want_of_memory_has_a_line() {
    let mut stage = Stage::with(Settings { memory_bytes: 4 << 20, ..Settings::default() });
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
fn what_cannot_wait_says_so_in_the_line_of_the_page() {
    let mut stage = Stage::new();
    let cannot =
        "cannot wait within string.format (__tostring) or the handler of xpcall: call it outside";
    let shown = "local shown = setmetatable({}, { __tostring = function()\n";
    for (code, call) in [
        ("sleep(1)", "sleep"),
        ("receive(1)", "receive"),
        ("coroutine.yield(1)", "coroutine.yield"),
        ("coroutine.wrap(function() sleep(1) end)()", "what runs in the coroutine"),
    ] {
        let code = format!(
            "{shown}{code}\nreturn 'x' end }})\nlocal f = coroutine.wrap(function()\nreturn ('%s'):format(shown) end)\nf()"
        );
        let error = stage.failure(&code);
        assert_eq!((error.line, error.message.clone()), (2, format!("{call} {cannot}")), "{code}");
    }
    let code = "local _, why = xpcall(error, function()\nlocal _, why = pcall(function()\nsleep(1) end) return why end)\n_b:put(why)";
    assert_eq!(stage.body(code), format!("test.page.html:3: sleep {cannot}"));
}

#[test]
fn frames_read_as_places() {
    let frame = |line, times| Frame { page: "a".to_owned(), line, function: String::new(), times };
    assert_eq!(
        (frame(3, 1).to_string(), frame(3, 2).to_string()),
        ("a:3".to_owned(), "a:3 (2 times)".to_owned())
    );
    assert_eq!(frame(0, 1).to_string(), "a");
}
