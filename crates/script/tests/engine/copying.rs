//! `spawn`: which values are copied to the engine of processes, and which are refused.

use crate::process_engine::{ProcessEngine, resume_with, spawned};
use crate::stage::Stage;
use crate::waits::{Step, Wait};

/// The log of a process that this code spawns and that does not wait.
fn logged(code: &str) -> Vec<String> {
    let (mut stage, mut process_engine) = (Stage::new(), ProcessEngine::new());
    let (_parent, child) = spawned(&mut stage, &mut process_engine, code);
    match process_engine.resume(child) {
        Step::Done => {}
        Step::Failed(error) => panic!("{code}: {error}"),
        _ => panic!("{code}: it ends at once"),
    }
    process_engine.stage.desk.log.into_iter().map(|(_, text)| text).collect()
}

#[test]
fn a_process_has_copies_of_what_its_function_refers_to() {
    for (code, told) in [
        (
            "local n, s, b = 1.5, 'text', true spawn(function() log(n, s, b, nil) end)",
            "1.5 text true nil",
        ),
        // References to one table still refer to one table, also if it contains itself.
        (
            "local t = { x = 1 } t.own, t.list = t, { t } spawn(function(u) log(t.own == t, t.list[1] == t, \
             u == t) end, t)",
            "true true true",
        ),
        // Two functions share a variable, and each process has its own.
        (
            "local count = 0 local function add() count = count + 1 end
             spawn(function() add() add() log(count) end)",
            "2",
        ),
        (
            "local f f = function(n) return n == 0 and 1 or n * f(n - 1) end spawn(function() log(f(5)) end)",
            "120",
        ),
        (
            "local class = {} class.__index = class function class:name() return self.n end
          local o = setmetatable({ n = 'Ada' }, class) spawn(function() log(o:name()) end)",
            "Ada",
        ),
        (
            "local list = json.array() spawn(function() log(json.encode({ list, json.null })) end)",
            "[[],null]",
        ),
        ("local upper, log = string.upper, log spawn(function() log(upper('a')) end)", "A"),
        ("spawn(log.info, 'the function of a library')", "the function of a library"),
        ("local f = load('return 7') spawn(function() log(f()) end)", "7"),
        (
            "local own = { v = 3 } local f = load('return v', 'x', 't', own) spawn(function() log(f()) end)",
            "3",
        ),
        (
            "local a, b, c = 1 spawn(function() b = (b or 0) + 1 log(a, b, c, (function() return a end)()) \
             end)",
            "1 1 nil 1",
        ),
    ] {
        assert_eq!(logged(code), [told], "{code}");
    }
}

#[test]
fn processes_share_nothing() {
    let (mut stage, mut process_engine) = (Stage::new(), ProcessEngine::new());
    let code = "local count, list = 0, {}
        for _ = 1, 2 do spawn(function() count = count + 1 list[#list + 1] = count log(count, #list) end) end
        _b:put(count, ' ', #list)";
    let (parent, first) = spawned(&mut stage, &mut process_engine, code);
    assert!(matches!(process_engine.resume(first), Step::Done));
    let Step::Waits(parent, Wait::Spawn(body)) = resume_with(&mut stage, parent, b"0.1.1") else {
        panic!("it makes another")
    };
    let second = process_engine.spawn(&body);
    assert!(matches!(process_engine.resume(second), Step::Done));
    assert!(matches!(resume_with(&mut stage, parent, b"0.2.1"), Step::Done));
    assert_eq!(stage.output.body, b"0 0");
    assert_eq!(process_engine.stage.desk.log.len(), 2);
    assert!(process_engine.stage.desk.log.iter().all(|(_, text)| text == "1 1"));
}

#[test]
fn uncopyable_value_is_named_in_error() {
    let mut stage = Stage::new();
    for (code, named) in [
        (
            "spawn(function() log(request.path) end)",
            "`request` (the variable 'request' of the function): read what the process needs of it into \
             local variables first",
        ),
        (
            "spawn(function() response:write('x') end)",
            "`response` (the variable 'response' of the function): a process makes no answer",
        ),
        (
            "spawn(function() _b:put('x') end)",
            "the output of the page (the variable '_b' of the function): a process prints nowhere",
        ),
        (
            "local f = coroutine.wrap(print) spawn(function() f() end)",
            "a function of the library that is this page's own (the variable 'f' of the function)",
        ),
        ("spawn(print, 1, coroutine.create(print))", "a coroutine (argument 2)"),
        (
            "local t = { deep = { co = coroutine.create(print) } } spawn(function() log(t) end)",
            "a coroutine (the field 'co' of the field 'deep' of the variable 't' of the function)",
        ),
        (
            "spawn(print, request)",
            "`request` (argument 1): read what the process needs of it into local variables first",
        ),
        (
            "local cookies = request.signed_cookies spawn(function() log(cookies.user) end)",
            "a function of the library that is this page's own (the field '__index' of the metatable of the \
             variable 'cookies' of the function)",
        ),
    ] {
        let error = stage.failure(code);
        let expected = format!("test.page.html:1: spawn cannot copy {named}");
        assert_eq!(error.to_string(), expected, "{code}");
    }
    for (code, bound) in [
        ("local t = {} for i = 1, 6000 do t[i] = i end spawn(print, t)", "10000 values"),
        ("spawn(print, ('x'):rep(1100000))", "1048576 bytes"),
    ] {
        let error = stage.failure(code);
        let expected = format!("test.page.html:1: spawn: a process begins with at most {bound}");
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn a_process_has_app_modules_of_its_own() {
    let (mut stage, mut process_engine) = (Stage::new(), ProcessEngine::new());
    for state in [&mut stage.state, &mut process_engine.stage.state] {
        let text = "local count = 0 return { add = function() count = count + 1 return count end, word = \
                    'own' }";
        state.provide("tally", "tally.lua", text).unwrap();
        state.adopt_modules().unwrap();
    }
    let code = "local tally, add = require('tally'), require('tally').add
        tally.word = 'changed' add() add()
        spawn(function() log(tally.add(), add(), tally.word, require('tally') == tally) end)";
    let (_parent, child) = spawned(&mut stage, &mut process_engine, code);
    assert!(matches!(process_engine.resume(child), Step::Done));
    assert_eq!(process_engine.stage.desk.log[0].1, "1 2 own true");
}

#[test]
fn printing_in_process_is_refused() {
    for (code, named) in [
        (
            "spawn(function() include('x.html') end)",
            "include prints into an answer: a process makes none",
        ),
        (
            "spawn(function() layout('x.html') end)",
            "layout prints into an answer: a process makes none",
        ),
    ] {
        let (mut stage, mut process_engine) = (Stage::new(), ProcessEngine::new());
        let (_parent, child) = spawned(&mut stage, &mut process_engine, code);
        let Step::Failed(error) = process_engine.resume(child) else { panic!("{code}") };
        assert_eq!(error.message, named);
    }
}

#[test]
fn functions_of_one_text_are_compiled_for_all_processes() {
    let (mut stage, mut process_engine) = (Stage::new(), ProcessEngine::new());
    let code = "spawn(function() local sum = 0 for i = 1, 1000 do sum = sum + i end log(sum) end)";
    let page = stage.load(code);
    for _ in 0..20 {
        let Step::Waits(_, Wait::Spawn(body)) = stage.start(&page) else { panic!("it spawns") };
        let child = process_engine.spawn(&body);
        assert!(matches!(process_engine.resume(child), Step::Done));
    }
    let traces = process_engine.stage.state.usage().traces;
    assert!((1..20).contains(&traces), "{traces} pieces of native code");
}
