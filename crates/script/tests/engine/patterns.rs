//! Long library calls: patterns, sorting, replacing. None of them blocks the engine for others.

use std::time::Duration;

use script::engine::{EngineSettings, Fault};

use crate::stage::Stage;

fn patient() -> Stage {
    Stage::with(EngineSettings {
        cpu_budget: Duration::from_secs(3600),
        ..EngineSettings::default()
    })
}

#[test]
fn pathological_patterns_are_interrupted_and_ended() {
    for code in [
        "local s = ('a'):rep(40) s:find(('a?'):rep(40) .. ('a'):rep(41))",
        "local s = ('a'):rep(3000) s:find('.-.-.-.-b')",
        "local s = ('a'):rep(3000) s:match('(a*)*(a*)*(a*)*b')",
        "local s = ('a'):rep(3000) s:gsub('a*a*a*a*b', 'x')",
        "local s = ('a'):rep(3000) for x in s:gmatch('a*a*a*a*b') do end",
        "local s = ('('):rep(200000) s:find('%b()')",
        "string.find(('a'):rep(3000), 'a*a*a*a*b')",
        "string.find(11111111111111, ('1?'):rep(40) .. 'x')",
        "string.match(11111111111111, ('1?'):rep(40) .. 'x')",
        "for x in string.gmatch(11111111111111, ('1?'):rep(40) .. 'x') do end",
    ] {
        let settings =
            EngineSettings { cpu_budget: Duration::from_millis(20), ..EngineSettings::default() };
        let mut stage = Stage::with(settings);
        let page = stage.load(code);
        let error = stage.play(&page).err().unwrap_or_else(|| panic!("{code}: it ended"));
        assert_eq!(error.fault, Fault::CpuBudget, "{code}: {error}");
        assert_eq!(error.line, 1, "{code}");
        assert_eq!(stage.body("_b:put(('x'):rep(3))"), "xxx");
    }
}

#[test]
fn long_texts_are_matched_in_slices() {
    let mut stage = patient();
    let page = stage.load(
        "local s = ('word '):rep(100000)
        local words = 0
        for w in s:gmatch('%a+') do words = words + 1 end
        local _, spaces = s:gsub(' ', '-')
        _b:put(words, ' ', spaces, ' ', s:find('x', 1, true) or 'no', ' ', #s:gsub('%a+', function(w) return 'w' end))",
    );
    let course = stage.play(&page).unwrap();
    assert_eq!(course.body, "100000 100000 no 200000");
    assert!(course.slices > 1, "{} slices", course.slices);
}

#[test]
fn a_needle_is_found_in_linear_time() {
    let mut stage = patient();
    let code = "local s, n = ('a'):rep(1e6), ('a'):rep(5e5) .. 'b'
        _b:put(s:find(n, 1, true) or 'no', ' ', (s .. 'b'):find(n))";
    assert_eq!(stage.body(code), "no 5000011000001");
}

#[test]
fn sorting_and_replacing_call_back_in_slices() {
    let mut stage = patient();
    let page = stage.load(
        "local t = {} for i = 1, 60000 do t[i] = (i * 7919) % 60013 end
        table.sort(t, function(a, b) return a > b end)
        for i = 2, #t do assert(t[i - 1] >= t[i]) end
        table.sort(t)
        for i = 2, #t do assert(t[i - 1] <= t[i]) end
        _b:put(#t)",
    );
    let course = stage.play(&page).unwrap();
    assert_eq!(course.body, "60000");
    assert!(course.slices > 1, "{} slices", course.slices);
}

#[test]
fn a_comparator_or_a_callback_may_wait() {
    let mut stage = Stage::new();
    let page = stage.load(
        "local t = { 3, 1, 2 }
        table.sort(t, function(a, b) sleep(0.001) return a < b end)
        _b:put(t[1], t[2], t[3], (('abc'):gsub('%a', function(x) sleep(0.001) return x:upper() end)))",
    );
    let course = stage.play(&page).unwrap();
    assert_eq!(course.body, "123ABC");
    assert!(course.waits.len() >= 5, "{:?}", course.waits);
}

#[test]
fn a_comparator_without_order_harms_nobody() {
    let mut stage = Stage::new();
    let code = "local t = {} for i = 1, 100 do t[i] = i end
        table.sort(t, function() return true end) _b:put(#t)";
    assert_eq!(stage.body(code), "100");
}

#[test]
fn malformed_patterns_are_errors_of_the_page() {
    let mut stage = Stage::new();
    for pattern in ["(", "[a", "%", "(a"] {
        let error = stage.failure(&format!("string.find('abc', '{pattern}')"));
        assert_eq!(error.fault, Fault::Runtime, "{pattern}");
        assert_eq!(error.line, 1, "{pattern}");
    }
}
