//! `spawn`, `self`, `send` and `receive`: what the host receives, and what one process can do to another.

use std::time::Duration;

use script::engine::{EngineSettings, Fault, PageLogLevel, WaitReply};

use crate::process_engine::{ProcessEngine, resume_with, spawned};
use crate::stage::Stage;
use crate::waits::{Step, Wait};

/// The message that a page sends.
fn sent(stage: &mut Stage, code: &str) -> Vec<u8> {
    let page = stage.load(code);
    match stage.start(&page) {
        Step::Waits(_, Wait::Send { to, message }) => {
            assert_eq!(to, b"1.2.3");
            message
        }
        Step::Failed(error) => panic!("{error}"),
        _ => panic!("it sends"),
    }
}

#[test]
fn a_message_arrives_as_it_was_sent() {
    let mut stage = Stage::new();
    let message = sent(
        &mut stage,
        "send('1.2.3', { 'a\\0\\255', 2.5, -1, true, false, { deep = { key = 'v' }, [7] = 'seven' } })",
    );
    let page = stage.load(
        "local m = receive() _b:put(#m[1], ' ', m[2], ' ', m[3], ' ', tostring(m[4]), ' ', tostring(m[5]), ' ',
            m[6].deep.key, ' ', m[6][7])",
    );
    let Step::Waits(run, wait) = stage.start(&page) else { panic!("it waits") };
    assert_eq!(wait, Wait::Receive(None));
    assert!(matches!(resume_with(&mut stage, run, &message), Step::Done));
    assert_eq!(String::from_utf8_lossy(&stage.output.body), "3 2.5 -1 true false v seven");
}

#[test]
fn no_message_in_time_is_nil() {
    let mut stage = Stage::new();
    let page = stage.load("_b:put(tostring(receive(0.25)))");
    let Step::Waits(run, wait) = stage.start(&page) else { panic!("it waits") };
    assert_eq!(wait, Wait::Receive(Some(Duration::from_millis(250))));
    assert!(matches!(stage.resume(run), Step::Done));
    assert_eq!(stage.output.body, b"nil");
}

#[test]
fn sending_uncopyable_value_is_error_at_line_of_send() {
    let mut stage = Stage::new();
    for (code, message) in [
        ("send(1, 2)", "send takes the name of a process and a message, not a number"),
        ("send('x', nil)", "nil is no message"),
        ("send('x', print)", "a message cannot hold a function"),
        ("send('x', { { json.null } })", "a message cannot hold a userdata"),
        ("send('x', { [coroutine.create(print)] = 1 })", "a message cannot hold a thread"),
        (
            "local t = {} t.t = t send('x', t)",
            "a message has at most 50 tables within each other; this one may contain itself",
        ),
        (
            "local t = {} for i = 1, 6000 do t[i] = i end send('x', t)",
            "a message holds at most 10000 values",
        ),
        (
            "send('x', { ('x'):rep(600000), ('y'):rep(600000) })",
            "a message holds at most 1048576 bytes of text",
        ),
        ("receive('x')", "receive takes seconds, not the string 'x'"),
        ("receive(-1)", "receive takes seconds, not -1"),
        ("spawn('x')", "spawn takes a function, not a string"),
    ] {
        let error = stage.failure(code);
        assert_eq!(error.to_string(), format!("test.page.html:1: {message}"), "{code}");
    }
}

#[test]
fn a_page_asks_for_its_name_once() {
    let mut stage = Stage::new();
    let page =
        stage.load("_b:put(self(), ' ', coroutine.wrap(self)()) sleep(1) _b:put(' ', self())");
    for name in [&b"0.1.1"[..], b"0.1.2"] {
        let Step::Waits(run, wait) = stage.start(&page) else { panic!("it asks") };
        assert_eq!(wait, Wait::Name);
        let Step::Waits(run, _sleeps) = resume_with(&mut stage, run, name) else {
            panic!("it knows by now")
        };
        assert!(matches!(stage.resume(run), Step::Done));
        assert_eq!(stage.output.body, [name, b" ", name, b" ", name].concat());
    }
}

#[test]
fn the_reason_of_a_message_that_did_not_arrive_is_a_value() {
    let mut stage = Stage::new();
    let page =
        stage.load("local ok, why = send('1.2.3', 1) _b:put(tostring(ok), ' ', tostring(why))");
    let Step::Waits(run, _) = stage.start(&page) else { panic!("it sends") };
    assert!(matches!(stage.reply(run, WaitReply::Texts(&[b"", b"it has ended"])), Step::Done));
    assert_eq!(stage.output.body, b"nil it has ended");
    let Step::Waits(run, _) = stage.start(&page) else { panic!("it sends") };
    assert!(matches!(stage.resume(run), Step::Done));
    assert_eq!(stage.output.body, b"true nil");
}

#[test]
fn a_process_runs_beside_its_page() {
    let (mut stage, mut process_engine) = (Stage::new(), ProcessEngine::new());
    let code =
        "local name = spawn(function(...) sleep(1) log(select('#', ...), ...) end, 'a', nil, 'c')
        _b:put('made ', name)";
    let (parent, child) = spawned(&mut stage, &mut process_engine, code);
    let Step::Waits(child, Wait::Sleep(_)) = process_engine.resume(child) else {
        panic!("it sleeps")
    };
    assert!(matches!(resume_with(&mut stage, parent, b"0.5.1"), Step::Done));
    assert_eq!(stage.output.body, b"made 0.5.1");
    assert!(matches!(process_engine.resume(child), Step::Done));
    assert_eq!(process_engine.stage.desk.log, [(PageLogLevel::Info, "3 a nil c".to_owned())]);
}

#[test]
fn processes_of_account_share_memory_sum() {
    let (mut stage, mut process_engine) = (Stage::new(), ProcessEngine::new());
    let code = "spawn(function() local t = {} local own = tostring(t) for i = 1, 2000 do t[i] = own .. i \
                end receive() log(#t) end)";
    let page = stage.load(code);
    let mut children = Vec::new();
    for _ in 0..50 {
        let Step::Waits(_, Wait::Spawn(body)) = stage.start(&page) else { panic!("it spawns") };
        let child = process_engine.spawn(&body);
        let Step::Waits(child, Wait::Receive(_)) = process_engine.resume(child) else {
            panic!("it waits")
        };
        children.push(child);
    }
    let held = |process_engine: &ProcessEngine| {
        process_engine.stage.state.held_by_account(&process_engine.account)
    };
    let before = process_engine.stage.state.memory_used() as u64;
    let all = held(&process_engine);
    process_engine.stage.state.collect_garbage();
    let live = held(&process_engine);
    children.clear();
    process_engine.stage.state.collect_garbage();
    let given_back = before - process_engine.stage.state.memory_used() as u64;
    assert!(all.abs_diff(given_back) < given_back / 4, "{all} of {given_back}");
    // Some 90 bytes for each of 100,000 texts.
    assert!((4_000_000..14_000_000).contains(&live), "{live}");
    assert!(held(&process_engine) < 400_000, "{}", held(&process_engine));
}

#[test]
fn a_process_that_fails_or_loops_is_told_with_its_line() {
    let settings =
        EngineSettings { cpu_budget: Duration::from_millis(20), ..EngineSettings::default() };
    let (mut stage, mut process_engine) = (Stage::with(settings), ProcessEngine::with(settings));
    let (parent, child) =
        spawned(&mut stage, &mut process_engine, "spawn(function()\n error('no') end)");
    let Step::Failed(error) = process_engine.resume(child) else { panic!("it fails") };
    assert_eq!(error.to_string(), "test.page.html:2: no");
    drop(parent);
    let loops = "spawn(function()\n while true do end end)";
    let (_parent, child) = spawned(&mut stage, &mut process_engine, loops);
    let mut step = process_engine.resume(child);
    while let Step::Sliced(run) = step {
        step = process_engine.resume(run);
    }
    let Step::Failed(error) = step else { panic!("it loops") };
    assert_eq!((error.fault, error.line), (Fault::CpuBudget, 2));
}

#[test]
fn the_budget_of_a_process_is_used_up_as_its_host_says() {
    // Each round takes a fortieth of it, and a third where its loop did not become native code; all take more than it.
    let settings =
        EngineSettings { cpu_budget: Duration::from_millis(250), ..EngineSettings::default() };
    let mut stage = Stage::with(settings);
    let work = "local sum = 0 for i = 1, 8e6 do sum = sum + i % 3 end sleep(1)";
    let rounds = format!("for round = 1, 60 do {work} end");
    let page = stage.load(&rounds);
    let Err(error) = stage.play(&page) else { panic!("a page has its budget for the whole") };
    assert_eq!(error.fault, Fault::CpuBudget);
    let mut process_engine = ProcessEngine::with(settings);
    let (_parent, child) =
        spawned(&mut stage, &mut process_engine, &format!("spawn(function() {rounds} end)"));
    let mut step = process_engine.resume(child);
    let mut waits = 0;
    loop {
        step = match step {
            Step::Sliced(run) => process_engine.resume(run),
            Step::Waits(mut run, _) => {
                waits += 1;
                run.set_spent(0);
                process_engine.resume(run)
            }
            Step::Done => break,
            Step::Failed(error) => panic!("after {waits} waits: {error}"),
        };
    }
    assert_eq!(waits, 60);
    let (_parent, mut child) =
        spawned(&mut stage, &mut process_engine, "spawn(function() sleep(1) end)");
    child.set_spent(251_000_000);
    assert!(child.spent_ns() > 250_000_000);
    let Step::Failed(error) = process_engine.resume(child) else {
        panic!("all was spent, by others")
    };
    assert_eq!(error.fault, Fault::CpuBudget);
}
