//! The memory that one run holds: it is measured, a run that holds too much is ended, and one that creates garbage is
//! not.

use std::time::Duration;

use script::engine::{EngineSettings, Fault, Handler, Run, ScriptError};

use crate::stage::Stage;
use crate::waits::Step;

const MIB: usize = 1 << 20;

/// Memory for four runs that hold the maximum, and no end of a slice by the clock.
fn settings() -> EngineSettings {
    EngineSettings {
        memory_bytes: 64 * MIB,
        run_memory_bytes: 8 * MIB,
        slice: Duration::from_secs(3600),
        ..EngineSettings::default()
    }
}

/// Starts a page that waits.
fn waiting(stage: &mut Stage, page: &Handler) -> Run {
    match stage.start(page) {
        Step::Waits(run, _) => run,
        Step::Failed(error) => panic!("{error}"),
        _ => panic!("it waits"),
    }
}

/// Continues to its next wait or its end, with all reviews in between. Also returns the number of slices.
fn to_its_wait(stage: &mut Stage, mut run: Run) -> (Result<Option<Run>, Box<ScriptError>>, usize) {
    for slices in 0.. {
        match stage.resume(run) {
            Step::Sliced(sliced) => run = sliced,
            Step::Waits(run, _) => return (Ok(Some(run)), slices),
            Step::Done => return (Ok(None), slices),
            Step::Failed(error) => return (Err(error), slices),
        }
    }
    unreachable!("the loop has no end")
}

#[test]
fn only_run_above_memory_bound_is_ended() {
    let mut stage = Stage::with(settings());
    let good = stage.load("local t = {} for i = 1, 1000 do t[i] = { i } end _b:put(#t)");
    let bad = stage.load(
        "local t = {}
        while true do
          for i = 1, 1000 do t[#t + 1] = { i } end
          sleep(0)
        end",
    );
    let mut run = waiting(&mut stage, &bad);
    let error = loop {
        assert_eq!(stage.play(&good).unwrap().body, "1000");
        let held = stage.state.held_by(&run);
        assert!(held < 13 * MIB as u64, "{held} bytes");
        run = match to_its_wait(&mut stage, run).0 {
            Ok(Some(run)) => run,
            Ok(None) => panic!("it has no end"),
            Err(error) => break error,
        };
    };
    assert_eq!(error.fault, Fault::Memory);
    assert_eq!(error.to_string(), "test.page.html:4: holds more than 8 MiB of memory");
    assert!(stage.state.memory_used() < 40 * MIB);
    stage.state.collect_garbage();
    assert!(stage.state.memory_used() < 4 * MIB, "nothing of it is left");
    assert_eq!(stage.play(&good).unwrap().body, "1000");
}

#[test]
fn interrupted_run_is_measured() {
    let settings = EngineSettings { slice: Duration::from_millis(1), ..settings() };
    let mut stage =
        Stage::with(EngineSettings { cpu_budget: Duration::from_secs(3600), ..settings });
    for code in [
        "local t = {} while true do t = { t } end",
        "local t = {} for i = 1, math.huge do t[#t + 1] = ('x'):rep(500) .. i end",
        "while true do _b:put('0123456789') end",
        "local t = {} while true do t[#t + 1] = coroutine.create(function() end) end",
    ] {
        let bad = stage.load(code);
        for _ in 0..2 {
            let error = stage.play(&bad).err().unwrap_or_else(|| panic!("{code}: it ended"));
            assert_eq!(error.fault, Fault::Memory, "{code}: {error}");
            assert_eq!(stage.body("_b:put('on')"), "on");
        }
    }
}

#[test]
fn garbage_is_not_held_however_much_it_is() {
    let mut stage = Stage::with(settings());
    // Others hold so much that the collector seldom runs by itself.
    let hold = stage.load("local t = {} for i = 1, 40000 do t[i] = { i } end sleep(0) _b:put(#t)");
    let others: Vec<Run> = (0..6).map(|_| waiting(&mut stage, &hold)).collect();
    for code in [
        "for _ = 1, 1000 do local t = {} for i = 1, 1000 do t[i] = { i } end sleep(0) end",
        "for i = 1, 1000 do local s = ('x'):rep(100000) .. i sleep(0) end",
        "local t = {} for i = 1, 1e6 do t[i % 1000] = { i } if i % 1000 == 0 then sleep(0) end end",
        // Alternately small values that are kept and large ones that are dropped.
        "local t = {} for i = 1, 20000 do t[i] = { i } t[0] = ('x'):rep(9000) .. i
          if i % 100 == 0 then sleep(0) end end",
    ] {
        let page = stage.load(code);
        let before = stage.state.usage().allocated_bytes;
        let mut run = Some(waiting(&mut stage, &page));
        let mut reviewed = 0;
        while let Some(waits) = run {
            let (next, slices) = to_its_wait(&mut stage, waits);
            run = next.unwrap_or_else(|error| panic!("{code}: {error}"));
            reviewed += slices;
        }
        let allocated = stage.state.usage().allocated_bytes - before;
        assert!(allocated > 64 * MIB as u64, "{code}: {allocated} bytes");
        assert!(reviewed > 0, "{code}: nobody looked");
    }
    for run in others {
        assert!(matches!(to_its_wait(&mut stage, run).0, Ok(None)));
        assert_eq!(stage.output.body, b"40000");
    }
}

#[test]
fn memory_of_run_is_measured_within_some_percent() {
    for code in [
        "local t = {} for i = 1, 60000 do t[i] = { i } end sleep(0) return t",
        "local t = {} for i = 1, 60 do t[i] = ('x'):rep(100000) .. i end sleep(0) return t",
        "local t = {} for i = 1, 6000 do t[i] = ('x'):rep(1000) .. i end sleep(0) return t",
        "for i = 1, 6e5 do _b:put('0123456789') end sleep(0)",
        // Nothing is left of what it wrote and dropped.
        "local t = {} for i = 1, 6e5 do t[i % 6e4] = { i } end sleep(0) return t",
    ] {
        let mut stage = Stage::with(EngineSettings { run_memory_bytes: 64 * MIB, ..settings() });
        let page = stage.load(code);
        stage.state.collect_garbage();
        let before = stage.state.memory_used();
        let run = waiting(&mut stage, &page);
        stage.state.collect_garbage();
        let really = (stage.state.memory_used() - before) as f64;
        // Its first allocations are counted although they may have been collected.
        let (held, unsure) = (stage.state.held_by(&run) as f64, MIB as f64);
        assert!(
            held > really * 0.9 && held < really * 1.1 + unsure,
            "{code}: {held}, not {really}"
        );
    }
}

#[test]
fn of_a_small_run_everything_counts() {
    let mut stage = Stage::new();
    let page = stage.load("for i = 1, 1000 do local t = {} t[i] = t end sleep(0)");
    for _ in 0..3 {
        let run = waiting(&mut stage, &page);
        let held = stage.state.held_by(&run);
        assert_eq!(stage.state.held_bytes(), held);
        stage.state.collect_garbage();
        assert_eq!(stage.state.held_by(&run), held);
        assert!((64_000..200_000).contains(&held), "{held} bytes");
    }
}

#[test]
fn input_of_run_is_charged_to_it() {
    let mut stage = Stage::new();
    let page = stage.load("local t = fetch('http://example.org/') sleep(0) _b:put(#t.body)");
    let run = waiting(&mut stage, &page);
    let body = vec![b'x'; 3 * MIB];
    let step = stage.reply(run, script::engine::WaitReply::Texts(&[b"200", b"", &body]));
    let Step::Waits(run, _) = step else { panic!("it waits") };
    let held = stage.state.held_by(&run);
    assert!(held > 3 * MIB as u64, "{held} bytes");
}

#[test]
fn loaded_modules_are_charged_to_no_run() {
    let mut stage = Stage::with(settings());
    let text = "local t = {} for i = 1, 250000 do t[i] = { i } end
        return function(b) b:put(#t) end";
    let page = stage.state.load(0, "table.page.html", text).unwrap();
    assert!(stage.state.memory_used() > 16 * MIB);
    assert_eq!(stage.play(&page).unwrap().body, "250000");
    assert!(stage.state.held_bytes() < 10_000, "{} bytes", stage.state.held_bytes());
}
