//! The activities of the server's threads between the two readings: they are looked at some dozen times.
//!
//! Owns the looks, and the text form of their sums, which is read as a file: a thread, how often it was seen running,
//! stopped, and waiting for a disk, and the calls in which it slept.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use crate::file_locks::{FileLocks, Waits};
use crate::files::HostFiles;
use crate::limits::{LOOKS, LOOKS_AT_NAMES, LOOKS_LEAST, LOOKS_OF_THREADS};
use crate::name_queries::{NameLooks, NameQueries};
use crate::processes::ProcessStat;
use crate::socket_looks::SocketLooks;

/// The path under which the sums are read.
pub(crate) fn place(process: u32) -> String {
    format!("/velodrome/threads/{process}")
}

/// How often a thread was seen doing something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Watched {
    /// Its program.
    pub(crate) process: u32,
    pub(crate) looks: u32,
    pub(crate) running: u32,
    /// Stopped by a signal, a debugger or a freezer.
    pub(crate) stopped: u32,
    /// In a wait that no signal ends, mostly for a disk.
    pub(crate) disk: u32,
    /// The calls in which it slept: `futex/7f00/0`, `fsync`, `write/pipe`, `at/balance_dirty_pages`.
    pub(crate) calls: BTreeMap<String, u32>,
}

impl Watched {
    /// The number of looks at which it slept in this call.
    pub(crate) fn seen_in(&self, call: &str) -> u32 {
        self.calls.iter().filter(|(name, _)| name.starts_with(call)).map(|(_, count)| count).sum()
    }

    /// Parses the sums of all threads.
    pub(crate) fn read(text: &str) -> BTreeMap<u32, Self> {
        let line = |line: &str| {
            let mut words = line.split(' ');
            let mut number = || words.next()?.parse::<u32>().ok();
            let (thread, process) = (number()?, number()?);
            let (looks, running, stopped, disk) = (number()?, number()?, number()?, number()?);
            let call = |word: &str| {
                let (name, count) = word.rsplit_once('=')?;
                Some((name.to_owned(), count.parse().ok()?))
            };
            let calls = words.filter_map(call).collect();
            Some((thread, Self { process, looks, running, stopped, disk, calls }))
        };
        text.lines().filter_map(line).collect()
    }

    fn line(&self, thread: u32) -> String {
        let Self { process, looks, running, stopped, disk, calls } = self;
        let mut line = format!("{thread} {process} {looks} {running} {stopped} {disk}");
        for (call, count) in calls {
            let _endless = write!(line, " {call}={count}");
        }
        line
    }

    /// Notes one look.
    fn look(&mut self, files: &HostFiles, thread: u32) {
        let place = format!("/proc/{}/task/{thread}", self.process);
        let stat = files.text(&format!("{place}/stat"));
        let Some(stat) = stat.and_then(|line| ProcessStat::parse(&line)) else { return };
        self.looks += 1;
        let is_asleep = matches!(stat.state, 'S' | 'D');
        let call = files.text(&format!("{place}/syscall")).filter(|_| is_asleep);
        let call = call.and_then(|call| self.name_of(thread, &call));
        match stat.state {
            'R' => self.running += 1,
            'T' | 't' => self.stopped += 1,
            'D' => self.look_at_wait(&files.text(&format!("{place}/wchan")).unwrap_or_default()),
            _ => {}
        }
        if let Some(name) = call {
            *self.calls.entry(name).or_default() += 1;
        }
    }

    /// Notes a wait that no signal ends, in this kernel function.
    fn look_at_wait(&mut self, at: &str) {
        let is_in = |parts: &[&str]| parts.iter().any(|part| at.contains(part));
        match () {
            // A thread that starts a program waits for it in this state.
            () if is_in(&OF_STARTS) => *self.calls.entry(STARTS.to_owned()).or_default() += 1,
            () if is_in(&OF_FREEZERS) => self.stopped += 1,
            () if is_in(&OF_MEMORY) => *self.calls.entry(MEMORY_LOCK.to_owned()).or_default() += 1,
            () => {
                self.disk += 1;
                *self.calls.entry(format!("at/{at}")).or_default() += 1;
            }
        }
    }

    /// The use of a descriptor, in a word.
    fn kind_of(&self, thread: u32, file: i32) -> &'static str {
        // A thread may have a descriptor table of its own.
        let path = format!("/proc/{}/task/{thread}/fd/{file}", self.process);
        let Ok(about) = std::fs::metadata(&path) else { return "unknown" };
        let kind = about.file_type();
        match () {
            () if kind.is_fifo() => "pipe",
            () if kind.is_socket() && self.is_local(about.ino()) => "local-socket",
            () if kind.is_socket() => "socket",
            () if kind.is_char_device() => "terminal",
            () => "file",
        }
    }

    /// Whether a socket leads to another program of the host (unix(7)), such as a log service.
    fn is_local(&self, inode: u64) -> bool {
        let list = std::fs::read_to_string(format!("/proc/{}/net/unix", self.process));
        let has = |line: &str| line.split_whitespace().nth(6) == Some(&*inode.to_string());
        list.is_ok_and(|list| list.lines().any(has))
    }

    /// The name of a call that a thread sleeps in (`/proc/PID/task/TID/syscall`), if it is one that tells something.
    fn name_of(&self, thread: u32, text: &str) -> Option<String> {
        let words: Vec<&str> = text.split(' ').collect();
        let number: i64 = words.first()?.parse().ok()?;
        let (_, name) = CALLS.iter().find(|(known, _)| *known == number)?;
        let argument = |at: usize| words.get(at).map(|word| word.trim_start_matches("0x"));
        Some(match *name {
            // The lowest bits say whether it waits; the others, which clock and whose memory.
            "futex" => format!("futex/{}/{}", argument(1)?, argument(2)?),
            "write" | "read" => {
                let file = i32::from_str_radix(argument(1)?, 16).ok()?;
                format!("{name}/{}", self.kind_of(thread, file))
            }
            // Only the commands that wait are `F_SETLKW` and `F_OFD_SETLKW`.
            "fcntl" => match argument(2)? {
                "7" | "26" => FILE_LOCK.to_owned(),
                _ => return None,
            },
            name => name.to_owned(),
        })
    }
}

/// The call in which a thread starts a program and waits until that runs.
pub(crate) const STARTS: &str = "start-child";

/// Parts of names of kernel functions in which a thread waits for the lock of its address space, which all threads of a
/// program share; and the name of that wait.
const OF_MEMORY: [&str; 9] = [
    "mmap",
    "munmap",
    "mprotect",
    "mremap",
    "madvise",
    "brk",
    "exc_page_fault",
    "do_user_addr_fault",
    "lock_mm",
];
pub(crate) const MEMORY_LOCK: &str = "memory-lock";

/// Parts of names of those in which a thread waits until a program that it starts runs, whichever call started it; and
/// of those in which a freezer holds it.
const OF_STARTS: [&str; 2] = ["kernel_clone", "vfork"];
const OF_FREEZERS: [&str; 1] = ["refrigerator"];

/// The call in which a thread waits for the lock of a file.
pub(crate) const FILE_LOCK: &str = "file-lock";

/// Calls that tell why a thread sleeps, by their numbers on x86-64.
#[cfg(target_arch = "x86_64")]
const CALLS: &[(i64, &str)] = &[
    (0, "read"),
    (1, "write"),
    (17, "read"),
    (18, "write"),
    (19, "read"),
    (20, "write"),
    (34, "pause"),
    (35, "sleep"),
    (42, "connect"),
    (44, "write"),
    (46, "write"),
    (45, "receive"),
    (47, "receive"),
    (61, "wait-child"),
    (72, "fcntl"),
    (73, FILE_LOCK),
    (74, "fsync"),
    (75, "fsync"),
    (162, "fsync"),
    (202, "futex"),
    (230, "sleep"),
    (232, "events"),
    (247, "wait-child"),
    (281, "events"),
    (306, "fsync"),
    (441, "events"),
];

/// The same by the numbers of newer architectures.
#[cfg(not(target_arch = "x86_64"))]
const CALLS: &[(i64, &str)] = &[
    (22, "events"),
    (25, "fcntl"),
    (32, FILE_LOCK),
    (63, "read"),
    (64, "write"),
    (65, "read"),
    (66, "write"),
    (67, "read"),
    (68, "write"),
    (81, "fsync"),
    (82, "fsync"),
    (83, "fsync"),
    (95, "wait-child"),
    (98, "futex"),
    (101, "sleep"),
    (115, "sleep"),
    (203, "connect"),
    (206, "write"),
    (207, "receive"),
    (211, "write"),
    (212, "receive"),
    (260, "wait-child"),
    (267, "fsync"),
    (441, "events"),
];

/// The sums of all looks between the two readings.
pub(crate) struct Meanwhile {
    /// Those at threads, as text.
    pub(crate) threads: String,
    /// Questions for names that were open.
    pub(crate) names: NameQueries,
    pub(crate) sockets: SocketLooks,
    pub(crate) locks: FileLocks,
}

/// Looks at the threads and sockets of these programs of this host for this time.
pub(crate) fn watch(
    threads: &BTreeSet<(u32, u32)>,
    members: &BTreeSet<u32>,
    time: Duration,
) -> Meanwhile {
    // Not the host's own files: a recorded host need not have what each look has read.
    let files = HostFiles::below(Path::new("/"));
    let threads: Vec<(u32, u32)> = threads.iter().copied().take(LOOKS_OF_THREADS).collect();
    let looks = (LOOKS_OF_THREADS / threads.len().max(1)).clamp(LOOKS_LEAST, LOOKS);
    let mut all: BTreeMap<u32, Watched> = BTreeMap::new();
    let (mut names, mut sockets) = (NameLooks::default(), SocketLooks::default());
    let mut locks = FileLocks::default();
    for look in 0..looks {
        sleep(time / looks as u32);
        let mut waits = Waits::ForOther;
        for (process, thread) in &threads {
            let watched = all.entry(*thread).or_default();
            watched.process = *process;
            let before = watched.seen_in(FILE_LOCK);
            watched.look(&files, *thread);
            if watched.seen_in(FILE_LOCK) > before {
                waits = Waits::ForFileLock;
            }
        }
        if look % looks.div_ceil(LOOKS_AT_NAMES) == 0 {
            names.look(&files, members);
            sockets.look(&files, members);
            locks.look(&files, members, waits);
        }
    }
    let threads = all.iter().map(|(thread, watched)| watched.line(*thread) + "\n").collect();
    Meanwhile { threads, names: names.queries(), sockets, locks }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_written_and_read() {
        let calls = [("futex/7f/0".to_owned(), 9), ("fsync".to_owned(), 2)];
        let one = Watched {
            process: 5,
            looks: 20,
            running: 4,
            stopped: 3,
            disk: 2,
            calls: calls.into_iter().collect(),
        };
        let text = format!("{}\nnonsense\n", one.line(7));
        assert_eq!(Watched::read(&text), BTreeMap::from([(7, one.clone())]));
        assert_eq!((one.seen_in("futex/"), one.seen_in("fsync"), one.seen_in("write")), (9, 2, 0));
    }

    #[test]
    fn waits_that_no_signal_ends_are_told_by_their_place() {
        let at = |place: &str| {
            let mut one = Watched::default();
            one.look_at_wait(place);
            let calls: Vec<String> = one.calls.into_keys().collect();
            (one.disk, one.stopped, calls.concat())
        };
        for (place, told) in [
            ("folio_wait_bit_common", (1, 0, "at/folio_wait_bit_common")),
            ("kernel_clone", (0, 0, STARTS)),
            ("__vm_munmap", (0, 0, MEMORY_LOCK)),
            ("__refrigerator", (0, 1, "")),
        ] {
            assert_eq!(at(place), (told.0, told.1, told.2.to_owned()), "{place}");
        }
    }

    #[test]
    fn own_thread_is_seen_asleep() {
        let own = std::process::id();
        let sleeper = std::thread::spawn(std::thread::park);
        let files = HostFiles::below(Path::new("/"));
        let names = files.names(&format!("/proc/{own}/task"));
        let threads = names.iter().filter_map(|name| Some((own, name.parse().ok()?))).collect();
        let members = BTreeSet::from([own]);
        let text = watch(&threads, &members, Duration::from_millis(40)).threads;
        sleeper.thread().unpark();
        sleeper.join().unwrap();
        let all = Watched::read(&text);
        // Threads of other tests end meanwhile.
        assert!(all.values().any(|one| one.looks > 0), "{text}");
        // Reading a call takes the right to trace; a container may not have it.
        let is_asleep = all.values().any(|one| one.seen_in("futex/") > 0);
        assert!(is_asleep || !text.contains('='), "{text}");
    }
}
