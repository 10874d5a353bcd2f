//! What a program spends the time of its CPUs on: kinds of work that only a profile shows, or one function.
//!
//! Owns from which part of the time they count. `signs` owns which functions indicate which kind.

use std::collections::BTreeMap;

use crate::fold::{Folded, Frame};
use crate::hints::{Cause, Hint, hints, lua_percent};
use crate::record::Stack;
use crate::sampling::TakenSamples;
use crate::signs::LUA_CODE;
use crate::symbols::SymbolNames;
use crate::unnamed::{MADE, UNKNOWN};

/// Work that takes much of the time.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkFinding {
    /// The part of its time, in percent, that the thread with the most of it spent with it.
    pub of_thread: f64,
    /// The same of all threads, in percent of one CPU.
    pub of_all: f64,
    /// Whether it is known what it is.
    pub kind: WorkKind,
    /// The work, in words.
    pub text: String,
}

/// Whether it is known what some work is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkKind {
    /// A kind that can be done less often, or for less.
    Known,
    /// A function of the program: what it does is not known.
    Function,
}

/// How long was sampled, and how often a second.
#[derive(Clone, Copy, Debug)]
pub struct SampledTime {
    /// In seconds.
    pub seconds: f64,
    /// Samples per second of CPU time.
    pub hertz: u64,
}

/// Percent of a thread's time from which work counts; the same of a single function, and percent of its samples.
const LEAST: f64 = 10.0;
const LEAST_OF_FUNCTION: f64 = 25.0;
const LEAST_OF_SAMPLES: f64 = 35.0;

/// Names of functions that run what somebody else wrote, so that they tell nothing.
const INTERPRETERS: [&str; 7] = [
    "_PyEval_EvalFrame",
    "Builtins_Interpreter",
    "Builtins_JSEntry",
    "Builtins_CEntry",
    "Builtins_Call",
    "v8::internal::",
    "execute_ex",
];

/// The work that takes much of the time, most of it first.
pub fn work_findings(
    taken: &TakenSamples,
    names: &SymbolNames,
    time: SampledTime,
) -> Vec<WorkFinding> {
    let mut threads: BTreeMap<u32, Vec<(&Stack, u64)>> = BTreeMap::new();
    for (stack, seen) in &taken.stacks {
        threads.entry(stack.thread).or_default().push((stack, seen.count));
    }
    let folded: Vec<Folded> =
        threads.values().map(|stacks| names.fold(stacks.iter().copied())).collect();
    let functions = threads.values().filter_map(|stacks| of_function(stacks, names, time));
    let mut found = of_kinds(&folded, time);
    found.extend(functions);
    found.extend(folded.iter().filter_map(|thread| of_lua(thread, time)));
    found.sort_by(|one, other| weight(other).total_cmp(&weight(one)));
    found
}

fn weight(finding: &WorkFinding) -> f64 {
    finding.of_thread.max(finding.of_all)
}

/// The known kinds of work of all threads, each of which is folded on its own.
fn of_kinds(threads: &[Folded], time: SampledTime) -> Vec<WorkFinding> {
    let all_time = time.seconds * time.hertz as f64;
    let mut kinds: BTreeMap<&'static str, WorkFinding> = BTreeMap::new();
    for folded in threads {
        for Hint { function, percent, cause } in hints(folded) {
            let Cause::Work(work) = cause else { continue };
            let share = percent * folded.total() / all_time.max(1.0);
            let text = || format!("{work} ({function})");
            let none =
                || WorkFinding { of_thread: 0.0, of_all: 0.0, kind: WorkKind::Known, text: text() };
            let kind = kinds.entry(work).or_insert_with(none);
            kind.of_all += share;
            if share > kind.of_thread {
                (kind.of_thread, kind.text) = (share, text());
            }
        }
    }
    kinds.into_values().filter(|kind| weight(kind) >= LEAST).collect()
}

/// The code of Lua in which a thread is most of its time: it may be what the server is for, as a function may.
fn of_lua(folded: &Folded, time: SampledTime) -> Option<WorkFinding> {
    let share = lua_percent(folded) * folded.total() / (time.seconds * time.hertz as f64).max(1.0);
    (share >= LEAST_OF_FUNCTION).then(|| WorkFinding {
        of_thread: share,
        of_all: share,
        kind: WorkKind::Function,
        text: LUA_CODE.to_owned(),
    })
}

/// The function of the program itself in which a thread is most of its time.
fn of_function(
    stacks: &[(&Stack, u64)],
    names: &SymbolNames,
    time: SampledTime,
) -> Option<WorkFinding> {
    let mut functions: BTreeMap<String, u64> = BTreeMap::new();
    let mut all = 0;
    for (stack, count) in stacks {
        all += count;
        // What the kernel does for it is not its own.
        if stack.kernel.is_empty() {
            *functions.entry(in_words(&names.own_frames(stack))).or_default() += count;
        }
    }
    let (name, count) = functions.into_iter().max_by_key(|(_, count)| *count)?;
    let of_samples = count as f64 * 100.0 / all.max(1) as f64;
    let share = count as f64 * 100.0 / (time.seconds * time.hertz as f64).max(1.0);
    let is_much = of_samples >= LEAST_OF_SAMPLES && share >= LEAST_OF_FUNCTION;
    (is_much && !name.is_empty()).then(|| WorkFinding {
        of_thread: share,
        of_all: share,
        kind: WorkKind::Function,
        text: format!("one function: {name}"),
    })
}

/// The innermost of these frames, with its caller if it has no name itself; nothing if that tells nothing.
fn in_words(frames: &[Frame]) -> String {
    let is_nameless = |frame: &Frame| frame.name.starts_with('[');
    let Some(innermost) = frames.last() else { return String::new() };
    let tells = |name: &str| !INTERPRETERS.iter().any(|begin| name.starts_with(begin));
    if !is_nameless(innermost) {
        return if tells(&innermost.name) { innermost.name.clone() } else { String::new() };
    }
    let caller = frames.iter().rev().find(|frame| !is_nameless(frame));
    match caller.filter(|caller| tells(&caller.name)) {
        Some(caller) => format!("{}, called by {}", innermost.name, caller.name),
        None if innermost.name == MADE || innermost.name == UNKNOWN => String::new(),
        None => innermost.name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded_file::tests::folded;

    const SECOND: SampledTime = SampledTime { seconds: 1.0, hertz: 100 };

    #[test]
    fn kinds_of_work_are_summed_over_threads() {
        let busy = folded("main;deflate;x 60\nmain;b 30\n");
        let other = folded("main;deflate 20\nmain;b 20\n");
        let found = of_kinds(&[busy, other], SECOND);
        let [kind] = &found[..] else { panic!("{found:?}") };
        assert_eq!((kind.of_thread, kind.of_all), (60.0, 80.0));
        assert!(kind.text.starts_with("compression."), "{}", kind.text);
    }

    #[test]
    fn little_work_and_work_that_is_counted_elsewhere_are_not_told() {
        let little = folded("main;deflate 9\nmain;b 1\n");
        assert!(of_kinds(&[little], SECOND).is_empty());
        let counted = folded("main;vfs_fsync_range_[k] 90\n");
        assert!(of_kinds(&[counted], SECOND).is_empty());
    }

    #[test]
    fn a_thread_that_runs_code_of_lua_is_told_of_it() {
        let busy = folded("main;lj_vm_resume;escape 30\n[code made at run time];x 30\nmain;b 20\n");
        let found = of_lua(&busy, SECOND).expect("it is told");
        assert_eq!((found.of_thread, found.kind), (60.0, WorkKind::Function));
        let other = folded("main;lj_vm_resume 20\nmain;b 80\n");
        assert_eq!(of_lua(&other, SECOND), None);
        let javascript = folded("[code made at run time];x 90\n");
        assert_eq!(of_lua(&javascript, SECOND), None);
    }

    #[test]
    fn a_function_without_a_name_is_told_by_its_caller() {
        let words = |line: &str| {
            let folded = folded(&format!("{line} 1\n"));
            in_words(folded.stacks.keys().next().expect("it has a stack"))
        };
        assert_eq!(words("main;handle;parse"), "parse");
        let code = "main;Builtins_RegExpPrototypeTest;[code made at run time]";
        assert_eq!(words(code), "[code made at run time], called by Builtins_RegExpPrototypeTest");
        assert_eq!(words("main;Builtins_JSEntry;[code made at run time]"), "");
        assert_eq!(words("main;_PyEval_EvalFrameDefault"), "");
        assert_eq!(words("[libx.so+0x10]"), "[libx.so+0x10]");
    }
}
