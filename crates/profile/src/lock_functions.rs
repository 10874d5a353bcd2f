//! The lock functions of a program and their addresses, which are probed to count lock attempts.
//!
//! Owns their names, and which programs may be probed. Locks inlined by the compiler, as in Rust,
//! have no function to probe. Kernel functions are never probed: a kernel of Debian 12 crashed at
//! probes in its spin locks.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use blazesym::inspect::Inspector;
use blazesym::inspect::source::{Elf, Source as File};
use sys::sampling::{
    CallEdge, Modes, Probe, Room, SampleForm, SampleTarget, SampleTrigger, Sampler, UserStacks,
};
use sys::text::of_kernel_file;

use crate::limits::LOCK_FILES;
use crate::threads::Scope;

/// Functions of the C library. `std::mutex` of C++ calls them, too; Python's locks are semaphores.
const FUNCTIONS: [&str; 10] = [
    "pthread_mutex_lock",
    "pthread_mutex_trylock",
    "pthread_mutex_timedlock",
    "pthread_rwlock_rdlock",
    "pthread_rwlock_wrlock",
    "pthread_spin_lock",
    "sem_wait",
    "sem_trywait",
    "sem_timedwait",
    "sem_clockwait",
];

/// The lock functions of a process.
#[derive(Debug, Default)]
pub struct LockFunctions {
    /// Probes at their entries and returns.
    pub(crate) events: Vec<SampleTrigger>,
}

impl LockFunctions {
    /// The lock functions in the files of a process, possibly none. Its children run the same files.
    ///
    /// # Errors
    /// There is no such process, a probe could harm it or a child, or the kernel has no probes or permits none.
    pub fn of_program(scope: Scope) -> io::Result<Self> {
        let processes = scope.processes()?;
        let Some(&process) = processes.first() else { return Ok(Self::default()) };
        harm_to(&processes)?;
        let mut all = Vec::new();
        for file in files_of(process)? {
            // A file that cannot be read as a program has no functions.
            for offset in offsets(file.clone(), &FUNCTIONS).unwrap_or_default() {
                let probe = |edge| Probe::of_file(&file, offset, edge).map(SampleTrigger::Probe);
                all.push(vec![probe(CallEdge::Begin)?, probe(CallEdge::Return)?]);
            }
        }
        Ok(Self { events: those_allowed(all, process)? })
    }

    /// Whether none was found.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }
}

/// Ends with an error if a probe could harm one of these processes.
pub(crate) fn harm_to(processes: &[u32]) -> io::Result<()> {
    for one in processes {
        let status = of_kernel_file(format!("/proc/{one}/status"));
        // A child may have ended in the meantime.
        if let Some(why) = status.ok().and_then(|status| harm(&status)) {
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
    }
    Ok(())
}

/// Why a return probe would harm a program, from the lines of its `/proc/PID/status`.
fn harm(status: &str) -> Option<&'static str> {
    let has = |name: &str, value: &str| {
        let found = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        found.is_some_and(|words| words.split_whitespace().any(|word| word == value))
    };
    if has("Seccomp", "2") {
        // In Linux 6.11 to 6.13 the filter can refuse the system call by which a probed function returns.
        return Some("the program has a seccomp filter, which may end it at a probe");
    }
    // Linux before 6.11 did not update the shadow stack, which has a copy of the return address.
    has("x86_Thread_features", "shstk")
        .then_some("the program has a shadow stack, which may end it at a probe")
}

/// Probes for the functions that the kernel can probe. Each is opened for a moment, because it refuses some
/// instructions, which a spin lock may begin with.
fn those_allowed(
    functions: Vec<Vec<SampleTrigger>>,
    process: u32,
) -> io::Result<Vec<SampleTrigger>> {
    let (mut allowed, mut problem) = (Vec::new(), None);
    let form = SampleForm {
        modes: Modes::Both,
        user: UserStacks::FramePointers,
        hertz: 0,
        room: Room::Large,
    };
    for events in functions {
        match Sampler::open(SampleTarget::Thread(process), &events, &form) {
            Ok(_) => allowed.extend(events),
            Err(error) => problem = Some(error),
        }
    }
    match problem {
        Some(error) if allowed.is_empty() => Err(error),
        _ => Ok(allowed),
    }
}

/// The executable files that a process has mapped, by paths that work from this process.
pub(crate) fn files_of(process: u32) -> io::Result<BTreeSet<PathBuf>> {
    let maps = of_kernel_file(format!("/proc/{process}/maps"))?;
    let path = |line: &str| {
        let is_code = line.split(' ').nth(1).is_some_and(|rights| rights.contains('x'));
        let path = line.find('/').filter(|_| is_code).map(|at| &line[at..])?;
        Some(PathBuf::from(format!("/proc/{process}/root{path}")))
    };
    Ok(maps.lines().filter_map(path).take(LOCK_FILES).collect())
}

/// The offsets in a file at which these functions begin. Several names of one function are one offset.
pub(crate) fn offsets(file: PathBuf, names: &[&str]) -> blazesym::Result<BTreeSet<u64>> {
    let elf = Elf { debug_syms: false, ..Elf::new(file) };
    let inspector = Inspector::new();
    let found = inspector.lookup(&File::Elf(elf), names)?;
    Ok(found.iter().flatten().filter_map(|symbol| symbol.file_offset).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_this_process_are_code_alone() {
        let files = files_of(std::process::id()).unwrap();
        let own = std::env::current_exe().unwrap();
        let own = own.strip_prefix("/").unwrap();
        assert!(files.iter().any(|file| file.ends_with(own)), "{files:?}");
        assert!(files.iter().all(|file| !file.ends_with("gconv-modules.cache")), "{files:?}");
    }

    #[test]
    fn a_program_that_a_probe_could_end_is_left_alone() {
        let harmed = |status: &str| harm(status).is_some();
        assert!(harmed("Name:\ta\nSeccomp:\t2\nSeccomp_filters:\t1\n"));
        assert!(harmed("Seccomp:\t0\nx86_Thread_features:\tshstk wrss\n"));
        assert!(!harmed("Seccomp:\t0\nSeccomp_filters:\t2\nx86_Thread_features:\t\n"));
        assert!(!harmed("Name:\t2\n"));
    }
}
