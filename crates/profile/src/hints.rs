//! Functions in a profile that indicate a cause: a check of `velodrome tune`, or something that the program or one of
//! its libraries does.
//!
//! `signs` owns which function indicates which cause. This only names the cause.

use crate::fold::{Folded, Frame, Mode};
use crate::signs::{
    COUNTED_WORK, LEAST, LEAST_WORK, LUA, LUA_CODE, SIGNS, USUAL_SIGNS, WORK, Work,
};
use crate::unnamed::MADE;

/// A cause that the profile indicates.
#[derive(Clone, Debug, PartialEq)]
pub struct Hint {
    /// The function that was found.
    pub function: String,
    /// Percent of the samples that contain it, or another function of the same cause.
    pub percent: f64,
    /// The cause.
    pub cause: Cause,
}

/// The cause that a function indicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A check of the tuner, by its name.
    Check(&'static str),
    /// Something that the program does, in words.
    Work(&'static str),
    /// The same, where counters and system calls show it, too.
    CountedWork(&'static str),
}

/// The causes that the profile indicates, the strongest first; each once.
pub fn hints(folded: &Folded) -> Vec<Hint> {
    let total = folded.total().max(f64::MIN_POSITIVE);
    let mut found: Vec<Hint> = Vec::new();
    let usual = SIGNS.iter().map(|(sign, check)| (*sign, *check, LEAST));
    for (sign, check, least) in usual.chain(USUAL_SIGNS) {
        let percent = share(folded, |frame| frame.name == sign) * 100.0 / total;
        if percent >= least {
            found.push(Hint { function: sign.to_owned(), percent, cause: Cause::Check(check) });
        }
    }
    found.extend(WORK.iter().filter_map(|work| of_work(folded, work, Cause::Work)));
    found.extend(COUNTED_WORK.iter().filter_map(|work| of_work(folded, work, Cause::CountedWork)));
    found.sort_by(|one, other| other.percent.total_cmp(&one.percent));
    let mut seen = Vec::new();
    found.retain(|hint| {
        let is_new = !seen.contains(&hint.cause);
        seen.push(hint.cause);
        is_new
    });
    found
}

fn of_work(
    folded: &Folded,
    (work, least, signs): &Work,
    cause: fn(&'static str) -> Cause,
) -> Option<Hint> {
    let is_sign = |frame: &Frame| signs.iter().any(|sign| frame.name.starts_with(sign));
    let percent = share(folded, is_sign) * 100.0 / folded.total().max(f64::MIN_POSITIVE);
    let function = outermost(folded, is_sign).filter(|_| percent >= *least)?;
    Some(Hint { function, percent, cause: cause(work) })
}

/// Percent of the samples that run code of Lua. If there is any, code without a name is LuaJIT's.
pub(crate) fn lua_percent(folded: &Folded) -> f64 {
    let total = folded.total().max(f64::MIN_POSITIVE);
    let is_lua = |frame: &Frame| LUA.iter().any(|begin| frame.name.starts_with(begin));
    match share(folded, is_lua) * 100.0 / total {
        named if named < LEAST_WORK => 0.0,
        _ => share(folded, |frame| is_lua(frame) || frame.name == MADE) * 100.0 / total,
    }
}

/// The samples with such a frame.
fn share(folded: &Folded, is_sign: impl Fn(&Frame) -> bool) -> f64 {
    let has = |stack: &[Frame]| stack.iter().any(&is_sign);
    folded.stacks.iter().filter(|(stack, _)| has(stack)).map(|(_, count)| count).sum()
}

/// The outermost such function of the stack that was seen most often.
fn outermost(folded: &Folded, is_sign: impl Fn(&Frame) -> bool) -> Option<String> {
    let of = |stack: &[Frame]| stack.iter().find(|frame| is_sign(frame)).cloned();
    let stacks = folded.stacks.iter().filter_map(|(stack, count)| Some((of(stack)?, count)));
    let most = stacks.max_by(|one, other| one.1.total_cmp(other.1));
    most.map(|(frame, _)| frame.name)
}

/// Begins of names of kernel functions at which interrupts are allowed again.
const LATE: [&str; 9] = [
    "finish_task_switch",
    "_raw_spin_unlock_irq",
    "__raw_spin_unlock_irq",
    "local_bh_enable",
    "__local_bh_enable_ip",
    "handle_softirqs",
    "__do_softirq",
    "pv_native_safe_halt",
    "exit_to_user_mode_loop",
];

/// Percent of samples below which that is not worth a line.
const LEAST_LATE: f64 = 5.0;

/// The artefacts of a clock without a hardware counter, in one line, if there are many of them.
pub fn clock_artefacts(folded: &Folded) -> Option<String> {
    let is_late = |stack: &[Frame]| {
        let last = stack.last().filter(|frame| frame.mode == Mode::Kernel);
        last.is_some_and(|frame| LATE.iter().any(|late| frame.name.starts_with(late)))
    };
    let late: f64 =
        folded.stacks.iter().filter(|(stack, _)| is_late(stack)).map(|(_, count)| count).sum();
    let percent = late * 100.0 / folded.total().max(f64::MIN_POSITIVE);
    (percent >= LEAST_LATE).then(|| {
        format!(
            "{percent:.0} % at finish_task_switch, _raw_spin_unlock_irqrestore and the like is time before them: this \
             clock cannot interrupt a part of the kernel that does not allow interrupts, and comes at its end"
        )
    })
}

/// The means by which code that programs make at run time gets names, if there is much of it.
pub fn nameless_code(folded: &Folded) -> Option<String> {
    let total = folded.total().max(f64::MIN_POSITIVE);
    let of = |is_sign: &dyn Fn(&Frame) -> bool| share(folded, is_sign) * 100.0 / total;
    let made = of(&|frame| frame.name == MADE);
    let lua = lua_percent(folded);
    let python = of(&|frame| frame.name.starts_with("_PyEval_EvalFrame"));
    let python_names = of(&|frame| frame.name.starts_with("py::"));
    match () {
        () if lua >= LEAST_WORK => Some(format!("{lua:.0} % in {LUA_CODE}")),
        () if made >= LEAST_WORK => Some(format!(
            "{made:.0} % in code made at run time, without names: node --perf-basic-prof; java \
             -XX:+PreserveFramePointer, then jcmd PID Compiler.perfmap; python -X perf (3.12 or later)"
        )),
        () if python >= LEAST_WORK && python_names == 0.0 => Some(format!(
            "{python:.0} % in Python's interpreter: functions of Python have names with python -X perf (3.12 or later)"
        )),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded_file::tests::folded;

    #[test]
    fn signs_are_named_once_and_small_ones_not() {
        let text = "a;nf_hook_slow_[k];ipt_do_table_[k] 18\na;packet_rcv_[k] 3\na;b 978\na;bbr_main_[k] 9\n";
        let found = hints(&folded(text));
        let found: Vec<_> = found.iter().map(|hint| (&*hint.function, hint.cause)).collect();
        assert_eq!(found, [("nf_hook_slow", Cause::Check("stack.netfilter"))]);
        let more = folded("x;packet_rcv_[k] 1\nx;y 9\n");
        assert_eq!(hints(&more)[0].percent, 10.0);
    }

    #[test]
    fn work_is_named_by_its_outermost_function_also_in_a_library_without_symbols() {
        let text = "main;filter;[libz.so.1.2.13+0x4a0];[libz.so.1.2.13+0x5b0] 60\nmain;deflate;x 10\nmain;b 30\n";
        let found = hints(&folded(text));
        let [hint] = &found[..] else { panic!("{found:?}") };
        assert_eq!((&*hint.function, hint.percent), ("[libz.so.1.2.13+0x4a0]", 70.0));
        assert!(matches!(hint.cause, Cause::Work(work) if work.starts_with("compression")));
        assert!(hints(&folded("main;deflate 4\nmain;b 96\n")).is_empty());
    }

    #[test]
    fn late_clocks_and_code_without_names_have_a_line() {
        let late = folded("a;finish_task_switch.isra.0_[k] 10\na;b 90\n");
        assert!(clock_artefacts(&late).is_some_and(|line| line.starts_with("10 % at")));
        assert_eq!(clock_artefacts(&folded("a;finish_task_switch;b 10\n")), None);
        let made = folded("main;[code made at run time];x 10\nb 90\n");
        assert!(nameless_code(&made).is_some_and(|line| line.contains("--perf-basic-prof")));
        let lua = folded("main;[code made at run time];x 50\nb;lj_vm_resume;c 10\nb 40\n");
        let line = nameless_code(&lua).expect("it is told");
        assert!(line.starts_with("60 % in code of Lua: pages"), "{line}");
        let python = "main;_PyEval_EvalFrameDefault 10\n";
        assert!(nameless_code(&folded(python)).is_some_and(|line| line.contains("-X perf")));
        let named = format!("{python}main;py::work:a.py;_PyEval_EvalFrameDefault 10\n");
        assert_eq!(nameless_code(&folded(&named)), None);
    }
}
