//! Debugging aids of the server: variables of its environment, libraries and programs that check or trace what it does,
//! and variables that bound its runtime.
//!
//! Owns which of them cost how much, and their text form, which is read as a file. No other variable is kept: many
//! contain secrets.

use std::collections::BTreeSet;
use std::path::Path;

use crate::files::HostFiles;
use crate::processes::Process;

/// The path under which they are read.
pub(crate) fn place(process: u32) -> String {
    format!("/velodrome/aids/{process}")
}

/// An aid, and how much slower a program is with it, in percent: at least and at most.
type Aid = (&'static str, f64, f64);

/// Begins of assignments in the environment.
const VARIABLES: [Aid; 26] = [
    ("MALLOC_PERTURB_=", 2.0, 90.0),
    ("MALLOC_CHECK_=", 2.0, 40.0),
    ("MALLOC_TRACE=", 10.0, 80.0),
    ("MALLOC_ARENA_MAX=1", 1.0, 40.0),
    ("MALLOC_TRIM_THRESHOLD_=0", 5.0, 50.0),
    ("MALLOC_MMAP_THRESHOLD_=0", 10.0, 60.0),
    ("LD_AUDIT=", 2.0, 40.0),
    ("LD_DEBUG=", 2.0, 40.0),
    ("LD_PROFILE=", 2.0, 40.0),
    ("PYTHONMALLOC=debug", 10.0, 50.0),
    ("PYTHONMALLOC=malloc_debug", 10.0, 50.0),
    ("PYTHONMALLOC=pymalloc_debug", 10.0, 50.0),
    ("PYTHONDEVMODE=1", 10.0, 50.0),
    ("PYTHONASYNCIODEBUG=1", 10.0, 60.0),
    ("PYTHONTRACEMALLOC=", 20.0, 75.0),
    ("GODEBUG=gcstoptheworld=", 5.0, 50.0),
    ("GODEBUG=allocfreetrace=", 50.0, 95.0),
    ("GODEBUG=schedtrace=", 0.5, 10.0),
    ("GODEBUG=clobberfree=", 5.0, 30.0),
    ("GORACE=", 50.0, 90.0),
    ("NODE_DEBUG=", 5.0, 60.0),
    ("ASAN_OPTIONS=", 30.0, 60.0),
    ("TSAN_OPTIONS=", 60.0, 90.0),
    ("RUST_LOG=trace", 5.0, 70.0),
    ("RUST_LOG=debug", 2.0, 50.0),
    ("HEAPCHECK=", 10.0, 60.0),
];

/// Words of command lines, and of variables that hold such words.
const WORDS: [Aid; 12] = [
    ("--inspect", 0.5, 10.0),
    ("--prof", 2.0, 15.0),
    ("--jitless", 40.0, 80.0),
    ("--no-opt", 30.0, 80.0),
    ("--trace-gc", 0.5, 5.0),
    ("--trace-sync-io", 0.5, 10.0),
    ("--cpu-prof", 2.0, 15.0),
    ("-Xint", 60.0, 95.0),
    ("-Xdebug", 1.0, 20.0),
    ("-agentlib:jdwp", 0.5, 10.0),
    ("-agentlib:hprof", 20.0, 80.0),
    ("-XX:TieredStopAtLevel=1", 20.0, 60.0),
];

/// Variables that hold words of a command line.
const HOLDERS: [&str; 5] =
    ["NODE_OPTIONS=", "JAVA_TOOL_OPTIONS=", "_JAVA_OPTIONS=", "JDK_JAVA_OPTIONS=", "JAVA_OPTS="];

/// Parts of names of libraries.
const LIBRARIES: [Aid; 11] = [
    ("/libasan.so", 30.0, 60.0),
    ("/libtsan.so", 60.0, 90.0),
    ("/libubsan.so", 5.0, 40.0),
    ("/libmsan.so", 50.0, 80.0),
    ("/libc_malloc_debug.so", 2.0, 40.0),
    ("/libmemusage.so", 10.0, 60.0),
    ("/libpcprofile.so", 10.0, 60.0),
    ("/libefence.so", 50.0, 95.0),
    ("/libduma.so", 50.0, 95.0),
    ("/libtcmalloc_debug.so", 10.0, 60.0),
    ("/libfaketime.so", 1.0, 20.0),
];

/// Parts of paths of programs under which others run.
const PROGRAMS: [Aid; 5] = [
    ("/valgrind/", 10.0, 99.0),
    ("/qemu-", 60.0, 95.0),
    ("/rr/", 30.0, 80.0),
    ("/dynamorio/", 20.0, 80.0),
    ("/rosetta", 20.0, 60.0),
];

/// An aid that is switched on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SwitchedOn {
    pub(crate) name: String,
    /// How much slower it makes a program, in percent.
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl SwitchedOn {
    /// Parses lines of two percentages and a name.
    pub(crate) fn read(text: &str) -> Vec<Self> {
        let line = |line: &str| {
            let mut words = line.splitn(3, ' ');
            let mut number = || words.next()?.parse().ok();
            Some(Self { low: number()?, high: number()?, name: words.next()?.to_owned() })
        };
        text.lines().filter_map(line).collect()
    }
}

/// The aids of these programs of this host; `None` if none of them may be inspected.
pub(crate) fn told(members: &BTreeSet<u32>) -> Option<String> {
    // Not the host's own files, whose text would be recorded.
    let files = HostFiles::below(Path::new("/"));
    let mut found = BTreeSet::new();
    let mut is_seen = false;
    for process in members {
        let environment = files.text(&format!("/proc/{process}/environ"));
        is_seen |= environment.is_some();
        let environment = environment.unwrap_or_default();
        let line = files.text(&format!("/proc/{process}/cmdline")).unwrap_or_default();
        let maps = files.text(&format!("/proc/{process}/maps")).unwrap_or_default();
        found.extend(of_words(&environment, &line));
        found.extend(of_paths(&LIBRARIES, &maps));
        let program = std::fs::read_link(format!("/proc/{process}/exe")).unwrap_or_default();
        found.extend(of_paths(&PROGRAMS, &program.display().to_string()));
        let cpus = Process::allowed(&files, *process).map_or(1, |cpus| cpus.len());
        let memory = Process::status(&files, *process, "RssAnon");
        let memory = memory.and_then(|line| line.split(' ').next()?.parse().ok());
        found.extend(bounds(&environment, cpus, memory));
    }
    is_seen.then(|| found.into_iter().collect())
}

fn line_of((_, low, high): &Aid, name: &str) -> String {
    format!("{low} {high} {name}\n")
}

/// Those of an environment and a command line, which are words that end with zeros.
fn of_words(environment: &str, line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let of = |aids: &[Aid], word: &str| {
        let aid = aids.iter().find(|(begin, ..)| word.starts_with(begin));
        aid.map(|aid| line_of(aid, word.get(..NAME).unwrap_or(word)))
    };
    for variable in environment.split('\0') {
        found.extend(of(&VARIABLES, variable));
        let held = HOLDERS.iter().find_map(|holder| variable.strip_prefix(holder));
        found.extend(
            held.into_iter().flat_map(str::split_whitespace).filter_map(|word| of(&WORDS, word)),
        );
    }
    found.extend(options(line).into_iter().filter_map(|word| of(&WORDS, word)));
    found
}

/// Options of Java and Node whose value is the next word.
const WITH_VALUE: [&str; 14] = [
    "-cp",
    "-classpath",
    "--class-path",
    "-p",
    "--module-path",
    "--add-modules",
    "--add-opens",
    "--add-exports",
    "--add-reads",
    "-r",
    "--require",
    "--import",
    "-C",
    "--conditions",
];

/// The options of a command line. The words behind the first one that is none are the program's own.
fn options(line: &str) -> Vec<&str> {
    let (mut found, mut words) = (Vec::new(), line.split('\0').skip(1));
    while let Some(word) = words.next().filter(|word| word.starts_with('-')) {
        found.push(word);
        if WITH_VALUE.contains(&word) {
            let _value = words.next();
        }
    }
    found
}

/// Longest name of an aid, in bytes; the rest is left out.
const NAME: usize = 60;

fn of_paths<'t>(aids: &'static [Aid], text: &'t str) -> impl Iterator<Item = String> + 't {
    let is_there = move |(part, ..): &&Aid| text.contains(part);
    aids.iter().filter(is_there).map(|aid| line_of(aid, aid.0.trim_matches('/')))
}

/// The value of a variable.
fn value<'e>(environment: &'e str, name: &str) -> Option<&'e str> {
    environment.split('\0').find_map(|one| one.strip_prefix(name)?.strip_prefix('='))
}

/// Bounds of a language's runtime that keep a program below what the host has: threads, and memory between two runs of
/// a garbage collector. The program may use so many CPUs, and has written to so many KiB of memory.
fn bounds(environment: &str, cpus: usize, memory_kib: Option<u64>) -> Vec<String> {
    let [go, collects, pool] = ["GOMAXPROCS", "GOGC", "UV_THREADPOOL_SIZE"]
        .map(|name| value(environment, name)?.parse::<usize>().ok().filter(|set| *set > 0));
    let mut found = Vec::new();
    let part = |set: usize, of: usize| 100.0 * (1.0 - set as f64 / of.max(1) as f64);
    if let Some(set) = go.filter(|set| *set < cpus) {
        let most = part(set, cpus);
        found.push(format!("{} {most} GOMAXPROCS={set} with {cpus} CPUs\n", most / 10.0));
    }
    if let Some(set) = pool.filter(|set| *set < POOL) {
        // Work that waits (files, names) gains by more threads even on one CPU.
        let most = part(set, POOL.min(cpus.max(2)));
        let text = format!(
            "UV_THREADPOOL_SIZE={set} with {cpus} CPUs (4 is usual): all files, names, pbkdf2"
        );
        found.push(format!("{} {} {text} and zlib wait for it\n", 1.0, most.max(5.0)));
    }
    if let Some(set) = collects.filter(|set| *set < OFTEN) {
        // Twice as often costs twice as much; usually it is some percent of the CPU time.
        let most = (5.0 * 100.0 / set as f64).min(80.0);
        found.push(format!(
            "{} {most} GOGC={set} (100 is usual): garbage is collected more often\n",
            most / 10.0
        ));
    }
    found.extend(memory_limit(environment, memory_kib));
    found
}

/// `GOMEMLIMIT`, if the memory that the program has written to is near it or above it. With `GOGC=off` the heap grows
/// up to it as it should.
fn memory_limit(environment: &str, memory_kib: Option<u64>) -> Option<String> {
    let set = value(environment, "GOMEMLIMIT")?;
    let used = memory_kib? as f64 * 1024.0 / bytes(set)? as f64;
    let grows_to_it = value(environment, "GOGC") == Some("off");
    let (price, often) = match used {
        ABOVE.. => ("20 70", "all the time"),
        NEAR.. if !grows_to_it => ("3 50", "more often"),
        _ => return None,
    };
    let has = memory_kib? >> 10;
    Some(format!("{price} GOMEMLIMIT={set}, and it has {has} MiB: garbage is collected {often}\n"))
}

/// Threads of the pool of libuv, unless another number is set.
const POOL: usize = 4;

/// Growth of the heap between two collections, in percent, below which garbage is collected often.
const OFTEN: usize = 50;

/// The part of its limit from which a heap leaves less room between two collections than usual, and hardly any.
const NEAR: f64 = 0.85;
const ABOVE: f64 = 1.02;

/// Bytes as Go writes them: `52MiB`, `1GiB`, `1000000`, `1000000B`.
fn bytes(text: &str) -> Option<u64> {
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10), ("B", 0), ("", 0)];
    let (number, shift) =
        units.iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift)))?;
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aids_are_found_and_other_variables_are_not_kept() {
        let environment =
            "PASSWORD=x\0MALLOC_PERTURB_=165\0NODE_OPTIONS=--max-http-header-size=1 --inspect=0\0";
        let found = of_words(environment, "node\0--prof\0server.js\0--inspect\0");
        let names: Vec<String> =
            SwitchedOn::read(&found.concat()).into_iter().map(|one| one.name).collect();
        assert_eq!(names, ["MALLOC_PERTURB_=165", "--inspect=0", "--prof"]);
        let found = of_words("", "java\0-cp\0app.jar\0-Xint\0Main\0-Xdebug\0");
        assert_eq!(found, ["60 95 -Xint\n"], "an option with a value ends none");
        let program = "/usr/libexec/valgrind/memcheck-amd64-linux";
        assert_eq!(of_paths(&PROGRAMS, program).collect::<String>(), "10 99 valgrind\n");
    }

    /// The names of the bounds of an environment, with two CPUs and so many MiB of memory.
    fn bounded(environment: &str, memory: u64) -> Vec<String> {
        let found = bounds(environment, 2, Some(memory << 10));
        SwitchedOn::read(&found.concat()).into_iter().map(|one| one.name).collect()
    }

    #[test]
    fn bounds_of_runtimes_are_found_if_they_bind() {
        let names =
            bounded("A=1\0GOMAXPROCS=1\0GOGC=10\0GOMEMLIMIT=52MiB\0UV_THREADPOOL_SIZE=1\0", 84);
        let begins: Vec<&str> =
            names.iter().filter_map(|name| name.split([' ', ',']).next()).collect();
        let expected = ["GOMAXPROCS=1", "UV_THREADPOOL_SIZE=1", "GOGC=10", "GOMEMLIMIT=52MiB"];
        assert_eq!(begins, expected);
        let none: [&str; 0] = [];
        assert_eq!(
            bounded("GOMAXPROCS=2\0GOGC=100\0GOMEMLIMIT=1GiB\0UV_THREADPOOL_SIZE=16\0", 84),
            none
        );
        assert_eq!(bounded("GOGC=off\0GOMEMLIMIT=84MiB\0", 84), none);
        assert_eq!(bounded("GOMEMLIMIT=84MiB\0", 83).len(), 1);
        assert_eq!(bounded("GOMAXPROCS=\0GOGC=off\0GOMEMLIMIT=off\0", 84), none);
    }

    #[test]
    fn bytes_are_read_as_go_writes_them() {
        assert_eq!(
            ["52MiB", "1000", "2KiB", "9B", "1GiB"].map(bytes),
            [Some(52 << 20), Some(1000), Some(2048), Some(9), Some(1 << 30)]
        );
        assert_eq!(["off", "", "99999999TiB", "x"].map(bytes), [None; 4]);
    }
}
