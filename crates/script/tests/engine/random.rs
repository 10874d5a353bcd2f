//! Random numbers: a run's use of them does not affect other runs.

use script::engine::EngineSettings;

use crate::stage::Stage;
use crate::waits::Step;

fn numbers(stage: &mut Stage, code: &str) -> Vec<f64> {
    let body = stage.body(&format!("{code} for _ = 1, 5 do _b:put(math.random(), ' ') end"));
    body.split_whitespace().map(|number| number.parse().unwrap()).collect()
}

#[test]
fn a_seed_is_of_the_run_that_chose_it() {
    let seeded = "math.randomseed(7)";
    let [mut one, mut other] =
        [1, 2].map(|seed| Stage::with(EngineSettings { seed, ..EngineSettings::default() }));
    let chosen = numbers(&mut one, seeded);
    assert_eq!(chosen, numbers(&mut other, seeded), "the same seed, the same numbers");
    assert_eq!(chosen, numbers(&mut one, seeded));
    assert_ne!(chosen, numbers(&mut one, "math.randomseed(8)"));
    assert_ne!(chosen, numbers(&mut one, "math.randomseed(7.25)"));
    // A run without a seed of its own gets the engine's numbers, as if no other run had set one.
    let (after, free) = (numbers(&mut one, ""), numbers(&mut other, ""));
    assert_ne!(after, free, "the seeds of the engines");
    let mut alone = Stage::with(EngineSettings { seed: 1, ..EngineSettings::default() });
    assert_eq!(after, numbers(&mut alone, ""));
}

#[test]
fn a_run_that_waits_keeps_its_numbers() {
    let mut stage = Stage::new();
    let alone = stage.body("math.randomseed(3) math.random() _b:put(math.random(1000000))");
    let waits =
        stage.load("math.randomseed(3) math.random() sleep(1) _b:put(math.random(1000000))");
    let Step::Waits(run, _) = stage.start(&waits) else { panic!("it does not wait") };
    stage.body("math.randomseed(3) math.random() coroutine.wrap(function() math.random() end)()");
    assert!(matches!(stage.resume(run), Step::Done));
    assert_eq!(String::from_utf8_lossy(&stage.output.body), alone);
    let within = "math.randomseed(3) coroutine.wrap(function() math.random() end)() \
                  _b:put(math.random(1000000))";
    assert_eq!(stage.body(within), alone, "a coroutine of the page is of the same run");
}

#[test]
fn numbers_are_in_their_interval_and_spread() {
    let mut stage = Stage::new();
    let code = "for _, seed in ipairs { 0, 1, -5, 2^53, 0.5, 1e300 } do
            math.randomseed(seed)
            local sum, seen = 0, {}
            for _ = 1, 20000 do
                local r, die, range = math.random(), math.random(6), math.random(-2, 2)
                assert(r >= 0 and r < 1 and die >= 1 and die <= 6 and die % 1 == 0 and range >= -2 and range <= 2)
                sum, seen[die], seen['r' .. range] = sum + r, true, true
            end
            assert(sum > 9700 and sum < 10300, sum)
            for die = 1, 6 do assert(seen[die]) end
            for range = -2, 2 do assert(seen['r' .. range]) end
        end
        assert(math.random(3, 3) == 3)
        _b:put('fine')";
    assert_eq!(stage.body(code), "fine");
}

#[test]
fn wrong_arguments_are_errors_of_the_page() {
    for before in ["", "math.randomseed(1)"] {
        let mut stage = Stage::new();
        for (code, what) in [
            ("math.random(2, {})", "bad argument #2 to 'random' (number expected, got table)"),
            ("math.random('x')", "bad argument #1 to 'random' (number expected, got string)"),
        ] {
            let error = stage.failure(&format!("{before}\nlocal n = {code}"));
            assert_eq!((error.line, error.message.as_str()), (2, what), "{before} {code}");
        }
    }
    let mut stage = Stage::new();
    for code in [
        "math.randomseed()",
        "math.randomseed('x')",
        "math.randomseed(0/0)",
        "math.randomseed(1/0)",
    ] {
        let error = stage.failure(&format!("\n{code}"));
        assert_eq!(error.line, 2, "{error}");
        assert!(error.message.starts_with("randomseed takes a number, not "), "{error}");
    }
}
