//! Endless pages: they yield slice after slice, others run in between, and their time is
//! limited.

use std::time::Duration;

use script::engine::{Code, EngineSettings, Fault};

use crate::stage::Stage;
use crate::waits::Step;

/// Slices that every endless page must show, with another page in between.
const SLICES: usize = 40;

/// Resumes in which they must have come.
const RESUMES_MAX: usize = 60;

fn patient() -> EngineSettings {
    EngineSettings { cpu_budget: Duration::from_secs(3600), ..EngineSettings::default() }
}

/// Checks that the page is interrupted repeatedly, and that the engine runs others in between.
fn yields_for_ever(settings: EngineSettings, code: &str) {
    let mut stage = Stage::with(settings);
    let endless = stage.load(code);
    let other = stage.load("local t = {} for i = 1, 50 do t[i] = i end _b:put(#t)");
    let mut step = stage.start(&endless);
    let mut slices = 0;
    for _ in 0..RESUMES_MAX {
        step = match step {
            Step::Sliced(run) => {
                slices += 1;
                if slices == SLICES {
                    drop(run);
                    assert_eq!(stage.play(&other).unwrap().body, "50");
                    return;
                }
                assert_eq!(stage.play(&other).unwrap().body, "50");
                stage.resume(run)
            }
            Step::Failed(error) => panic!("{code}: {error} {:?}", error.traceback),
            Step::Done | Step::Waits(..) => {
                panic!("{code}: it neither ends nor waits")
            }
        };
    }
    panic!("{code}: {slices} slices in {RESUMES_MAX} resumes");
}

/// Checks that the page is ended when its CPU time is used up, and that the engine continues.
fn is_ended(code: &str) {
    let settings =
        EngineSettings { cpu_budget: Duration::from_millis(20), ..EngineSettings::default() };
    let mut stage = Stage::with(settings);
    let error = stage.failure(code);
    assert_eq!(error.fault, Fault::CpuBudget, "{code}: {error}");
    assert_eq!(error.message, "used more than 20 ms of CPU time");
    assert_eq!(error.page, "test.page.html");
    assert!(error.line > 0, "{code}: {error:?}");
    assert_eq!(stage.body("_b:put('on')"), "on");
}

const ENDLESS: [&str; 12] = [
    "while true do end",
    "repeat until false",
    "::again:: goto again",
    "local x = 0 for i = 1, math.huge do x = x + i % 7 end",
    "local function deep(n) if n == 0 then return 0 end return 1 + deep(n - 1) end while true do deep(100) \
     end",
    "local function tail() return tail() end tail()",
    "while true do pcall(error) end",
    "while true do pcall(function() while true do end end) end",
    "local t = {} while true do t = { t[1], {}, {} } end",
    "local s = '' while true do s = s .. 'x' if #s > 1000 then s = '' end end",
    "local t = {} for i = 1, 100 do t[i] = i end while true do for k, v in pairs(t) do t[k] = v + 1 end end",
    "local mt = { __index = function(t, k) return k end } local t = setmetatable({}, mt) local n = 0 while \
     true do n = t[n] + 1 end",
];

#[test]
fn endless_native_code_is_interrupted() {
    for code in ENDLESS {
        yields_for_ever(patient(), code);
    }
}

#[test]
fn endless_byte_code_is_interrupted() {
    for code in ENDLESS {
        yields_for_ever(EngineSettings { code: Code::Bytecode, ..patient() }, code);
    }
}

#[test]
fn endless_coroutines_are_interrupted() {
    for code in [
        "coroutine.wrap(function() while true do end end)()",
        "local c = coroutine.create(function() while true do coroutine.yield(1) end end) while true do \
         coroutine.resume(c) end",
        "while true do coroutine.wrap(function() coroutine.wrap(function() for i = 1, 1e6 do end end)() \
         end)() end",
        "local function gen() return coroutine.wrap(function() for i = 1, 10 do coroutine.yield(i) end end) \
         end while true do for v in gen() do end end",
    ] {
        yields_for_ever(patient(), code);
    }
}

#[test]
fn the_budget_ends_what_pcall_cannot_hold() {
    for code in [
        "while true do end",
        "while true do pcall(error) end",
        "while true do pcall(function() while true do end end) end",
        "while true do xpcall(error, function() end) end",
        "xpcall(error, function() while true do end end)",
        "xpcall(error, function() while true do pcall(coroutine.wrap(function() while true do end end)) end \
         end)",
        "local t = setmetatable({}, { __tostring = function() while true do end end }) while true do \
         pcall(string.format, '%s', t) end",
        "coroutine.wrap(function() while true do pcall(function() while true do end end) end end)()",
    ] {
        is_ended(code);
    }
}

#[test]
fn endless_recursion_is_an_error_of_its_own() {
    let mut stage = Stage::with(patient());
    let error = stage.failure("local function f() return 1 + f() end\nf()");
    assert_eq!((error.fault, error.line), (Fault::Runtime, 1));
    assert_eq!(error.message, "stack overflow");
    assert_eq!(stage.body("_b:put('on')"), "on");
}

#[test]
fn the_results_of_interrupted_work_are_right() {
    let mut stage = Stage::with(patient());
    let page = stage.load(
        "local sum, text = 0, {}
        for i = 1, 3e6 do sum = (sum * 31 + i) % 1000003 end
        local c = coroutine.wrap(function(a)
          for i = 1, 3e6 do a = (a * 31 + i) % 1000003 end
          local b = coroutine.yield(a)
          for i = 1, 3e6 do b = (b * 31 + i) % 1000003 end
          return b
        end)
        local first = c(0)
        _b:put(sum, ' ', first, ' ', c(0))",
    );
    let mut expected = 0_u64;
    for number in 1..=3_000_000_u64 {
        expected = (expected * 31 + number) % 1_000_003;
    }
    let course = stage.play(&page).unwrap();
    assert_eq!(course.body, format!("{expected} {expected} {expected}"));
    assert!(course.slices > 2, "{} slices", course.slices);
}

#[test]
fn where_it_cannot_be_interrupted_it_is_stopped() {
    let settings = EngineSettings { slice: Duration::from_micros(200), ..patient() };
    let mut stage = Stage::with(settings);
    let code = "local t = setmetatable({}, { __tostring = function() while true do end end })
        while true do pcall(_b.put, _b, t) end";
    let error = stage.failure(code);
    assert_eq!(error.fault, Fault::Stalled);
    assert_eq!(stage.body("_b:put('on')"), "on");
}

#[test]
fn run_without_interruption_point_is_ended_with_line() {
    let settings = EngineSettings {
        slice: Duration::from_micros(100),
        // Several ticks of the slowest kernel (4 ms): the CPU clock of a thread advances in such steps if other threads
        // use its CPU as well.
        uninterrupted: Duration::from_millis(25),
        run_memory_bytes: 256 << 20,
        memory_bytes: 512 << 20,
        ..patient()
    };
    let mut stage = Stage::with(settings);
    // One instruction that joins 24 MB, within which nothing interrupts.
    let joined = ["text"; 160].join("..");
    let error = stage.failure(&format!(
        "local n, text = 0, ('0'):rep(150000)
        text = {joined} for i = 1, 1e7 do n = (n + i) % 7 end
        _b:put(n)",
    ));
    assert_eq!(error.fault, Fault::Stalled, "{error}");
    assert_eq!(error.line, 2, "{error}");
    let divided = "local n = 0 for i = 1, 2e7 do n = (n + i) % 7 end _b:put('divided')";
    assert_eq!(stage.body(divided), "divided");
}

#[test]
fn many_endless_pages_share_an_engine() {
    let mut stage = Stage::with(patient());
    let endless = stage.load("local n = 0 while true do n = n + 1 end");
    let mut runs = Vec::new();
    for _ in 0..20 {
        let Step::Sliced(run) = stage.start(&endless) else { panic!("it is endless") };
        runs.push(run);
    }
    for _ in 0..3 {
        for _ in 0..runs.len() {
            let Step::Sliced(run) = stage.resume(runs.remove(0)) else { panic!("it is endless") };
            runs.push(run);
        }
    }
}
