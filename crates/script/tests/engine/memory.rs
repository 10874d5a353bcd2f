//! The memory limit: a run that requests too much is ended, and the engine continues.

use std::time::Duration;

use script::engine::{Code, EngineSettings, Fault};

use crate::stage::Stage;
use crate::waits::Step;

fn small() -> EngineSettings {
    EngineSettings {
        memory_bytes: 8 << 20,
        cpu_budget: Duration::from_secs(3600),
        ..EngineSettings::default()
    }
}

#[test]
fn endless_allocation_ends_the_page_only() {
    for code in [
        "local t = {} while true do t = { t } end",
        "local t = {} for i = 1, math.huge do t = { t, i } end",
        "local s = 'x' while true do s = s .. s end",
        "local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end",
        "while true do _b:put('0123456789') end",
        "_b:put(_e('<')) local t = {} while true do t = { t } end",
        "local t = {} while true do t[#t + 1] = coroutine.create(function() end) end",
        "local t = {} while true do t[#t + 1] = function() return t end end",
        "string.rep('x', 1e7)",
    ] {
        let mut stage = Stage::with(small());
        let good = stage.load("local t = {} for i = 1, 1000 do t[i] = { i } end _b:put(#t)");
        let bad = stage.load(code);
        for _ in 0..4 {
            let error = stage.play(&bad).err().unwrap_or_else(|| panic!("{code}: it ended"));
            assert_eq!(error.fault, Fault::Memory, "{code}: {error}");
            assert_eq!(error.message, "not enough memory");
            assert!(stage.state.memory_used() < 8 << 20);
            let left = stage.state.memory_used();
            match stage.play(&good) {
                Ok(course) => assert_eq!(course.body, "1000", "{code}"),
                Err(error) => panic!("{code}: {error} with {left} bytes in use"),
            }
        }
    }
}

/// LuaJIT's functions in assembler do not say where the stack ends when they allocate, and the error of an allocation
/// that fails is written there: in the link of such a function's own frame, where another call ended at that place
/// before.
#[test]
fn an_allocation_that_fails_in_assembler_writes_over_no_frame() {
    for ask in ["text:sub(i)", "text:sub(i):reverse()", "text:sub(i):upper()"] {
        for before in ["", "1, ", "1, 2, ", "1, 2, 3, "] {
            let mut stage = Stage::with(EngineSettings { code: Code::Bytecode, ..small() });
            let page = stage.load(&format!(
                "local text, kept = ('x'):rep(60000), {{}}
                local function keep(...) kept[#kept + 1] = select(-1, ...) end
                for i = 1, math.huge do
                    ('x'):rep(3) keep({before}{ask})
                    coroutine.wrap(function() ('x'):rep(3) keep({before}{ask}) end)()
                end"
            ));
            let error = stage.play(&page).err().unwrap_or_else(|| panic!("{ask}: it ended"));
            assert_eq!(error.fault, Fault::Memory, "{before}{ask}: {error}");
            assert_eq!(error.message, "not enough memory");
        }
    }
}

/// An out-of-memory error that a coroutine of the page passes on is the same error.
#[test]
fn memory_that_is_missing_within_a_coroutine_is_missing_memory() {
    for code in [
        "coroutine.wrap(function() local t = {} while true do t = { t } end end)()",
        "coroutine.wrap(coroutine.wrap(function() string.rep('x', 1e7) end))()",
    ] {
        let mut stage = Stage::with(small());
        let error = stage.failure(code);
        assert_eq!(error.fault, Fault::Memory, "{code}: {error}");
    }
}

/// LuaJIT frees a function by the number of its upvalues, which it sets when it has all of them: where one of them
/// found no room, a part of the function was counted for ever.
#[test]
fn a_function_whose_upvalues_find_no_room_is_given_back_whole() {
    let names = (1..=50).map(|number| format!("v{number}")).collect::<Vec<_>>().join(",");
    let mut stage = Stage::with(EngineSettings { code: Code::Bytecode, ..small() });
    let page = stage.load(&format!(
        "local last
        while true do
            local v0, {names} = last
            last = function() return v0, {names} end
        end"
    ));
    let good = stage.load("local t = {} for i = 1, 1000 do t[i] = { i } end");
    let least = |stage: &mut Stage| {
        let used = (0..200).map(|_| {
            stage.play(&good).expect("there is room");
            stage.state.memory_used()
        });
        used.min().unwrap_or_default()
    };
    let before = least(&mut stage);
    for _ in 0..100 {
        assert_eq!(stage.play(&page).expect_err("it ended").fault, Fault::Memory);
    }
    let after = least(&mut stage);
    assert!(after < before + 1_000, "{before} bytes before, {after} after");
}

#[test]
fn want_of_memory_is_no_table_after_a_table_was_refused() {
    let mut stage = Stage::with(EngineSettings {
        cpu_budget: Duration::from_secs(60),
        memory_bytes: 16 << 20,
        run_memory_bytes: 16 << 20,
        ..EngineSettings::default()
    });
    let caught = "local fine, why = pcall(function() local t = {} for i = 1, 2e6 do t[i * 3] = i end end) \
                  _b:put(tostring(fine))";
    assert_eq!(stage.body(caught), "false");
    let error = stage.failure("local t = {} for i = 1, 1e5 do t[i] = ('x'):rep(1000) .. i end");
    assert_eq!((error.fault, error.message.as_str()), (Fault::Memory, "not enough memory"));
    // In the same run, too.
    let error = stage.failure(&format!(
        "{caught} local t = {{}} for i = 1, 1e5 do t[i] = ('x'):rep(1000) .. i end"
    ));
    assert_eq!((error.fault, error.message.as_str()), (Fault::Memory, "not enough memory"));
}

#[test]
fn a_table_that_grows_too_large_is_an_error_with_its_line() {
    for code in [
        "local t = {}\nfor i = 1, 1e6 do t['key ' .. i] = i end",
        "local t = {}\nfor i = 1, 1e6 do t[i * 3] = i end",
        "local t = {}\nfor i = 1, 2e6 do t[i] = i end",
        "local t = {}\nfor i = 1, 2e6 do table.insert(t, i) end",
    ] {
        let mut stage = Stage::with(EngineSettings {
            cpu_budget: Duration::from_secs(60),
            ..EngineSettings::default()
        });
        let error = stage.failure(code);
        assert_eq!(error.fault, Fault::TableSize, "{code}: {error}");
        assert_eq!(
            error.message,
            "a table grows beyond 3 MiB: keep so much in several smaller ones"
        );
        // In native code that was never interrupted the line is not known.
        assert!(error.line == 2 || error.line == 0 && code.contains("2e6"), "{code}: {error}");
        assert_eq!(stage.body("_b:put('on')"), "on");
        // Smaller tables, and texts of any size, are allowed.
        let fits = "local t = {} for i = 1, 1e5 do t['key ' .. i] = i end local n = {} for i = 1, 2.6e5 do n[i] = i end
            _b:put(#n, ' ', #(('x'):rep(8e6)))";
        assert_eq!(stage.body(fits), "260000 8000000");
    }
}

/// In the time that a collection in steps takes, each slice and each step leave some bytes behind.
#[test]
fn runs_that_fill_the_memory_together_leave_room_for_the_next() {
    let slice = Duration::from_micros(200);
    let mut stage = Stage::with(EngineSettings { slice, ..EngineSettings::default() });
    let pages = [
        "local t = {} while true do t[#t + 1] = { #t } end",
        "local t = {} while true do t[#t + 1] = ('x'):rep(100) .. #t end",
        "local t = {} while true do t[{}] = {} end",
    ]
    .map(|code| stage.load(code));
    let [table, strings, keys] = &pages;
    let good = stage.load("local t = {} for i = 1, 1000 do t[i] = { i } end _b:put(#t)");
    for round in 0..3 {
        let mut steps: Vec<Step> =
            [table, table, strings, keys, keys].map(|page| stage.start(page)).into();
        while !steps.is_empty() {
            let go_on = |step| match step {
                Step::Sliced(run) => Some(stage.resume(run)),
                Step::Failed(_) => None,
                _ => panic!("it neither waits nor ends"),
            };
            steps = steps.into_iter().filter_map(go_on).collect();
        }
        assert_eq!(stage.play(&good).unwrap().body, "1000", "round {round}");
    }
}

#[test]
fn a_caught_refusal_does_not_help_for_ever() {
    let settings = EngineSettings { cpu_budget: Duration::from_millis(50), ..small() };
    let mut stage = Stage::with(settings);
    let error = stage.failure(
        "while true do pcall(function() local t = {} while true do t = { t } end end) end",
    );
    assert!(matches!(error.fault, Fault::CpuBudget | Fault::Memory), "{error}");
    assert_eq!(stage.body("_b:put('on')"), "on");
}

#[test]
fn huge_results_are_refused() {
    let mut stage = Stage::new();
    let error = stage.failure("string.rep('abc', 1e9)");
    assert_eq!(error.message, "the result of 'rep' is longer than 16777216 bytes");
    assert_eq!(
        stage.body("_b:put(#string.rep('', 1e9), #string.rep('x', -1), #('ab'):rep(3, '-'))"),
        "008"
    );
}

#[test]
fn garbage_of_pages_is_collected() {
    let mut stage = Stage::with(small());
    let page =
        stage.load("local t = {} for i = 1, 2000 do t[i] = ('x'):rep(100) .. i end _b:put(#t)");
    for _ in 0..500 {
        assert_eq!(stage.play(&page).unwrap().body, "2000");
    }
    assert!(stage.state.memory_used() < 8 << 20);
}

#[test]
fn a_module_that_is_taken_back_is_not_in_the_next_set() {
    let mut stage = Stage::new();
    stage.state.provide("a", "a.lua", "return 'never'").unwrap();
    stage.state.take_back("a");
    stage.state.take_back("b");
    stage.state.provide("c", "c.lua", "return 'c'").unwrap();
    stage.state.adopt_modules().unwrap();
    let found = stage.body("_b:put(require('c'), tostring((pcall(require, 'a'))))");
    assert_eq!(found, "cfalse");
}

#[test]
fn failed_or_dropped_run_leaves_only_garbage() {
    // It reaches its wait in one slice.
    let mut stage = Stage::with(EngineSettings { slice: Duration::from_secs(3600), ..small() });
    let keeps = "local t = {} for i = 1, 5000 do t[i] = i end
        request.rows = coroutine.wrap(function() coroutine.yield(#t) end) request.rows()";
    let bad = stage.load(&format!("{keeps} error('no')"));
    let waits = stage.load(&format!("{keeps} sleep(1)"));
    for round in 0..500 {
        let error = stage.play(&bad).unwrap_err();
        assert_eq!(error.fault, Fault::Runtime, "{round}: {error}");
        let Step::Waits(run, _) = stage.start(&waits) else { panic!("{round}: it waits") };
        drop(run);
    }
}

/// Where little room is left, garbage is collected in steps between the runs, and none of them waits for the whole of
/// it.
#[test]
fn garbage_behind_runs_is_collected_in_steps() {
    let mut stage = Stage::with(EngineSettings { memory_bytes: 96 << 20, ..small() });
    let hoard = stage.load("local t = {} for i = 1, 1e5 do t[i] = { i, {}, {}, {} } end sleep(1)");
    let small = stage.load("_b:put('on')");
    let mut hoards = Vec::new();
    while stage.state.memory_used() < 56 << 20 {
        let mut step = stage.start(&hoard);
        while let Step::Sliced(run) = step {
            step = stage.resume(run);
        }
        let Step::Waits(run, _) = step else { panic!("it waits") };
        hoards.push(run);
    }
    for hoard in hoards {
        assert!(matches!(stage.resume(hoard), Step::Done));
    }
    let mut before = stage.state.memory_used();
    let (full, mut runs) = (before, 0);
    while stage.state.memory_used() > 16 << 20 {
        assert_eq!(stage.play(&small).unwrap().body, "on");
        let used = stage.state.memory_used();
        assert!(before.saturating_sub(used) < 4 << 20, "{before} to {used} in one run");
        before = used;
        runs += 1;
        assert!(runs < 10_000, "{used} bytes of {full} are left");
    }
}

/// Memory of runs that are over does not stay until somebody is refused for want of it.
#[test]
fn garbage_of_large_runs_is_collected() {
    let mut stage = Stage::with(EngineSettings {
        memory_bytes: 64 << 20,
        run_memory_bytes: 32 << 20,
        ..small()
    });
    let large = stage.load(
        "local piece = ('y'):rep(1000000)
        for _ = 1, 10 do response:write(piece) end",
    );
    let held = stage
        .load("local list = {} for i = 1, 3 do list[i] = i .. ('z'):rep(3000000) end sleep(1)");
    assert_eq!(stage.play(&large).unwrap().body.len(), 10_000_000);
    while stage.state.memory_used() < 33 << 20 {
        stage.play(&held).unwrap();
    }
    let full = stage.state.memory_used();
    let mut steps = 0;
    while stage.state.clear_away() {
        steps += 1;
        assert!(steps < 10_000, "{} bytes are left", stage.state.memory_used());
    }
    let left = stage.state.memory_used();
    assert!(left < 32 << 20, "{left} bytes of {full} are left");
}

/// A waiting page costs at most 3 KiB.
#[test]
fn a_waiting_page_costs_little() {
    const PAGES: usize = 1_000;
    let mut stage = Stage::new();
    let page = stage.load(
        "local name = request.query.name
        _b:put('<h1>', _e(name), '</h1>')
        sleep(1)
        _b:put('<p>done</p>')",
    );
    assert_eq!(stage.play(&page).unwrap().waits.len(), 1);
    stage.state.collect_garbage();
    let before = stage.state.memory_used();
    let mut runs = Vec::with_capacity(PAGES);
    for _ in 0..PAGES {
        let Step::Waits(run, _) = stage.start(&page) else { panic!("it waits") };
        runs.push(run);
    }
    stage.state.collect_garbage();
    let each = (stage.state.memory_used() - before) / PAGES + size_of_val(&runs[0]);
    assert!(each <= 3 * 1024, "{each} bytes for each waiting page");
    for run in runs {
        assert!(matches!(stage.resume(run), Step::Done));
        assert!(stage.output.body.ends_with(b"</h1><p>done</p>"));
    }
}
