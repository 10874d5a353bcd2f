//! Many interruptions in a short time, among pages of all kinds: their results stay correct.

use std::time::Duration;

use script::engine::{EngineSettings, Run};

use crate::stage::Stage;
use crate::waits::Step;

/// Slices to be seen in total.
const SLICES: usize = 3_000;

/// Pages with an end that is checked, long enough to be interrupted many times.
const PAGES: [(&str, &str); 6] = [
    ("local s = 0 for i = 1, 2e5 do s = (s * 31 + i) % 1000003 end _b:put(s)", "905564"),
    (
        "local t = {} for i = 1, 3000 do t[i] = (i * 7919) % 3001 end
        table.sort(t, function(a, b) return a < b end)
        for i = 2, #t do assert(t[i - 1] <= t[i]) end _b:put(#t)",
        "3000",
    ),
    (
        "local n = 0
        for v in coroutine.wrap(function() for i = 1, 5000 do coroutine.yield(i) end end) do n = n + v end
        _b:put(n)",
        "12502500",
    ),
    (
        "local n = 0
        for i = 1, 5000 do local ok, e = pcall(error, i, 0) assert(not ok) n = n + e end _b:put(n)",
        "12502500",
    ),
    (
        "local out = {} for i = 1, 2000 do out[i] = ('%d;'):format(i) end
        local text = table.concat(out)
        local n = 0 for d in text:gmatch('(%d+);') do n = n + tonumber(d) end _b:put(n)",
        "2001000",
    ),
    (
        "local mt = { __index = function(t, k) return k * 2 end, __add = function(a, b) return 1 end }
        local t, n = setmetatable({}, mt), 0
        for i = 1, 20000 do n = n + t[i] + (t + t) end _b:put(n)",
        "400040000",
    ),
];

#[test]
fn very_short_slices_change_no_result() {
    let settings = EngineSettings {
        slice: Duration::from_micros(60),
        cpu_budget: Duration::from_secs(3600),
        ..EngineSettings::default()
    };
    let mut stage = Stage::with(settings);
    let pages: Vec<_> = PAGES.iter().map(|(code, _)| stage.load(code)).collect();
    let mut under_way: Vec<(usize, Run)> = Vec::new();
    let (mut slices, mut finished) = (0, 0);
    let mut next = 0;
    while slices < SLICES || finished < PAGES.len() {
        // A few run at a time; the oldest continues first.
        let (index, step) = if under_way.len() < 8 {
            next = (next + 1) % pages.len();
            (next, stage.start(&pages[next]))
        } else {
            let (index, run) = under_way.remove(0);
            (index, stage.resume(run))
        };
        match step {
            Step::Sliced(run) => {
                slices += 1;
                under_way.push((index, run));
            }
            Step::Done => {
                finished += 1;
                assert_eq!(String::from_utf8_lossy(&stage.output.body), PAGES[index].1);
            }
            Step::Failed(error) => panic!("{error} {:?}", error.traceback),
            Step::Waits(..) => panic!("none of them waits"),
        }
    }
}
