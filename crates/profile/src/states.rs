//! The state of each thread at one time: whether it runs, sleeps or is stopped, and where in the kernel.
//!
//! Owns the reading of `/proc/PID/task/TID` for that. Two readings tell which threads did not run between them: these
//! leave no records of events. `sleepers` finds the frames of their program.

use std::collections::BTreeMap;

use sys::text::of_kernel_file;
use syscalls::Sysno;

use crate::fold::{Frame, Mode};
use crate::processes::threads_of;
use crate::threads::Scope;

/// The states of all threads at one time.
#[derive(Clone, Debug, Default)]
pub struct States {
    threads: BTreeMap<u32, ThreadState>,
}

/// The state of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadState {
    /// Its process.
    pub process: u32,
    /// Its number.
    pub thread: u32,
    /// Its name.
    pub name: String,
    /// The kernel's letter: `R` runs, `S` sleeps, `D` sleeps and takes no signal, `T` is stopped, `t` is traced.
    pub letter: char,
    /// The process that traces it, if one does.
    pub tracer: Option<u32>,
    /// The kernel's frames, from the outermost on, where the kernel shows them.
    pub kernel: Vec<Frame>,
    /// The system call in which it sleeps, where the kernel shows it.
    pub(crate) call: Option<CallState>,
    /// How often it has left a CPU.
    pub(crate) switches: u64,
}

/// A system call that has not returned (proc_pid_syscall(5)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallState {
    pub(crate) number: i64,
    pub(crate) arguments: [u64; 6],
    /// The stack pointer and the address of the program.
    pub(crate) stack: u64,
    pub(crate) address: u64,
}

impl States {
    /// The states now; none of the whole machine.
    pub fn look(scope: Scope) -> Self {
        let mut threads = BTreeMap::new();
        for process in scope.processes().unwrap_or_default() {
            for thread in threads_of(process).unwrap_or_default() {
                threads.extend(state(process, thread).map(|state| (thread, state)));
            }
        }
        Self { threads }
    }

    /// The threads.
    pub fn threads(&self) -> impl Iterator<Item = &ThreadState> {
        self.threads.values()
    }

    /// The threads that have not run since an earlier look.
    pub fn stuck_since(&self, before: &Self) -> Vec<&ThreadState> {
        let is_stuck = |now: &&ThreadState| {
            let then = before.threads.get(&now.thread);
            now.letter != 'R'
                && then.is_some_and(|then| then.letter != 'R' && then.switches == now.switches)
        };
        self.threads().filter(is_stuck).collect()
    }
}

impl ThreadState {
    /// The name and number.
    pub fn told(&self) -> String {
        format!("{} ({})", self.name, self.thread)
    }

    /// The system call or the kernel function in which it sleeps.
    pub fn place(&self) -> String {
        let call = self.call.and_then(|call| usize::try_from(call.number).ok());
        let call = call.and_then(Sysno::new).map(|call| call.name().to_owned());
        let inner = || self.kernel.last().map(|frame| frame.name.clone());
        call.or_else(inner).unwrap_or_else(|| "the kernel".to_owned())
    }
}

fn state(process: u32, thread: u32) -> Option<ThreadState> {
    let read = |name: &str| of_kernel_file(format!("/proc/{process}/task/{thread}/{name}")).ok();
    let status = read("status")?;
    let line = |name: &str| {
        let rest = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        rest.map_or("", str::trim)
    };
    let number = |name: &str| line(name).parse::<u64>().unwrap_or(0);
    let letter = line("State").chars().next()?;
    let tracer = line("TracerPid").parse().ok().filter(|tracer| *tracer != 0);
    let (name, switches) = (
        line("Name").to_owned(),
        number("voluntary_ctxt_switches") + number("nonvoluntary_ctxt_switches"),
    );
    // A thread that runs is in no call, and has no stack to show.
    let sleeps = letter != 'R';
    let call = read("syscall").filter(|_| sleeps).and_then(|text| call(&text));
    let kernel = read("stack").filter(|_| sleeps).unwrap_or_default();
    let mut kernel = frames(&kernel);
    if kernel.is_empty() && sleeps {
        // Root alone sees the stack; the function in which a thread sleeps is for its owner, too.
        let place = read("wchan").filter(|place| place != "0" && !place.is_empty());
        kernel.extend(place.map(|name| Frame { name, mode: Mode::Kernel, is_inlined: false }));
    }
    Some(ThreadState { process, thread, name, letter, tracer, kernel, call, switches })
}

/// A line `NUMBER ARGUMENT… STACK ADDRESS`; `running` or -1 outside of a system call.
fn call(text: &str) -> Option<CallState> {
    let mut words = text.split_whitespace();
    let number = words.next()?.parse().ok()?;
    let mut word = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
    if number < 0 {
        let (stack, address) = (word()?, word()?);
        return Some(CallState { number, arguments: [0; 6], stack, address });
    }
    let mut arguments = [0; 6];
    for argument in &mut arguments {
        *argument = word()?;
    }
    let (stack, address) = (word()?, word()?);
    Some(CallState { number, arguments, stack, address })
}

/// Lines `[<0>] futex_wait_queue+0x64/0x90`, the innermost first.
fn frames(text: &str) -> Vec<Frame> {
    let name = |line: &str| {
        let (name, _) = line.split_once("] ")?.1.split_once('+')?;
        Some(Frame { name: name.to_owned(), mode: Mode::Kernel, is_inlined: false })
    };
    text.lines().rev().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_kernel_are_calls_and_frames() {
        let text = "202 0x5581 0x189 0x2 0x0 0x0 0xffffffff 0x7ffd10 0x7f0042\n";
        let found = call(text).unwrap();
        assert_eq!((found.number, found.arguments[5]), (202, 0xffff_ffff));
        assert_eq!((found.stack, found.address), (0x7f_fd10, 0x7f_0042));
        assert_eq!(call("running\n"), None);
        assert_eq!(call("-1 0x10 0x20\n").unwrap().address, 0x20);
        let found = frames("[<0>] futex_wait+0x64/0x90\n[<0>] do_syscall_64+0x5d/0x90\n");
        let names: Vec<_> = found.iter().map(|frame| &*frame.name).collect();
        assert_eq!(names, ["do_syscall_64", "futex_wait"]);
    }

    #[test]
    fn a_thread_that_did_not_run_is_stuck() {
        let thread = |thread, letter, switches| {
            (thread, ThreadState { thread, letter, switches, ..ThreadState::default() })
        };
        let states = |threads| States { threads: BTreeMap::from(threads) };
        let before = states([thread(1, 'S', 5), thread(2, 'S', 5), thread(3, 'R', 5)]);
        let now = states([thread(1, 'S', 5), thread(2, 'S', 6), thread(3, 'R', 5)]);
        let stuck: Vec<u32> = now.stuck_since(&before).iter().map(|one| one.thread).collect();
        assert_eq!(stuck, [1]);
    }
}
